"""Whether this machine, its store and its cluster can run the jobs, and what to type if not."""

import configparser
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from curation import storage
from curation.errors import CurationError
from curation.s3 import is_s3
from jobs.java import ensure_java
from jobs.spark import open_session, run_shards

DISTRIBUTION = "megatron-corpus"
_PYTHONS = ((3, 11), (3, 13))
_HAVE_A_FALLBACK = {"numba", "fastokens"}  # the same bytes without them, slower
_SMALLEST_DISK_BYTES = 2 << 30
_TASK_SECONDS = 0.3  # long enough that every slot of every executor takes a task


@dataclass(frozen=True)
class Check:
    """One thing looked at. What is not `needed` may be missing."""

    name: str
    ok: bool
    found: str
    advice: str = ""
    needed: bool = True

    @property
    def stops(self) -> bool:
        """Whether nothing can run before this is put right."""
        return self.needed and not self.ok

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self)}


@dataclass(frozen=True)
class Probe:
    """What a task on an executor is asked to look at."""

    work: str | None
    file: str
    packages: tuple[str, ...]


def examine(work: str | None, master: str | None, with_spark: bool) -> Iterator[Check]:
    """Yield the checks one by one; only the last ones start Spark, and only if asked to."""
    yield _python()
    yield _java()
    yield from _packages()
    yield _kernels()
    if work is not None:
        yield _store(work)
        if not is_s3(work):
            yield _disk(work)
    if with_spark or master is not None:
        yield from _cluster(work, master)


def look_around(probe: Probe) -> dict[str, Any]:
    """Return what a task sees where it runs: runs on an executor."""
    time.sleep(_TASK_SECONDS)
    sees = probe.work is None or storage.exists(storage.join(probe.work, probe.file))
    place = {"host": platform.node(), "process": os.getpid(), "python": platform.python_version()}
    return {**place, "sees_work": sees, "packages": {name: _version(name) for name in probe.packages}}


def _python() -> Check:
    found = sys.version_info[:2]
    span = " to ".join(f"{major}.{minor}" for major, minor in _PYTHONS)
    advice = f"make a virtual environment with Python {span}: python3.12 -m venv .venv"
    return Check("Python", _PYTHONS[0] <= found <= _PYTHONS[1], platform.python_version(), advice)


def _java() -> Check:
    try:
        java = ensure_java()
    except CurationError as error:
        return Check("Java", False, "none that Spark runs on", str(error))
    return Check("Java", True, f"{java.version} from {java.origin}, {java.home}")


def _packages() -> Iterator[Check]:
    for requirement in requirements():
        name = re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]
        found = _version(name)
        advice = f"pip install '{requirement}'"
        yield Check(name, found is not None, found or "missing", advice, needed=name not in _HAVE_A_FALLBACK)


def requirements() -> list[str]:
    """Return what the package needs, as its setup.cfg or its installed metadata says it; extras are left out."""
    setup = Path(__file__).parents[1] / "setup.cfg"
    if setup.is_file():
        config = configparser.ConfigParser(interpolation=None)
        config.read(setup)
        lines = config["options"]["install_requires"].splitlines()
        return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    try:
        declared = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        declared = []
    return [line for line in declared if "extra ==" not in line]


def _kernels() -> Check:
    compiled = find_spec("numba") is not None
    found = "compiled by numba" if compiled else "numpy and datasketch: the same bytes, slower"
    return Check("kernels", compiled, found, "pip install numba", needed=False)


def _store(work: str) -> Check:
    """Put, read, list and delete one small file, as commits are."""
    folder, name = storage.join(work, "doctor"), f"{uuid.uuid4().hex}.json"
    url = storage.join(folder, name)
    advice = "check that the folder or bucket exists and may be written; for s3:// also the credentials"
    try:
        first, second = storage.put_if_absent(url, b"first"), storage.put_if_absent(url, b"second")
        whole = (first, second) == (b"first", b"first") and name in storage.list_names(folder)
        storage.delete(url)
    except _store_errors() as error:
        why = str(error) if isinstance(error, CurationError) else f"{work}: {type(error).__name__}"
        return Check("store", False, why, advice)
    finally:
        _remove_empty(folder)
    told = f"{work}: put if absent, read, list and delete work"
    return Check("store", whole, told if whole else f"{work}: a second put replaced the first", advice)


def _store_errors() -> tuple[type[BaseException], ...]:
    """Return what a store that cannot be used raises: also missing credentials, where S3 is installed."""
    if find_spec("botocore") is None:
        return (CurationError, OSError)
    from botocore.exceptions import BotoCoreError, ClientError

    return (CurationError, OSError, BotoCoreError, ClientError)


def _remove_empty(folder: str) -> None:
    if not is_s3(folder) and os.path.isdir(folder) and not os.listdir(folder):
        os.rmdir(folder)


def free_bytes(folder: str) -> int:
    """Return the room on the disk that a folder is on, or will be."""
    place = Path(folder).absolute()
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


def _disk(work: str) -> Check:
    free = free_bytes(work)
    told = f"{free / 1e9:,.1f} GB free at {work}"
    advice = "a run needs about three times the text of its corpus; give --work on a larger disk"
    return Check("disk", free >= _SMALLEST_DISK_BYTES, told, advice, needed=False)


def _cluster(work: str | None, master: str | None) -> Iterator[Check]:
    """Start Spark, and let as many tasks look around as can run at once."""
    advice = "see the message above; `--master local[2]` needs Java only"
    names = tuple(re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0] for line in requirements())
    probe = Probe(work, f"doctor/{uuid.uuid4().hex}.json", names)
    try:
        spark = open_session(master)
        if work is not None:
            storage.put_if_absent(storage.join(work, probe.file), b"{}")
        tasks = int(spark.sparkContext.defaultParallelism)
        seen = run_shards(spark, look_around, [probe] * tasks)
    except (CurationError, OSError) as error:
        yield Check("Spark", False, str(error), advice)
        return
    finally:
        if work is not None:
            storage.delete(storage.join(work, probe.file))
            _remove_empty(storage.join(work, "doctor"))
    yield Check("Spark", True, f"{spark.version} on {spark.sparkContext.master}, {tasks} tasks at once")
    yield from _executors(seen, names, work)
    spark.stop()


def _executors(seen: list[Mapping[str, Any]], names: tuple[str, ...], work: str | None) -> Iterator[Check]:
    """Compare every machine that ran a task with this one."""
    here = {name: _version(name) for name in names}
    for host in sorted({str(task["host"]) for task in seen}):
        tasks = [task for task in seen if task["host"] == host]
        other = sorted({name for task in tasks for name in names if task["packages"][name] != here[name]})
        blind = work is not None and not all(task["sees_work"] for task in tasks)
        found = f"Python {tasks[0]['python']}, {len({task['process'] for task in tasks})} workers"
        found += f"; other versions of {', '.join(other)}" if other else ""
        found += f"; does not see {work}" if blind else ""
        advice = "give every machine the same image, and --work on a store that all of them see"
        yield Check(f"executor {host}", not other and not blind, found, advice)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
