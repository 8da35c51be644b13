"""Write gzip, zstd, tar, zip and 7z so that the bytes are the same everywhere.

A compressor's output depends on its version and build (zlib and zlib-ng differ), so nothing is compressed: gzip members
hold stored deflate blocks, zstd frames raw blocks, zip and 7z members copies. Every reader of the formats takes them.
"""

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator

STORED_BLOCK_BYTES = 65_535  # RFC 1951 3.2.4: the length field has 16 bits
RAW_BLOCK_BYTES = 1 << 17  # RFC 8878 3.1.1.2.4: a block holds 128 KiB at most
FRAME_BYTES = 1 << 22  # below the 8 MiB window that every zstd decoder grants
_GZIP_HEADER = bytes([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])  # RFC 1952: deflate, no name, no time, unknown system
_ZSTD_MAGIC = bytes([0x28, 0xB5, 0x2F, 0xFD])
_ZSTD_DESCRIPTOR = 0b1010_0000  # content size in 4 bytes, single segment, no checksum, no dictionary


def gzip_member(data: bytes) -> bytes:
    """Return `data` as one gzip member of stored blocks."""
    blocks = b"".join(_stored_blocks(data))
    trailer = zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")
    return _GZIP_HEADER + blocks + trailer


def _stored_blocks(data: bytes) -> Iterator[bytes]:
    for start in range(0, max(len(data), 1), STORED_BLOCK_BYTES):
        block = data[start : start + STORED_BLOCK_BYTES]
        is_last = start + STORED_BLOCK_BYTES >= len(data)
        size = len(block).to_bytes(2, "little")
        complement = (len(block) ^ 0xFFFF).to_bytes(2, "little")
        yield bytes([is_last]) + size + complement + block


def zstd_frames(lines: Iterable[bytes]) -> bytes:
    """Return the lines as zstd frames of raw blocks: as many frames as it takes, each ending after a whole line."""
    frames: list[bytes] = []
    pending: list[bytes] = []
    size = 0
    for line in lines:
        if pending and size + len(line) > FRAME_BYTES:
            frames.append(_zstd_frame(b"".join(pending)))
            pending, size = [], 0
        pending.append(line)
        size += len(line)
    frames.append(_zstd_frame(b"".join(pending)))
    return b"".join(frames)


def _zstd_frame(data: bytes) -> bytes:
    parts = [_ZSTD_MAGIC, bytes([_ZSTD_DESCRIPTOR]), len(data).to_bytes(4, "little")]
    for start in range(0, max(len(data), 1), RAW_BLOCK_BYTES):
        block = data[start : start + RAW_BLOCK_BYTES]
        is_last = start + RAW_BLOCK_BYTES >= len(data)
        parts += [(len(block) << 3 | is_last).to_bytes(3, "little"), block]  # block type 0: raw
    return b"".join(parts)


def tar_archive(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a tar of (name, content), in this order, with no time, owner or mode of the machine."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in members:
            header = tarfile.TarInfo(name)
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))
    return stream.getvalue()


def zip_archive(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip of (name, content), in this order, with the format's first date and no system's attributes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members:
            header = zipfile.ZipInfo(name)
            header.create_system = 0
            archive.writestr(header, content)
    return stream.getvalue()


def seven_zip(name: str, content: bytes) -> bytes:
    """Return a 7z archive of one file, copied; the format is that of 7-Zip's 7zFormat.txt."""
    size = _number(len(content))
    packed = b"\x06" + _number(0) + b"\x01\x09" + size + b"\x00"  # PackInfo: one stream, and its size
    crc = b"\x0a\x01" + zlib.crc32(content).to_bytes(4, "little")
    folder = b"\x07\x0b\x01\x00\x01\x01\x00" + b"\x0c" + size + crc + b"\x00"  # one folder of one coder: copy
    label = b"\x00" + name.encode("utf-16-le") + b"\x00\x00"
    files = b"\x05\x01\x11" + _number(len(label)) + label + b"\x00"
    header = b"\x01\x04" + packed + folder + b"\x08\x00\x00" + files + b"\x00"
    start = b"".join(number.to_bytes(8, "little") for number in (len(content), len(header)))
    start += zlib.crc32(header).to_bytes(4, "little")
    signature = b"7z\xbc\xaf\x27\x1c\x00\x04" + zlib.crc32(start).to_bytes(4, "little")
    return signature + start + content + header


def _number(value: int) -> bytes:
    """Return a 7z number in the form that fits all of 64 bits."""
    return bytes([value]) if value < 0x80 else b"\xff" + value.to_bytes(8, "little")
