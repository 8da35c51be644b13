"""Runs in processes of their own, as a user starts them: to be killed, or to be given another environment."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
_PROGRAM = "import sys, json, conftest; print(json.dumps(conftest.digests(conftest.run(*sys.argv[1:]))))"


def start(
    recipe: Path,
    work: str,
    *more: str,
    stderr: IO[str] | None = None,
    python: str = sys.executable,
    **environment: str,
) -> subprocess.Popen[bytes]:
    """Start a run in a session of its own."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE)]), **environment}
    command = [python, "-c", _PROGRAM, str(recipe), work, *more]
    return subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True)


def digests_of(process: subprocess.Popen[bytes]) -> dict[str, str]:
    """Wait for a run and return its digests."""
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    found: dict[str, str] = json.loads(output)
    return found


def kill_when(process: subprocess.Popen[bytes], begun: Callable[[], bool]) -> bool:
    """SIGKILL the driver as soon as `begun`; return whether it was still running then."""
    deadline = time.monotonic() + 240
    while not begun():
        if process.poll() is not None:
            return False
        assert time.monotonic() < deadline, "the stage never began"
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return True


def wait_for_jvm(process: subprocess.Popen[bytes]) -> None:
    """Wait until nothing of a killed run is alive: its JVM notices that the driver is gone."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not subprocess.run(["pgrep", "-s", str(process.pid)], stdout=subprocess.PIPE, check=False).stdout:
            return
        time.sleep(0.1)
    raise AssertionError("a killed run left processes behind for a minute")


def commits(work: Path) -> dict[str, tuple[int, int]]:
    """Return every commit and manifest with what would change if it were written again."""
    found = [*work.glob("*/commits/*.json"), *work.glob("*/manifests/*.json")]
    return {str(path.relative_to(work)): (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}
