"""A sliding look at a decoded file, for formats whose records say how long they are.

The window knows at each moment where it stands, in the decoded stream and in the file, and stops at lost regions so
that no record is put together across one.
"""

from collections import deque

from curation.sources.compression import Boundary, Data, Expanded, Gap
from curation.sources.units import Coordinates, FileEnd


class Window:
    """What lies ahead in a file; `buffer` holds decoded bytes up to the next gap.

    Args:
        expanded: the file, not yet iterated.
        coordinates: "stream" to count in decoded bytes whatever the file looks like; None to count in file bytes
            where each record turns out to be a compressed member of its own.

    Attributes:
        buffer: decoded bytes from the current position on; read it, and change it only through `consume`.
        gap: the gap that begins where the buffer ends, None if there is none yet.
    """

    def __init__(self, expanded: Expanded, coordinates: Coordinates | None = None) -> None:
        self._expanded = expanded
        self._segments = expanded.segments()
        self._position = 0
        self._boundaries: deque[Boundary] = deque()
        self._boundary_positions: deque[int] = deque()
        self._passed = Boundary(0)
        self._passed_position = -1
        self._span_start = 0
        self._coordinates = coordinates
        self._ended = False
        self.buffer = bytearray()
        self.gap: Gap | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing at all is left."""
        return self._ended and not self.buffer and self.gap is None

    def peek(self, wanted: int) -> int:
        """Try to have `wanted` bytes in the buffer; return how many there are before a gap or the end."""
        while len(self.buffer) < wanted and self.gap is None and not self._ended:
            segment = next(self._segments, None)
            if segment is None:
                self._ended = True
            elif isinstance(segment, Data):
                self.buffer += segment.content
            elif isinstance(segment, Gap):
                self.gap = segment
            else:
                self._boundaries.append(segment)
                self._boundary_positions.append(self._position + len(self.buffer))
        return len(self.buffer)

    def boundaries(self) -> list[int]:
        """Return where compressed members begin ahead of the current position, as indices into the buffer."""
        return [position - self._position for position in self._boundary_positions]

    def consume(self, count: int) -> None:
        """Move on by `count` bytes of the buffer."""
        del self.buffer[:count]
        self._position += count
        self._pass_boundaries()

    def take_gap(self) -> Gap:
        """Move past the gap at the current position."""
        gap = self.gap
        if gap is None or self.buffer:
            raise LookupError("there is no gap at the current position")
        self.gap = None
        self._position += len(gap.content)
        return gap

    def close_span(self) -> tuple[int, int]:
        """Return (offset, raw_bytes) of everything consumed since the last call, in the file's coordinates."""
        self.peek(1)  # pulls in the boundary that may lie exactly here
        self._pass_boundaries()
        if self._coordinates is None:
            self._coordinates = self._choose()
        start, self._span_start = self._span_start, self._here()
        return start, self._span_start - start

    def end(self) -> FileEnd:
        """Return the account of the file; call it after the last span was closed."""
        plain = self._expanded.compression == "plain"
        return self._expanded.end("file" if plain else self._coordinates)

    def _pass_boundaries(self) -> None:
        while self._boundary_positions and self._boundary_positions[0] <= self._position:
            self._passed = self._boundaries.popleft()
            self._passed_position = self._boundary_positions.popleft()

    def _choose(self) -> Coordinates:
        """Count in file bytes if the first span ends where a compressed member ends: then each record is one."""
        plain = self._expanded.compression == "plain"
        return "file" if plain or self._passed_position == self._position else "stream"

    def _here(self) -> int:
        in_members = self._coordinates == "file" and self._expanded.compression != "plain"
        return self._passed.file_offset if in_members else self._position
