"""What strikes: faults at named points of stages, each once, in whichever process comes there first.

Points of a stage, in the order of its life:
    read      its input was read, nothing is written
    write     half of a part's first bytes are written
    part      a part stands under its name, its commit does not
    commit    every commit stands, the manifest does not
    manifest  the manifest stands, and nobody was told

All of them are calls of `curation.storage`, which is wrapped as it is imported.
"""

import contextlib
import errno
import importlib.abc
import importlib.util
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

POINTS = ("read", "write", "part", "commit", "manifest")
_PATCHED = "curation.storage"


def plant(told: str) -> None:
    """Wrap the storage module as soon as it is imported; `told` is a JSON list of faults."""
    sys.meta_path.insert(0, _Finder([_Fault(**about) for about in json.loads(told)]))


class _Fault:
    def __init__(self, stage: str, point: str, action: str, marks: str, after: int = 0) -> None:
        self._folder, self._point, self._action, self._marks, self._after = f"/{stage}/", point, action, marks, after

    def strike(self, point: str, url: str) -> None:
        """Do the harm if this is the point, and it was passed as often as was asked."""
        if point != self._point or self._folder not in url or (self._action == "worker" and _is_driver()):
            return
        if self._passed() == self._after:
            getattr(self, self._action)()

    def _passed(self) -> int:
        """Count this passing, together with all processes of all runs."""
        for number in itertools.count():
            with contextlib.suppress(FileExistsError):
                os.close(os.open(f"{self._marks}.{number}", os.O_CREAT | os.O_EXCL))
                return number
        raise AssertionError

    def driver(self) -> None:
        """Kill the driver, which leads the session that all of its processes are in."""
        os.kill(os.getsid(0), signal.SIGKILL)
        time.sleep(60)  # the JVM takes its workers with it

    def worker(self) -> None:
        """Kill this Python worker."""
        os.kill(os.getpid(), signal.SIGKILL)

    def executor(self) -> None:
        """Kill the JVM whose daemon made this worker: the executor, or the driver's own JVM with a local master."""
        daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
        os.kill(int(daemon.rpartition(")")[2].split()[1]), signal.SIGKILL)
        time.sleep(60)

    def full(self) -> None:
        """Let the disk be full."""
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _is_driver() -> bool:
    return os.getpid() == os.getsid(0)


class _Stream:
    """A stream that strikes when half of the first bytes are written."""

    def __init__(self, stream: Any, strike: Callable[[str, str], None], url: str) -> None:
        self._stream, self._strike, self._url, self._written = stream, strike, url, False

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        half = 0 if self._written else len(view) // 2
        self._stream.write(view[:half])
        if not self._written:
            self._written = True
            self._strike("write", self._url)
        self._stream.write(view[half:])
        return len(view)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _wrap(storage: Any, faults: list[_Fault]) -> None:
    create, put_if_absent = storage.create, storage.put_if_absent

    def strike(point: str, url: str) -> None:
        for fault in faults:
            fault.strike(point, url)

    @contextlib.contextmanager
    def faulty_create(url: str) -> Iterator[Any]:
        strike("read", url)
        with create(url) as stream:
            yield _Stream(stream, strike, url)

    def faulty_put(url: str, data: bytes) -> bytes:
        if "/commits/" in url:
            strike("part", url)
        if "/manifests/" in url:
            strike("commit", url)
        standing: bytes = put_if_absent(url, data)
        if "/manifests/" in url:
            strike("manifest", url)
        return standing

    storage.create, storage.put_if_absent = faulty_create, faulty_put


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, faults: list[_Fault]) -> None:
        self._faults = faults

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Find the one module as it would be found, and wrap it once it has run."""
        if fullname != _PATCHED:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        assert spec is not None
        assert spec.loader is not None
        run = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            _wrap(module, self._faults)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
