"""Where progress goes: lines on stderr for people, or one JSON object a line for programs.

It tells names, numbers and reasons, never what a document holds.
"""

import json
import os
import sys
import time
from typing import Any

from tqdm import tqdm

_BAR = "{desc} {percentage:3.0f} %|{bar:12}| {n_fmt}{unit} of {total_fmt}{unit}{postfix}"
_TASKS = "{desc} {elapsed}{postfix}"  # where no bytes are known


class Log:
    """Tells what happens. On a terminal that can move its cursor, running work has one line that is drawn anew."""

    def __init__(self, is_json: bool = False) -> None:
        self.is_json = is_json

    @property
    def is_live(self) -> bool:
        """Whether a person watches a terminal that can redraw a line."""
        return not self.is_json and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def say(self, words: str, event: str = "note", **facts: Any) -> None:
        """Tell one thing, in words; `event` and the facts are for programs."""
        if self.is_json:
            moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            words = json.dumps({"time": moment, "event": event, "message": words, **facts}, ensure_ascii=False)
        if self.is_live:
            tqdm.write(words, file=sys.stderr)  # above a line that is being drawn
        else:
            print(words, file=sys.stderr, flush=True)

    def bar(self, name: str, total: int, initial: int) -> "tqdm[Any] | None":
        """Return a line of progress in bytes, None where nothing can be redrawn. Whoever takes it closes it."""
        if not self.is_live:
            return None
        how = {"unit_scale": True, "unit": "B", "leave": False, "dynamic_ncols": True, "file": sys.stderr}
        return tqdm(total=total, initial=initial, desc=name, bar_format=_BAR if total else _TASKS, **how)
