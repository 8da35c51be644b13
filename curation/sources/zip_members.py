"""The members of a zip archive as streams, by its central directory; nothing is ever extracted to disk.

The stream must be seekable. Names that leave their folder, links, encrypted members and compressions we do not know
are refused one by one; an archive whose directory cannot be read is one lost region. Coordinates are file bytes.
"""

import bz2
import hashlib
import io
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from curation.limits import Limits, is_safe_member_name
from curation.sources.codecs import CODEC_ERRORS, EXPAND_BYTES
from curation.sources.members import Lost, Member, MemberStream
from curation.sources.units import FileEnd, Skipped, UnitErrorClass

_STEP_BYTES = 1 << 16
_LOCAL_HEADER = 30  # bytes before name and extra field, whose lengths stand in its last four
_ENCRYPTED = 0x1
_UNREADABLE = (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError, UnicodeDecodeError, EOFError)


class _Inflate:
    """Raw deflate with the interface of the other decompressors."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def needs_input(self) -> bool:
        return not self._inflate.unconsumed_tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)


_DECODERS: dict[int, Callable[[], Any]] = {zipfile.ZIP_DEFLATED: _Inflate, zipfile.ZIP_BZIP2: bz2.BZ2Decompressor}


class ZipArchive:
    """One zip archive (`members.Archive`)."""

    def __init__(self, raw: BinaryIO, limits: Limits) -> None:
        self._raw, self._limits = raw, limits
        self._size = raw.seek(0, io.SEEK_END)
        self._damaged = 0
        self.member_bytes = 0

    def items(self) -> Iterator[Member | Lost | Skipped]:
        """Yield the members in the order in which they lie in the file."""
        try:
            infos, directory = self._directory()
        except _UNREADABLE:
            self._damaged += 1
            yield Lost("", self._size, "parse", "zip_directory", self._digest(0, self._size))
            return
        position = 0
        for info, following in zip(infos, [*(info.header_offset for info in infos[1:]), directory], strict=True):
            if info.header_offset > position:
                yield Skipped("framing", info.header_offset - position)
            yield from self._member(info, following)
            position = following
        yield Skipped("framing", self._size - position)

    def end(self) -> FileEnd:
        """Return the file's account."""
        return FileEnd(self._size, self._size, "file", "zip", self._damaged)

    def _directory(self) -> tuple[list[zipfile.ZipInfo], int]:
        """Return the members by place, and where the central directory begins.

        Raises:
            ValueError: members overlap or leave the file, or there are too many of them.
        """
        archive = zipfile.ZipFile(self._raw)
        infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
        ends = [*(info.header_offset for info in infos[1:]), archive.start_dir]
        if len(infos) > self._limits.max_members or not 0 <= archive.start_dir <= self._size:
            raise ValueError("too many members, or a directory outside the file")
        for info, end in zip(infos, ends, strict=True):
            if not 0 <= info.header_offset <= end - _LOCAL_HEADER - info.compress_size:
                raise ValueError("members overlap or leave the file")
        return infos, archive.start_dir

    def _member(self, info: zipfile.ZipInfo, end: int) -> Iterator[Member | Lost | Skipped]:
        start, span = info.header_offset, end - info.header_offset
        if info.is_dir():
            yield Skipped("directory", span)
            return
        problem = _problem(info)
        begin = self._data_offset(info, end)
        if problem or begin is None:
            error: UnitErrorClass = "unsafe_member" if problem in ("name", "link") else "parse"
            yield Lost(_printable(info.filename), span, error, problem or "local_header", self._digest(start, span))
            return
        yield Skipped("framing", span - info.compress_size)
        stream = _ZipMember(self._raw, info, begin, self._limits)
        yield Member(_printable(info.filename), stream)
        self.member_bytes += info.compress_size - stream.lost
        if stream.broken:
            self._damaged += 1
            digest = self._digest(begin, info.compress_size)
            yield Lost(_printable(info.filename), stream.lost, stream.error, "member", digest)

    def _data_offset(self, info: zipfile.ZipInfo, end: int) -> int | None:
        """Return where a member's data begins, None if its local header is damaged."""
        self._raw.seek(info.header_offset)
        header = self._raw.read(_LOCAL_HEADER)
        lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        begin = info.header_offset + _LOCAL_HEADER + lengths
        return begin if header[:4] == b"PK\x03\x04" and begin + info.compress_size <= end else None

    def _digest(self, start: int, size: int) -> str:
        digest = hashlib.sha256()
        self._raw.seek(start)
        while size > 0 and (piece := self._raw.read(min(size, _STEP_BYTES))):
            digest.update(piece)
            size -= len(piece)
        return digest.hexdigest()


class _ZipMember(MemberStream):
    """One member being decompressed; `lost` compressed bytes were not used if its stream is broken."""

    def __init__(self, raw: BinaryIO, info: zipfile.ZipInfo, begin: int, limits: Limits) -> None:
        super().__init__()
        self._raw, self._info, self._begin, self._limits = raw, info, begin, limits
        self.lost = 0
        self.error: UnitErrorClass = "truncated"

    def pieces(self) -> Iterator[bytes]:
        crc = 0
        for piece in self._stored() if self._info.compress_type == zipfile.ZIP_STORED else self._decoded():
            crc = zlib.crc32(piece, crc)
            yield piece
        if not self.broken and crc != self._info.CRC:
            self.broken = True

    def _stored(self) -> Iterator[bytes]:
        position, end = self._begin, self._begin + self._info.compress_size
        while position < end:
            self._raw.seek(position)
            piece = self._raw.read(min(_STEP_BYTES, end - position))
            if not piece:
                self._break(end - position)
                return
            position += len(piece)
            yield piece

    def _decoded(self) -> Iterator[bytes]:
        decoder, expanded, fed = _DECODERS[self._info.compress_type](), 0, 0
        source = self._stored()
        while not decoder.eof:
            chunk = next(source, b"") if decoder.needs_input else b""
            fed += len(chunk)
            if decoder.needs_input and not chunk:
                self.broken = True
                return
            try:
                piece = decoder.decompress(chunk, EXPAND_BYTES)
            except CODEC_ERRORS:
                self._break(self._info.compress_size - fed)
                return
            expanded += len(piece)
            if self._limits.is_bomb(expanded, fed):
                self.error = "bomb"
                self._break(self._info.compress_size - fed)
                return
            if piece:
                yield piece

    def _break(self, lost: int) -> None:
        self.broken = True
        self.lost = lost


def _problem(info: zipfile.ZipInfo) -> str | None:
    """Return the code of why a member is refused, None if it is not."""
    if not is_safe_member_name(info.filename):
        return "name"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "link"
    if info.flag_bits & _ENCRYPTED:
        return "encrypted"
    return None if info.compress_type in (zipfile.ZIP_STORED, *_DECODERS) else "zip_method"


def _printable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()
