"""Parsers of hostile markup in a process of their own: what kills or hangs one costs the page it was given.

One child process serves a whole task and is started again only after a page has killed it; pages go to it by the
batch, and one by one where a batch killed it, so that a page costs a share of a round trip through a pipe and no
process. The kernel stops the child when a page has used up its CPU time, inside C code too. This guards against crashes
and endless loops; it does not guard against code that means harm.
"""

import contextlib
import fcntl
import os
import pickle
import resource
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from types import TracebackType
from typing import Any, BinaryIO, Self

from curation.quarantine import guarded
from curation.sources.units import BadUnit, Record, UnitError
from curation.text.pipeline import DocumentText, document_text

_LENGTH = struct.Struct("<Q")
_WALL_PER_CPU_SECOND = 10  # a machine may be that busy; beyond it a page that uses no CPU time is hung
_PIPE_BYTES = 1 << 20  # Linux's default limit for unprivileged users
_WALL_SECONDS = 30  # for starting the child
# What goes through the pipe is plain tuples: pickling a dataclass costs as much as decoding a page.
_TEXT_FIELDS = tuple(field.name for field in fields(DocumentText))
_BAD_FIELDS = ("error", "detail")

Page = tuple[Record, Mapping[str, Any]]  # a record, and the keyword arguments of `document_text` for it


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

    def document_texts(self, pages: Sequence[Page]) -> list[DocumentText | BadUnit]:
        """Return what `pipeline.document_text` makes of each record with its settings, in order.

        A record that fails is a bad unit: with the codes of that function's UnitError, timeout/cpu or timeout/hung, or
        crash with the name of the signal.
        """
        if len(pages) > 1:
            try:
                return self._ask(pages)
            except _ChildDied:  # of one of them; an earlier one may also have left it sick
                return [made for page in pages for made in self.document_texts([page])]
        return [self._alone(page) for page in pages]

    def _alone(self, page: Page) -> DocumentText | BadUnit:
        fresh = self._child is None
        try:
            return self._ask([page])[0]
        except _ChildDied as death:
            if death.problem.error == "timeout" or fresh:
                return page[0].as_bad(death.problem.error, death.problem.detail)
            return self._alone(page)  # an earlier page may have left it sick

    def _ask(self, pages: Sequence[Page]) -> list[DocumentText | BadUnit]:
        child = self._child = self._child or self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            _send(child.stdin, [(record.content, record.form, record.charset, settings) for record, settings in pages])
        except BrokenPipeError:
            raise _ChildDied(self._autopsy(child)) from None
        wall = self._cpu_seconds * _WALL_PER_CPU_SECOND + _WALL_SECONDS
        if not select.select([child.stdout], [], [], wall)[0]:
            self._end(child)
            raise _ChildDied(UnitError("timeout", "hung"))
        answers = _receive(child.stdout)
        if answers is None:
            raise _ChildDied(self._autopsy(child))
        return [_made(record, answer) for (record, _), answer in zip(pages, answers, strict=True)]

    def _start(self) -> "subprocess.Popen[bytes]":
        path = os.pathsep.join(filter(None, sys.path))  # the engine may have put this code on the path at run time
        child = subprocess.Popen(
            [*self._command, str(self._cpu_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # parsers quote what they complain about
            env={**os.environ, "PYTHONPATH": path},
        )
        for stream in (child.stdin, child.stdout):
            _widen(stream)
        return child

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


def _made(record: Record, answer: tuple[Any, ...]) -> DocumentText | BadUnit:
    return DocumentText(*answer) if len(answer) > len(_BAD_FIELDS) else record.as_bad(*answer)


class _ChildDied(Exception):
    def __init__(self, problem: UnitError) -> None:
        super().__init__(str(problem))
        self.problem = problem


def _widen(stream: Any) -> None:
    """Let a pipe hold a whole page, where the system can: each time it fills, two processes take turns."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):  # beyond what the administrator allows
            fcntl.fcntl(stream.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


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
    while (pages := _receive(requests)) is not None:
        _send(answers, [_answer(page, cpu_seconds, make) for page in pages])


def _answer(page: tuple[Any, ...], cpu_seconds: int, make: Callable[..., DocumentText]) -> tuple[Any, ...]:
    """Return the fields of a text, or error and detail."""
    content, form, charset, settings = page
    _allow(cpu_seconds)
    made = guarded(lambda record: make(record, **settings), Record(0, "", 0, 0, content, form, charset=charset))
    return attrgetter(*(_BAD_FIELDS if isinstance(made, BadUnit) else _TEXT_FIELDS))(made)


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
