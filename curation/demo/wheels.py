"""Read members of the fetched wheels, in an order that no archive or machine decides."""

import hashlib
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType

from curation.demo.packages import Package


class Wheels:
    """The folder of fetched wheels; each is opened once and closed with the object."""

    def __init__(self, download_dir: Path) -> None:
        self._folder = download_dir
        self._open: dict[str, zipfile.ZipFile] = {}

    def __enter__(self) -> "Wheels":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for archive in self._open.values():
            archive.close()

    def names(self, package: Package, wanted: Callable[[str], bool]) -> list[str]:
        """Return the member names that `wanted` accepts, sorted."""
        return sorted(name for name in self._archive(package).namelist() if wanted(name))

    def read(self, package: Package, member: str) -> bytes:
        """Return a member's bytes."""
        return self._archive(package).read(member)

    def size(self, package: Package, member: str) -> int:
        """Return a member's size in bytes."""
        return self._archive(package).getinfo(member).file_size

    def path(self, package: Package) -> Path:
        """Return where the wheel lies."""
        return self._folder / package.file

    def open(self, package: Package, member: str) -> zipfile.ZipExtFile:
        """Return a member as a stream; the caller closes it."""
        return self._archive(package).open(member)  # type: ignore[return-value]

    def _archive(self, package: Package) -> zipfile.ZipFile:
        if package.file not in self._open:
            self._open[package.file] = zipfile.ZipFile(self.path(package))
        return self._open[package.file]


def chance(name: str) -> int:
    """Return a number that is as good as drawn at random, and the same for this name for ever."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def pick(names: Iterable[str], count: int, salt: str = "") -> list[str]:
    """Return `count` of the names, drawn by chance and sorted; all of them if there are fewer."""
    return sorted(sorted(names, key=lambda name: chance(salt + name))[:count])
