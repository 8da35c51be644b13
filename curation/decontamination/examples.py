"""The examples of a run, kept beside its index: what the audit reads and a person may ask to see."""

import gzip
import json
from collections.abc import Sequence

from curation import storage
from curation.decontamination.benchmarks import Example
from curation.errors import RecipeError


def index_url(root: str, key: str) -> str:
    """Return where the index stands that goes with a key of `matches`."""
    return storage.join(root, "matches", "index", f"{key[:16]}.index")


def write_examples(root: str, key: str, examples: Sequence[Example]) -> None:
    """Put the examples, unless they are there."""
    lines = b"".join(json.dumps(example).encode() + b"\n" for example in examples)
    storage.put_if_absent(_url(root, key), gzip.compress(lines, mtime=0))


def read_examples(root: str, key: str) -> list[Example]:
    """Return the examples in the order the index was made of. Raises RecipeError if they are missing."""
    try:
        lines = gzip.decompress(storage.read_bytes(_url(root, key))).splitlines()
    except FileNotFoundError:
        raise RecipeError(f"{_url(root, key)} is missing; a run in a new work folder makes it anew") from None
    rows = map(json.loads, lines)
    return [Example(task, row, tuple(texts)) for task, row, texts in rows]


def _url(root: str, key: str) -> str:
    return index_url(root, key).removesuffix(".index") + ".examples.gz"
