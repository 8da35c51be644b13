"""Parsers of hostile markup in a process of their own: what kills or hangs one costs the page it was given.

One child process serves a whole task and is started again only after a page has killed it, so that a page costs a
round trip through a pipe and no process. The kernel stops the child when a page has used up its CPU time, inside C
code too. This guards against crashes and endless loops; it does not guard against code that means harm.
"""

import os
import pickle
import resource
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, BinaryIO, Self

from curation.quarantine import guarded
from curation.sources.units import BadUnit, Record, UnitError
from curation.text.pipeline import DocumentText, document_text

_LENGTH = struct.Struct("<Q")
_WALL_PER_CPU_SECOND = 10  # a machine may be that busy; beyond it a page that uses no CPU time is hung
_WALL_SECONDS = 30  # for starting the child


class Sandbox:
    """Runs `document_text` in a child process; a context manager that ends the child.

    Args:
        cpu_seconds: CPU time of one record. Generous: a page that fails by it on a slow machine fails on all.
        command: what to start instead of this module, for tests.
    """

    def __init__(self, cpu_seconds: int, command: tuple[str, ...] = (sys.executable, "-m", __name__)) -> None:
        self._cpu_seconds, self._command = cpu_seconds, command
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is not None:
            self._end(self._child)

    def document_text(self, record: Record, **settings: Any) -> DocumentText:
        """Return the text of one record, as `pipeline.document_text` does.

        Raises:
            UnitError: what that function raises, as codes; timeout/cpu or timeout/hung; crash with the signal's name.
        """
        fresh = self._child is None
        try:
            made = self._ask(record, settings)
        except _ChildDied as death:
            if death.problem.error == "timeout" or fresh:
                raise death.problem from None
            return self.document_text(record, **settings)  # an earlier page may have left it sick
        if isinstance(made, BadUnit):
            raise UnitError(made.error, made.detail)
        return made

    def _ask(self, record: Record, settings: Mapping[str, Any]) -> DocumentText | BadUnit:
        child = self._child = self._child or self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            _send(child.stdin, (record, settings))
        except BrokenPipeError:
            raise _ChildDied(self._autopsy(child)) from None
        wall = self._cpu_seconds * _WALL_PER_CPU_SECOND + _WALL_SECONDS
        if not select.select([child.stdout], [], [], wall)[0]:
            self._end(child)
            raise _ChildDied(UnitError("timeout", "hung"))
        answer = _receive(child.stdout)
        if answer is None:
            raise _ChildDied(self._autopsy(child))
        return answer  # type: ignore[no-any-return]

    def _start(self) -> "subprocess.Popen[bytes]":
        path = os.pathsep.join(filter(None, sys.path))  # the engine may have put this code on the path at run time
        return subprocess.Popen(
            [*self._command, str(self._cpu_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # parsers quote what they complain about
            env={**os.environ, "PYTHONPATH": path},
        )

    def _autopsy(self, child: "subprocess.Popen[bytes]") -> UnitError:
        self._end(child)
        number = -child.returncode
        if number == signal.SIGXCPU:
            return UnitError("timeout", "cpu")
        return UnitError("crash", signal.Signals(number).name if number in set(signal.Signals) else "exit")

    def _end(self, child: "subprocess.Popen[bytes]") -> None:
        """Let a child that is dying die, kill any other, and forget it."""
        self._child = None
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                _close(stream)
        try:
            child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


class _ChildDied(Exception):
    def __init__(self, problem: UnitError) -> None:
        super().__init__(str(problem))
        self.problem = problem


def _close(stream: Any) -> None:
    try:
        stream.close()
    except BrokenPipeError:  # what was buffered for a child that is gone
        return


def _send(stream: Any, value: Any) -> None:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def _receive(stream: Any) -> Any:
    """Return the next value, None if the other side is gone."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    size = _LENGTH.unpack(head)[0]
    data = stream.read(size)
    return pickle.loads(data) if len(data) == size else None


def serve(
    requests: BinaryIO, answers: BinaryIO, cpu_seconds: int, make: Callable[..., DocumentText] = document_text
) -> None:
    """Answer requests until there are no more; runs in the child."""
    while (request := _receive(requests)) is not None:
        record, settings = request
        _allow(cpu_seconds)
        _send(answers, guarded(lambda record, settings=settings: make(record, **settings), record))  # type: ignore[misc]


def _allow(cpu_seconds: int) -> None:
    """Let the kernel end this process when it has used `cpu_seconds` more."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    wanted = int(time.process_time()) + 1 + cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def main() -> None:
    """Serve on this process's standard streams, which nothing else may write to."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, answers, int(sys.argv[1]))


if __name__ == "__main__":
    main()
