"""A decoded file as lines, ended by LF and nothing else.

U+2028, form feeds, NEL and lone CR are text. A line longer than the limit is counted and hashed, never held; a lost
region takes the line it cuts with it, as one piece.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from curation.sources.compression import Data, Expanded, Gap
from curation.sources.units import Skipped, UnitErrorClass


class Line(NamedTuple):
    """One line without its LF; `raw_bytes` counts the LF where there was one."""

    offset: int
    raw_bytes: int
    content: bytes


@dataclass(frozen=True, slots=True)
class LostLine:
    """A line that was too long, or a lost region with the line it cut."""

    offset: int
    raw_bytes: int
    error: UnitErrorClass
    detail: str
    sha256: str


class _OpenLine:
    """The line being put together: held up to the limit, only hashed and counted beyond it."""

    def __init__(self, offset: int, max_bytes: int) -> None:
        self.offset = offset
        self.raw_bytes = 0
        self._max_bytes = max_bytes
        self._held: list[bytes] = []
        self._too_long = False
        self._digest = sha256()

    def add(self, piece: bytes) -> None:
        self.raw_bytes += len(piece)
        self._too_long = self._too_long or self.raw_bytes > self._max_bytes
        self._held.append(piece)
        if self._too_long:
            self._hash_held()

    def close(self, content: bytes, ended: bool) -> Line | LostLine:
        """Return the line with its last piece."""
        self.add(content)
        if self._too_long:
            if ended:
                self.add(b"\n")
            return self.lose("too_large", "line")
        return Line(self.offset, self.raw_bytes + ended, b"".join(self._held))

    def lose(self, error: UnitErrorClass, detail: str) -> LostLine:
        """Return what was put together as lost."""
        self._hash_held()
        return LostLine(self.offset, self.raw_bytes, error, detail, self._digest.hexdigest())

    def _hash_held(self) -> None:
        for piece in self._held:
            self._digest.update(piece)
        self._held.clear()


def read_lines(expanded: Expanded, max_line_bytes: int) -> Iterator[Line | LostLine | Skipped]:
    """Yield the lines of a decoded file in order; their `raw_bytes` add up to `expanded.stream_bytes`.

    Args:
        expanded: the file, not yet iterated.
        max_line_bytes: longest line that is held in memory.
    """
    position = 0
    opened: _OpenLine | None = None
    lost: UnitErrorClass | None = None
    for segment in expanded.segments():
        if isinstance(segment, Gap):
            if segment.kind == "padding":
                yield Skipped("padding", len(segment.content))
            else:
                lost = lost or segment.kind
                opened = opened or _OpenLine(position, max_line_bytes)
                opened.add(segment.content)
            position += len(segment.content)
        elif isinstance(segment, Data):
            if lost and opened:
                yield opened.lose(lost, "region")
                opened = lost = None
            opened = yield from _split(segment.content, position, opened, max_line_bytes)
            position += len(segment.content)
    if opened:
        yield opened.lose(lost, "region") if lost else opened.close(b"", ended=False)


def _split(
    chunk: bytes, position: int, opened: _OpenLine | None, max_line_bytes: int
) -> Generator[Line | LostLine, None, _OpenLine | None]:
    """Yield the lines that end in `chunk`; return the one that does not."""
    pieces = chunk.split(b"\n")
    rest = pieces.pop()
    for piece in pieces:
        raw_bytes = len(piece) + 1
        if opened:
            yield opened.close(piece, ended=True)
            opened = None
        elif raw_bytes <= max_line_bytes:
            yield Line(position, raw_bytes, piece)
        else:
            yield LostLine(position, raw_bytes, "too_large", "line", sha256(piece + b"\n").hexdigest())
        position += raw_bytes
    if rest:
        opened = opened or _OpenLine(position, max_line_bytes)
        opened.add(rest)
    return opened
