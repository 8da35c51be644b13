"""Processes of one machine: forked once everything is imported and read, started again when one of them is lost.

On many machines torchrun, or Slurm's srun, starts the processes and tells each its place; then this only joins them.
A run goes on from its latest checkpoint, so that starting again is all there is to do.
"""

import os
import signal
import socket
import sys
import tempfile
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path

import torch
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException, start_processes

from curation.shards.errors import CurationError
from trainer import mesh as meshes
from trainer.loop import Run, train

TERMINATED = 128 + signal.SIGTERM
_ENDING = (signal.SIGTERM, signal.SIGINT)
_GRACE_SECONDS = 30  # for processes that wait for a lost one, before they are killed


class _Stop:
    """Whether this process was asked to end; the loop looks after each step."""

    def __init__(self) -> None:
        self.asked = False
        for number in _ENDING:
            signal.signal(number, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True

    def __call__(self) -> bool:
        return self.asked


def join(run: Run, place: meshes.Place) -> int:
    """Train as one process of a group that something else started, and return the exit code."""
    stop = _Stop()
    with meshes.processes(place) as device:
        train(run, device, stop)
    return TERMINATED if stop.asked else 0


def start(run: Run, world: int, max_restarts: int) -> int:
    """Train with so many processes on this machine, and return the exit code.

    When a process is lost, all are started again from the latest checkpoint, up to so often. An error that would come
    again, one of the recipe or of the data, ends the run at once.
    """
    run.data.prepare()
    os.environ.setdefault("GLOO_SOCKET_IFNAME", _loopback())
    for attempt in range(max_restarts + 1):
        code = _attempt(run, world)
        if code is not None:
            return code
        left = max_restarts - attempt
        print(f"trainer: lost a process; {left} of {max_restarts} restarts left", file=sys.stderr, flush=True)
    return 5


def _attempt(run: Run, world: int) -> int | None:
    """Run all processes to their end; return the exit code, or None if one of them was lost."""
    with tempfile.TemporaryDirectory() as folder:
        rendezvous = f"file://{Path(folder) / 'rendezvous'}"
        stopped = get_context("fork").Event()
        arguments = (run, world, rendezvous, stopped)
        context = start_processes(  # type: ignore[no-untyped-call]
            _process, arguments, world, join=False, start_method="fork"
        )
        before = {number: signal.signal(number, lambda *_: _forward(context.pids())) for number in _ENDING}
        try:
            while not context.join(grace_period=_GRACE_SECONDS):
                pass
        except ProcessExitedException as lost:
            return lost.exit_code if 0 < lost.exit_code < 5 else None
        except ProcessRaisedException as raised:
            print(raised, file=sys.stderr)
            return None
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return TERMINATED if stopped.is_set() else 0


def _process(rank: int, run: Run, world: int, rendezvous: str, stopped: Event) -> None:
    """Be one of the processes. An error that is ours ends all with its exit code."""
    stop = _Stop()
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // world))
    try:
        with meshes.processes(meshes.Place(rank, world, rank, rendezvous)) as device:
            train(run, device, stop)
    except CurationError as error:
        if not rank:
            print(f"error: {error}", file=sys.stderr, flush=True)
        sys.exit(error.exit_code)
    if stop.asked:
        stopped.set()


def _forward(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGTERM)


def _loopback() -> str:
    """Return the network interface that leads back to this machine; without it gloo looks up the host's name."""
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in ("lo", "lo0") if name in names), names[0])
