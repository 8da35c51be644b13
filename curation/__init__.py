"""The method: pure functions on records and Arrow batches. Imports neither Spark nor torch.

For programs: `curation.Corpus(DIR)` is a finished run, `curation.plan` and `curation.run` do what the commands of these
names do (`jobs.api`). Each is imported when it is first asked for, so that importing this package costs nothing.
"""

from importlib import import_module
from typing import Any

# The engine is the one name that points the other way; nothing in this package asks for it.
_OFFERED = {"Corpus": "curation.finished", "plan": "jobs.api", "run": "jobs.api"}


def __getattr__(name: str) -> Any:
    if name not in _OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_OFFERED[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_OFFERED])
