"""How the command line looks: aligned columns, and colours where a person watches and did not say NO_COLOR."""

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TextIO

_COLOURS = {"green": "32", "yellow": "33", "red": "31", "bold": "1", "dim": "2"}
FATE_COLOURS = {"keep": "green", "split": "yellow", "drop": "red", "quarantine": "red"}


class Console:
    """What results are printed on. Progress and errors never come here; they go to stderr."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str]) -> None:
        self._stream = stream
        self._coloured = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"

    def paint(self, words: str, colour: str) -> str:
        """Return words in a colour, or as they are."""
        return f"\x1b[{_COLOURS[colour]}m{words}\x1b[0m" if self._coloured and words else words

    def fate(self, fate: str, width: int = 0) -> str:
        """Return a fate in its colour, padded to a width."""
        return self.paint(fate, FATE_COLOURS.get(fate, "bold")) + " " * (width - len(fate))

    def lines(self, lines: Iterable[str]) -> None:
        """Print lines."""
        for line in lines:
            print(line, file=self._stream)

    def json(self, value: Any) -> None:
        """Print plain data as JSON."""
        print(json.dumps(value, indent=1, ensure_ascii=False), file=self._stream)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()) -> None:
        """Print rows in columns as wide as they need; those numbered in `right` are aligned to the right."""
        self.lines(columns([[self.paint(word, "dim") for word in head], *rows], right))


def columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Return rows as lines with aligned columns; colour codes have no width.

    >>> columns([["stage", "rows"], ["filter", "12"]], right=[1])
    ['stage   rows', 'filter    12']
    """
    widths = [max((_width(row[number]) for row in rows if number < len(row)), default=0) for number in _numbers(rows)]
    return ["  ".join(_cell(word, widths[i], i in right) for i, word in enumerate(row)).rstrip() for row in rows]


def say(line: str) -> None:
    """Print a line of progress, on stderr."""
    print(line, file=sys.stderr, flush=True)


def _numbers(rows: Sequence[Sequence[str]]) -> range:
    return range(max((len(row) for row in rows), default=0))


def _cell(word: str, width: int, to_the_right: bool) -> str:
    space = " " * (width - _width(word))
    return space + word if to_the_right else word + space


def _width(word: str) -> int:
    """Return how many columns a word takes; colours take none."""
    parts = word.split("\x1b[")
    return len(parts[0]) + sum(len(part.partition("m")[2]) for part in parts[1:])
