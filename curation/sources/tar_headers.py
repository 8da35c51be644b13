"""The headers of a tar archive, one 512-byte block at a time, without trusting any of them."""

import re
import tarfile
from dataclasses import dataclass

from curation.limits import is_safe_member_name

BLOCK = tarfile.BLOCKSIZE
REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
LINKS = (tarfile.LNKTYPE, tarfile.SYMTYPE)
LONG_NAME = tarfile.GNUTYPE_LONGNAME
PAX = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
EXTENDED = (LONG_NAME, tarfile.GNUTYPE_LONGLINK, tarfile.XGLTYPE, *PAX)

# Directories and links carry no data, whatever their size field says (as in the standard library).
WITH_DATA = (*REGULAR, tarfile.GNUTYPE_SPARSE, *EXTENDED)

_MAGIC, _MAGIC_OFFSET = b"ustar", 257
_PAX_RECORD = re.compile(rb"([1-9][0-9]{0,8}) ([^=\n]+)=")


@dataclass(frozen=True, slots=True)
class Header:
    """What a member's header block says: its name, its type byte and the bytes of data that follow."""

    name: str
    kind: bytes
    size: int

    @property
    def padded_size(self) -> int:
        """Bytes of data with the padding up to the next block."""
        return -(-self.size // BLOCK) * BLOCK


def parse_header(block: bytes) -> Header | None:
    """Return the header in a 512-byte block, None if it is damaged or is no header."""
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return None
    return Header(printable(info.name), info.type, info.size) if info.size >= 0 else None


def find_header(buffer: bytearray, start: int) -> int | None:
    """Return where the next whole POSIX or GNU header begins at or after `start`, None if there is none."""
    at = buffer.find(_MAGIC, start + _MAGIC_OFFSET)
    while at >= 0:
        begin = at - _MAGIC_OFFSET
        if len(buffer) >= begin + BLOCK and parse_header(bytes(buffer[begin : begin + BLOCK])):
            return begin
        at = buffer.find(_MAGIC, at + 1)
    return None


def apply_extension(kind: bytes, body: bytes, overrides: dict[str, str]) -> None:
    """Add to `overrides` what an extended header says about the member that follows: `path`, `size`, `sparse`."""
    if kind == LONG_NAME:
        overrides["path"] = _text(body.rstrip(b"\0"))
    elif kind in PAX:
        for key, value in _pax_records(body):
            if key in (b"path", b"size"):
                overrides[key.decode()] = _text(value)
            elif key.startswith(b"GNU.sparse."):
                overrides["sparse"] = "1"


def override(header: Header, overrides: dict[str, str]) -> Header:
    """Return a header with what its extended headers changed; a size that is no number is ignored."""
    size = overrides.get("size", "")
    known = size.isascii() and size.isdigit() and len(size) <= 18
    return Header(
        overrides.get("path", header.name),
        tarfile.GNUTYPE_SPARSE if "sparse" in overrides else header.kind,
        int(size) if known else header.size,
    )


def problem(header: Header) -> str | None:
    """Return the code of what makes a member unsafe, None if nothing does."""
    if not is_safe_member_name(header.name):
        return "name"
    if header.kind in LINKS:
        return "link"
    if header.kind == tarfile.GNUTYPE_SPARSE:
        return "sparse"
    if header.kind in EXTENDED:
        return "extended_header"
    if header.kind != tarfile.DIRTYPE and header.kind not in REGULAR:
        return "device"
    return None


def printable(name: str) -> str:
    r"""Return a member name that can be encoded: bytes that are not UTF-8 stand as `\xNN`."""
    return _text(name.encode("utf-8", "surrogateescape"))


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


def _pax_records(body: bytes) -> list[tuple[bytes, bytes]]:
    """Return the "LENGTH KEY=VALUE" records of an extended header, as far as they are well formed."""
    records, position = [], 0
    while match := _PAX_RECORD.match(body, position):
        end = position + int(match[1])
        if end <= match.end() or end > len(body):
            break
        records.append((match[2], body[match.end() : end - 1]))
        position = end
    return records
