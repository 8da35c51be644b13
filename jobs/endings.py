"""How a command ends: its exit code, and one line on stderr where something went wrong.

0 done, 2 usage or recipe, 3 a data budget stopped the run, 4 integrity, 5 infrastructure, 130 interrupted.
"""

import os
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Self

from curation.errors import CurationError, InfrastructureError
from jobs.console import say

INTERRUPTED, PIPE_CLOSED = 130, 141  # 128 + the number of the signal, as shells say it


class Ending:
    """Turns how a command ended into its exit code, with one line on stderr where something went wrong.

    An error that is none of ours is told by its class and place alone: its words may quote a document.
    """

    code = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self.code = _exit_code(error)
        return True


def _exit_code(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0
    if isinstance(error, KeyboardInterrupt):
        say("interrupted: what is committed stays, the same command goes on from there")
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    if isinstance(error, CurationError):
        say(f"error: {error}")
        return error.exit_code
    say(f"error: {_where(error)}; this is a fault in the tool or the machine. `curate doctor` looks at the machine")
    return InfrastructureError.exit_code


def _where(error: BaseException) -> str:
    """Return an unexpected error's class and its place in the code; the system's own also say what and which file."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    place = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    told = f" ({error.strerror}: {error.filename})" if isinstance(error, OSError) and error.strerror else ""
    return f"{type(error).__name__}{told} at {place}"
