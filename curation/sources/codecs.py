"""The compressions we read: how each shows itself by its first bytes, and how one member of it is decoded."""

import bz2
import lzma
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from backports import zstd

EXPAND_BYTES = 1 << 18  # decoded bytes a call returns at most
PROBE_BYTES = 1 << 14  # compressed bytes that must decode before a magic number is believed
XZ_MEMORY_BYTES = 1 << 28  # xz -9 needs 65 MiB; a header may ask for 4 GiB
_GZIP_WINDOW = 31  # zlib's way to say: a gzip header, any window
SALVAGE_BYTES = 1 << 12  # first step in which decoded bytes before an error are recovered

CODEC_ERRORS = (zlib.error, zstd.ZstdError, lzma.LZMAError, OSError, EOFError, ValueError)


class Decoder(Protocol):
    """The part of the standard library's decompressor objects that we use."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


class GzipDecoder:
    """One gzip member, with the interface of the other decompressors and a way to get at the bytes before an error."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(_GZIP_WINDOW)
        self._before = self._inflate
        self._input = b""
        self._begun = False
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data

    def decompress(self, data: bytes, max_length: int = EXPAND_BYTES) -> bytes:
        """Return up to `max_length` decoded bytes; call again with b"" while `needs_input` is false."""
        self._input = self._inflate.unconsumed_tail + data
        # A copy costs 40 KiB; most members are one call, and before that the state is a new decoder's.
        self._before = self._inflate.copy() if self._begun else zlib.decompressobj(_GZIP_WINDOW)
        self._begun = True
        out = self._inflate.decompress(self._input, max_length)
        self.needs_input = not self._inflate.unconsumed_tail and len(out) < max_length
        return out

    def salvage(self) -> bytes:
        """Return what the call that failed had decoded before it met the error."""
        decoder, data, step, out = self._before, self._input, SALVAGE_BYTES, []
        while step:
            attempt = decoder.copy()
            try:
                piece = attempt.decompress(data, step)
            except zlib.error:
                step //= 8
                continue
            if not piece:
                break
            out.append(piece)
            decoder, data = attempt, attempt.unconsumed_tail
        return b"".join(out)


@dataclass(frozen=True, slots=True)
class Codec:
    """How a compression shows itself and how one member of it is decoded."""

    name: str
    suffix: str
    magic: re.Pattern[bytes]
    magic_bytes: int
    decoder: Callable[[], Decoder]

    def begins(self, data: bytes) -> bool:
        """Whether `data` begins with this codec's magic bytes."""
        return self.magic.match(data) is not None

    def decodes(self, data: bytes) -> bool:
        """Whether `data`, which begins with a magic number, decodes as far as it goes."""
        try:
            self.decoder().decompress(data, PROBE_BYTES)
        except CODEC_ERRORS:
            return False
        return True


def _xz_decoder() -> Decoder:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY_BYTES)


# The zstd pattern takes skippable frames too; pzstd and seekable archives write them.
CODECS = (
    Codec("gz", ".gz", re.compile(rb"\x1f\x8b\x08[\x00-\x1f]", re.DOTALL), 4, GzipDecoder),
    Codec("zstd", ".zst", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), 4, zstd.ZstdDecompressor),
    Codec("bz2", ".bz2", re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)"), 10, bz2.BZ2Decompressor),
    Codec("xz", ".xz", re.compile(rb"\xfd7zXZ\x00"), 6, _xz_decoder),
)
