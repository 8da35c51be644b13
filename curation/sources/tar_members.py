"""The members of a tar archive as streams, in any compression and however damaged; nothing is extracted to disk.

Links, devices, sparse files and names that leave their folder are refused one by one; a damaged header costs the bytes
up to the next whole one. Coordinates are bytes of the decompressed tar stream.
"""

import hashlib
from collections.abc import Iterator

from curation.limits import MIB, Limits
from curation.sources import tar_headers as headers
from curation.sources.members import Lost, Member, MemberStream
from curation.sources.tar_headers import BLOCK, Header
from curation.sources.units import FileEnd, Skipped, UnitErrorClass
from curation.sources.window import Window

_STEP_BYTES = 1 << 16


class TarArchive:
    """One tar archive (`members.Archive`)."""

    def __init__(self, window: Window, limits: Limits) -> None:
        self._window, self._limits = window, limits
        self._overrides: dict[str, str] = {}
        self._members = 0
        self.member_bytes = 0

    def items(self) -> Iterator[Member | Lost | Skipped]:
        """Yield the members and everything between them."""
        window = self._window
        while True:
            available = window.peek(BLOCK)
            if window.ended:
                return
            block = bytes(window.buffer[:BLOCK])
            header = headers.parse_header(block) if len(block) == BLOCK else None
            if header and header.kind in headers.EXTENDED and header.size <= MIB:
                yield from self._extend(header)
            elif header and self._members >= self._limits.max_members:
                yield self._lose("", "bomb", "members", to_the_end=True)
            elif header:
                self._members += 1
                yield from self._member(headers.override(header, self._overrides))
                self._overrides = {}
            elif available and not any(block):
                window.consume(len(block))
                yield self._skip("padding")
            elif window.gap and not available and window.gap.kind == "padding":
                window.take_gap()
                yield self._skip("padding")
            else:
                yield self._lose("", "parse", "no_header")

    def end(self) -> FileEnd:
        """Return the archive's account."""
        return self._window.end()

    def _skip(self, kind: str) -> Skipped:
        return Skipped(kind, self._window.close_span()[1])

    def _extend(self, header: Header) -> Iterator[Lost | Skipped]:
        window = self._window
        size = BLOCK + header.padded_size
        if window.peek(size) < size:
            yield self._lose("", "truncated", "extended_header")
            return
        headers.apply_extension(header.kind, bytes(window.buffer[BLOCK : BLOCK + header.size]), self._overrides)
        window.consume(size)
        yield self._skip("framing")

    def _member(self, header: Header) -> Iterator[Member | Lost | Skipped]:
        window, problem = self._window, headers.problem(header)
        has_data = header.kind in headers.WITH_DATA
        window.consume(BLOCK)
        if problem or not has_data:
            yield from self._refuse(header, problem, header.padded_size if has_data else 0)
            return
        yield self._skip("framing")
        stream = TarMember(window, header.size)
        yield Member(header.name, stream)
        self.member_bytes += window.close_span()[1]
        if stream.broken:
            yield self._lose(header.name, "truncated", "member")
            return
        padding = header.padded_size - header.size
        window.consume(min(window.peek(padding), padding))
        yield self._skip("framing")

    def _refuse(self, header: Header, problem: str | None, left: int) -> Iterator[Lost | Skipped]:
        window, digest = self._window, hashlib.sha256()
        while left and (step := min(window.peek(min(left, _STEP_BYTES)), left)):
            digest.update(window.buffer[:step])
            window.consume(step)
            left -= step
        if left:
            yield self._lose(header.name, "truncated", "member")
        elif problem:
            raw_bytes = window.close_span()[1]
            yield Lost(header.name, raw_bytes, "unsafe_member", problem, digest.hexdigest())
        else:
            yield self._skip("directory")

    def _lose(self, name: str, error: UnitErrorClass, detail: str, to_the_end: bool = False) -> Lost:
        """Consume everything up to the next whole header as one lost region, which may have begun before."""
        window, digest = self._window, hashlib.sha256()
        self._overrides = {}
        start = 1 if window.buffer else 0  # what is in the buffer begins with something that is no header
        while not window.ended:
            window.peek(_STEP_BYTES)
            found = None if to_the_end else headers.find_header(window.buffer, start)
            more = window.gap is None and len(window.buffer) >= _STEP_BYTES
            count = found if found is not None else len(window.buffer) - (BLOCK if more else 0)
            digest.update(window.buffer[:count])
            window.consume(count)
            start = 0
            if found is not None:
                break
            if window.gap and not window.buffer:
                gap = window.take_gap()
                digest.update(gap.content)
                error = error if gap.kind == "padding" else gap.kind
        return Lost(name, window.close_span()[1], error, detail, digest.hexdigest())


class TarMember(MemberStream):
    """The data of one member, as far as it is there."""

    def __init__(self, window: Window, size: int) -> None:
        super().__init__()
        self._window, self._left = window, size

    def pieces(self) -> Iterator[bytes]:
        """Yield the member's data."""
        window = self._window
        while self._left:
            count = min(window.peek(min(self._left, _STEP_BYTES)), self._left)
            if not count:
                self.broken = True
                return
            piece = bytes(window.buffer[:count])
            window.consume(count)
            self._left -= count
            yield piece
