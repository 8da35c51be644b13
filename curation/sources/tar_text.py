"""Tar archives of text files, in any compression, read as a stream: nothing is ever extracted to disk.

Each regular member whose name has a wanted suffix is one unit. Links, devices, sparse files and names that leave
their folder are bad units. A damaged header costs the bytes up to the next whole one. Offsets count in the
(decompressed) tar stream, and a unit's bytes include its headers and padding.
"""

import hashlib
import tarfile
from collections.abc import Iterator
from typing import BinaryIO

from curation.limits import MIB, Limits
from curation.sources import tar_headers as headers
from curation.sources.compression import Expanded
from curation.sources.options import ReaderOptions
from curation.sources.tar_headers import BLOCK, Header
from curation.sources.units import BadUnit, Event, Record, Skipped, UnitErrorClass
from curation.sources.window import Window

_STEP_BYTES = 1 << 18  # how much of a member that is not kept passes through memory at a time


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the units of one archive.

    Raises:
        OSError: storage failed.
    """
    return _Archive(Window(Expanded(raw, uri, limits), "stream"), limits, options).events()


class _Archive:
    """One archive being read: where it stands, and what the extended headers said about the next member."""

    def __init__(self, window: Window, limits: Limits, options: ReaderOptions) -> None:
        self._window = window
        self._limits = limits
        self._suffixes = options.member_suffixes
        self._ordinal = 0
        self._members = 0
        self._damage: str | None = None
        self._overrides: dict[str, str] = {}

    def events(self) -> Iterator[Event]:
        window = self._window
        while True:
            available = window.peek(BLOCK)
            if window.ended:
                break
            block = bytes(window.buffer[:BLOCK])
            header = headers.parse_header(block) if len(block) == BLOCK else None
            if header and header.kind in headers.EXTENDED and header.size <= MIB:
                yield from self._extend(header)
            elif header and self._members >= self._limits.max_members:
                yield self._lose("bomb", "members", to_the_end=True)
            elif header:
                self._members += 1
                yield self._member(headers.override(header, self._overrides))
                self._overrides = {}
            elif available and not any(block):
                yield self._skip_zeros(len(block))
            elif window.gap and not available and window.gap.kind == "padding":
                window.take_gap()
                yield Skipped("padding", window.close_span()[1])
            else:
                yield self._lose("parse", "no_header")
        yield window.end()

    def _extend(self, header: Header) -> Iterator[Event]:
        digest = self._take_header()
        content, complete = self._take(header.padded_size, digest, keep=True)
        if complete:
            headers.apply_extension(header.kind, content[: header.size], self._overrides)
        else:
            yield self._lose("truncated", "extended_header", digest)

    def _member(self, header: Header) -> Event:
        """Consume one member and say what it is."""
        window, limit = self._window, self._limits.max_document_bytes
        problem = headers.problem(header)
        wanted = problem is None and header.kind in headers.REGULAR and header.name.endswith(self._suffixes)
        digest = self._take_header()
        keep = wanted and header.size <= limit
        content, complete = self._take(header.padded_size if header.kind in headers.WITH_DATA else 0, digest, keep)
        if not complete:
            return self._lose("truncated", "member", digest)
        offset, raw_bytes = window.close_span()
        if problem is None and not wanted:
            return Skipped("directory" if header.kind == tarfile.DIRTYPE else "other_member", raw_bytes)
        ordinal = self._next_ordinal()
        if problem:
            return BadUnit(ordinal, header.name, offset, raw_bytes, "unsafe_member", problem, digest.hexdigest())
        if header.size > limit:
            return BadUnit(ordinal, header.name, offset, raw_bytes, "too_large", "member", digest.hexdigest())
        return Record(ordinal, header.name, offset, raw_bytes, content[: header.size], damage=self._damage)

    def _take_header(self) -> "hashlib._Hash":
        digest = hashlib.sha256(self._window.buffer[:BLOCK])
        self._window.consume(BLOCK)
        return digest

    def _take(self, count: int, digest: "hashlib._Hash", keep: bool) -> tuple[bytes, bool]:
        """Consume and hash `count` bytes; return them if they are to be kept, and whether all of them were there."""
        window, kept, left = self._window, [], count
        while left:
            step = min(window.peek(min(left, _STEP_BYTES)), left)
            if not step:
                break
            piece = bytes(window.buffer[:step])
            digest.update(piece)
            if keep:
                kept.append(piece)
            window.consume(step)
            left -= step
        return b"".join(kept), not left

    def _skip_zeros(self, count: int) -> Skipped:
        self._window.consume(count)
        return Skipped("padding", self._window.close_span()[1])

    def _lose(
        self, error: UnitErrorClass, detail: str, digest: "hashlib._Hash | None" = None, to_the_end: bool = False
    ) -> BadUnit:
        """Consume everything up to the next whole header as one lost region, which may have begun before."""
        window, digest = self._window, digest or hashlib.sha256()
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
        self._damage = "recovered"
        offset, raw_bytes = window.close_span()
        return BadUnit(self._next_ordinal(), "", offset, raw_bytes, error, detail, digest.hexdigest())

    def _next_ordinal(self) -> int:
        self._ordinal += 1
        return self._ordinal - 1
