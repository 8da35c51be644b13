"""Compressed files as a stream of segments that survives damage.

A file is decoded member by member (gzip members, zstd frames, bz2 and xz streams). Where decoding fails, what was
decoded before the damage is kept and reading goes on at the next member that decodes; the bytes between are handed
out as a gap, so that nothing disappears. Memory is bounded by a few MiB whatever the file says.

The codec is told by magic bytes; the file's name is asked only where those are damaged.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal

from curation.limits import GIB, Limits
from curation.sources.codecs import CODEC_ERRORS, CODECS, EXPAND_BYTES, PROBE_BYTES, Codec, GzipDecoder
from curation.sources.units import Coordinates, FileEnd

GapKind = Literal["padding", "truncated", "bomb"]

READ_BYTES = 1 << 16  # compressed bytes a read asks for: one small member costs one copy of what follows it
REWIND_BYTES = 1 << 22  # how far back a lost member is searched; a Common Crawl record is below 1 MiB compressed


@dataclass(frozen=True, slots=True)
class Data:
    """Decoded bytes."""

    content: bytes


@dataclass(frozen=True, slots=True)
class Boundary:
    """A compressed member begins here, or the file ends; all data so far comes from before this file offset."""

    file_offset: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes of the file that were not decoded: zero padding, or a lost region (one region may come in pieces)."""

    content: bytes
    kind: GapKind


Segment = Data | Boundary | Gap


