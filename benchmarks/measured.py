"""A program and everything it starts, measured from outside: CPU-seconds, wall seconds, peak memory. Linux only.

CPU is user and system time of the whole tree of processes, those included that have ended and were waited for; the
program reports it itself as its last act (`finish`), so that tearing down is not counted for anybody. Memory is the
largest sum of proportional set sizes (shared pages divided among those who share them) over the tree, looked at four
times a second.
"""

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_INTERVAL = 0.25
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    """What a program took, and the plain data that it handed to `finish`."""

    cpu_seconds: float
    wall_seconds: float
    peak_mib: float
    result: Any


def finish(result: Any) -> None:
    """End the measured part of a program: report the CPU-seconds of its tree, and a result as plain data."""
    print(json.dumps({"cpu_seconds": tree_cpu_seconds(), "result": result}), flush=True)


def measure(command: Sequence[str], environment: dict[str, str] | None = None) -> Measured:
    """Run a program whose last line is `finish`'s. Raises SystemExit if it fails."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
    peaks = [0.0]
    watcher = threading.Thread(target=_watch, args=(process, peaks), daemon=True)
    watcher.start()
    output, _ = process.communicate()
    wall = time.monotonic() - started
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    told = json.loads(output.strip().splitlines()[-1])
    return Measured(told["cpu_seconds"], wall, peaks[0], told["result"])


def tree_cpu_seconds() -> float:
    """Return the CPU-seconds of this process and all it started."""
    total = 0
    for pid in _tree(os.getpid()):
        fields = _stat(pid)
        total += sum(int(value) for value in fields[11:15]) if fields else 0  # own and waited-for, user and system
    return total / _TICKS


def _watch(process: "subprocess.Popen[str]", peaks: list[float]) -> None:
    while process.poll() is None:
        peaks[0] = max(peaks[0], sum(_pss_kib(pid) for pid in _tree(process.pid)) / 1024)
        time.sleep(_INTERVAL)


def _tree(root: int) -> Iterator[int]:
    """Yield a process and its descendants."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        fields = _stat(int(name)) if name.isdecimal() else []
        if fields:
            children.setdefault(int(fields[1]), []).append(int(name))
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; none if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _pss_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
