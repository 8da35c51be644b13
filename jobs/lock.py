"""The run lock: it warns that somebody else may be at work here. It forbids nothing.

Two runs on one work folder are safe (who commits first wins) and only waste work; a lock left behind by a killed run
must not stop the next one.
"""

import contextlib
import json
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator

from curation import storage
from curation.errors import InfrastructureError


@contextlib.contextmanager
def run_lock(root: str, warn: Callable[[str], None]) -> Iterator[None]:
    """Stand in the work folder's list of runs while the block runs, and name the others that stand there."""
    folder = storage.join(root, "locks")
    for name in storage.list_names(folder):
        if _is_of_a_dead_process(storage.join(folder, name)):
            storage.delete(storage.join(folder, name))
            continue
        warn(f"warning: {_describe(storage.join(folder, name))}; if it is dead, remove {storage.join(folder, name)}")
    mine = storage.join(folder, f"{uuid.uuid4().hex}.json")
    about = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    try:
        storage.put_if_absent(mine, json.dumps(about).encode())
    except (InfrastructureError, OSError) as error:
        raise InfrastructureError(
            f"{root}: nothing can be written there; give --work a folder that is yours ({error})"
        ) from None
    try:
        yield
    finally:
        storage.delete(mine)


def running_since(root: str) -> float | None:
    """Return when the oldest run began that stands in the list, in seconds since 1970; None if there is none."""
    folder = storage.join(root, "locks")
    found = storage.list_files(folder)
    alive = [lock.modified for lock in found if not _is_of_a_dead_process(storage.join(folder, lock.name))]
    return min(alive, default=None)


def _is_of_a_dead_process(url: str) -> bool:
    """Return whether a lock was left behind by a process of this machine that is gone."""
    try:
        about = json.loads(storage.read_bytes(url))
        if about["host"] != socket.gethostname():
            return False
        os.kill(int(about["pid"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return False


def _describe(url: str) -> str:
    try:
        about = json.loads(storage.read_bytes(url))
        return f"another run may be active here: process {about['pid']} on {about['host']}, since {about['started']}"
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return "another run may be active here"