class Expanded:
    """One file, decoded: iterate over `segments()` once, then read the counts.

    Attributes:
        compression: "plain" or the codec's name.
        file_bytes: bytes read from storage so far.
        stream_bytes: decoded bytes and gap bytes handed out so far.
        damaged_regions: regions lost so far.

    Raises (while iterating):
        OSError: storage failed. Damage in the data never raises.
    """

    def __init__(self, raw: BinaryIO, uri: str, limits: Limits) -> None:
        self._raw = raw
        self._limits = limits
        self._pending = b""
        self._at_end = False
        self.file_bytes = 0
        self.stream_bytes = 0
        self.damaged_regions = 0
        self._codec = self._tell_codec(uri)

    @property
    def compression(self) -> str:
        return self._codec.name if self._codec else "plain"

    def segments(self) -> Iterator[Segment]:
        """Yield the file's segments in order; gaps and data alternate as they lie in the file."""
        for segment in self._plain() if self._codec is None else self._members(self._codec):
            if not isinstance(segment, Boundary):
                self.stream_bytes += len(segment.content)
            yield segment

    def end(self, coordinates: Coordinates | None = None) -> FileEnd:
        """Return the account of the file after the last segment; plain files are always in file coordinates."""
        chosen: Coordinates = coordinates or ("stream" if self._codec else "file")
        size = self.file_bytes if chosen == "file" else self.stream_bytes
        return FileEnd(size, self.file_bytes, chosen, self.compression, self.damaged_regions)

    def _tell_codec(self, uri: str) -> Codec | None:
        self._more(PROBE_BYTES)
        for codec in CODECS:
            if codec.begins(self._pending):
                return codec
        # A damaged first byte must not turn a whole archive into "plain text": believe the name if a member follows.
        named = next((codec for codec in CODECS if uri.endswith(codec.suffix)), None)
        if named is None:
            return None
        self._more(REWIND_BYTES)
        return named if self._next_member(named, 0) is not None else None

    @property
    def _position(self) -> int:
        return self.file_bytes - len(self._pending)

    def _more(self, wanted: int) -> None:
        """Read until `wanted` bytes are pending or the file ends."""
        pieces, size = [self._pending], len(self._pending)
        while size < wanted and not self._at_end:
            piece = self._raw.read(READ_BYTES)
            self._at_end = not piece
            self.file_bytes += len(piece)
            size += len(piece)
            pieces.append(piece)
        self._pending = b"".join(pieces)

    def _plain(self) -> Iterator[Segment]:
        while True:
            self._more(1)
            if not self._pending:
                return
            content, self._pending = self._pending, b""
            yield Data(content)

    def _members(self, codec: Codec) -> Iterator[Segment]:
        expanded = 0
        while True:
            self._more(codec.magic_bytes)
            yield Boundary(self._position)
            if not self._pending:
                return
            if codec.begins(self._pending):
                for segment in self._member(codec, expanded):
                    expanded += len(segment.content) if isinstance(segment, Data) else 0
                    yield segment
            elif self._pending[0] == 0:
                yield self._padding()
            else:
                self.damaged_regions += 1
                yield from self._resume(codec, "truncated", self._position)

    def _padding(self) -> Gap:
        rest = self._pending.lstrip(b"\0")
        zeros = self._pending[: len(self._pending) - len(rest)]
        self._pending = rest
        return Gap(zeros, "padding")

    def _member(self, codec: Codec, expanded_before: int) -> Iterator[Segment]:
        """Decode one member; on damage hand out what was decoded and move to the next one that decodes."""
        decoder = codec.decoder()
        fed: list[bytes] = []
        start = self._position
        expanded = 0
        lost_from = start
        kind: GapKind = "truncated"
        while not decoder.eof:
            chunk = b""
            if decoder.needs_input:
                self._more(1)
                lost_from = self._position
                chunk, self._pending = self._pending, b""
                if not chunk:
                    break
                fed.append(chunk)
                _forget(fed)
            try:
                out = decoder.decompress(chunk, EXPAND_BYTES)
            except CODEC_ERRORS:
                out = decoder.salvage() if isinstance(decoder, GzipDecoder) else b""
                if out:
                    yield Data(out)
                break
            expanded += len(out)
            if out:
                yield Data(out)
            if expanded_before + expanded > self._limits.max_expanded_gib * GIB:
                yield from self._give_up()
                return
            if self._limits.is_bomb(expanded, self.file_bytes - start):
                kind = "bomb"
                break
        if decoder.eof:
            self._pending = decoder.unused_data
            return
        self.damaged_regions += 1
        # Its damage may have swallowed other members: look for the next from right behind its first byte.
        self._pending = b"".join(fed)
        if self._position == start:
            self._pending = self._pending[1:]
        yield from self._resume(codec, kind, lost_from)

    def _give_up(self) -> Iterator[Segment]:
        self.damaged_regions += 1
        yield Gap(b"", "bomb")
        while True:
            self._more(1)
            if not self._pending:
                return
            content, self._pending = self._pending, b""
            yield Gap(content, "bomb")

    def _resume(self, codec: Codec, kind: GapKind, lost_from: int) -> Iterator[Segment]:
        """Skip to the next member that decodes; bytes before `lost_from` were counted as decoded already."""
        yield Gap(b"", kind)
        while self._pending or not self._at_end:
            self._more(READ_BYTES)
            found = self._next_member(codec, 0)
            keep = codec.magic_bytes - 1 if not self._at_end else 0
            skip = found if found is not None else max(len(self._pending) - keep, 0)
            counted = max(lost_from - self._position, 0)
            if skip > counted:
                yield Gap(self._pending[counted:skip], kind)
            self._pending = self._pending[skip:]
            if found is not None:
                return

    def _next_member(self, codec: Codec, start: int) -> int | None:
        for match in codec.magic.finditer(self._pending, start):
            at = match.start()
            if at + PROBE_BYTES > len(self._pending):
                self._more(at + PROBE_BYTES)  # rebinds the buffer; `match` keeps the old one, whose offsets still hold
            if codec.decodes(self._pending[at : at + PROBE_BYTES]):
                return at
        return None


def _forget(fed: list[bytes]) -> None:
    """Drop the oldest pieces beyond what a rewind may go back to."""
    if len(fed) > REWIND_BYTES // READ_BYTES:
        del fed[0]
