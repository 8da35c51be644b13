"""HTTP responses as crawlers store them: headers that lie, bodies that were decoded or were not.

The body is believed before the headers: a coding is undone only where the bytes look like it. What a broken coding
still gave is kept and flagged.
"""

import re
import zlib
from dataclasses import dataclass

import brotli  # type: ignore[import-untyped]
from backports import zstd

from curation.limits import Limits
from curation.sources.units import UnitError
from curation.sources.warc_records import parse_fields

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})")
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:+-]{1,40})", re.IGNORECASE)
_MIME = re.compile(r"[a-z]+/[a-z0-9.+_-]{1,80}")
_STEP_BYTES = 1 << 16
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class Response:
    """A stored response: `status` is None where there is no status line, and then `body` is the whole block."""

    status: int | None
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Body:
    """A decoded body; `whole` is false where a coding broke and only what it gave before is here."""

    content: bytes
    whole: bool


def parse_response(block: bytes) -> Response:
    """Split a record's block into status, headers and stored body; never fails."""
    match = _STATUS.match(block)
    if not block.startswith(b"HTTP/"):
        return Response(None, {}, block)
    end = _HEAD_END.search(block)
    head, body = (block[: end.end()], block[end.end() :]) if end else (block, b"")
    return Response(int(match[1]) if match else 0, parse_fields(head), body)


def decode_body(response: Response, limits: Limits) -> Body:
    """Undo transfer and content codings as far as the bytes show them.

    Raises:
        UnitError: too_large or bomb, if the decoded body is larger than a document may be.
    """
    body = Body(response.body, True)
    if "chunked" in response.headers.get("transfer-encoding", "").lower():
        body = _join_chunks(body.content)
    codings = [name.strip().lower() for name in response.headers.get("content-encoding", "").split(",")]
    for coding in reversed(codings):
        content, whole = _undo(coding, body.content, limits)
        body = Body(content, whole and body.whole)
    return body


def mime_type(content_type: str) -> str:
    """Return the media type of a Content-Type value in lower case, "" if it is none."""
    match = _MIME.match(content_type.strip().lower())
    return match[0] if match else ""


def charset_of(content_type: str) -> str | None:
    """Return the charset parameter of a Content-Type value."""
    match = _CHARSET.search(content_type)
    return match[1] if match else None


def _join_chunks(body: bytes) -> Body:
    """Join the chunks of a chunked body; one that does not begin with a chunk was joined by the crawler already."""
    pieces: list[bytes] = []
    position = 0
    while match := _CHUNK_SIZE.match(body, position):
        begin, size = match.end(), int(match[1], 16)
        if size == 0:
            return Body(b"".join(pieces), True)
        pieces.append(body[begin : begin + size])
        position = begin + size
        if position > len(body):
            return Body(b"".join(pieces), False)
        position += 2 if body[position : position + 2] == b"\r\n" else body[position : position + 1] == b"\n"
    if not pieces:
        return Body(body, True)
    return Body(b"".join(pieces), False)


def _undo(coding: str, body: bytes, limits: Limits) -> tuple[bytes, bool]:
    if body.startswith(_GZIP):  # also where no header says so
        return _expand(_Inflate(31), body, limits)
    if body.startswith(_ZSTD):
        return _expand(_Zstd(), body, limits)
    if coding == "deflate":
        zlib_header = len(body) > 1 and body[0] & 15 == 8 and (body[0] * 256 + body[1]) % 31 == 0
        content, whole = _expand(_Inflate(15 if zlib_header else -15), body, limits)
        return (content, whole) if content else (body, True)
    if coding == "br":
        content, whole = _expand(_Brotli(), body, limits)
        return (content, whole) if whole else (body, True)
    return body, True


class _Inflate:
    def __init__(self, window_bits: int) -> None:
        self._decoder = zlib.decompressobj(window_bits)

    def __call__(self, data: bytes) -> bytes:
        return self._decoder.decompress(self._decoder.unconsumed_tail + data, _STEP_BYTES)

    @property
    def done(self) -> bool:
        return self._decoder.eof


class _Zstd:
    def __init__(self) -> None:
        self._decoder = zstd.ZstdDecompressor()

    def __call__(self, data: bytes) -> bytes:
        return self._decoder.decompress(data, _STEP_BYTES)

    @property
    def done(self) -> bool:
        return self._decoder.eof


class _Brotli:
    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()

    def __call__(self, data: bytes) -> bytes:
        return self._decoder.process(data, output_buffer_limit=_STEP_BYTES)  # type: ignore[no-any-return]

    @property
    def done(self) -> bool:
        return self._decoder.is_finished()  # type: ignore[no-any-return]


def _expand(decoder: "_Inflate | _Zstd | _Brotli", body: bytes, limits: Limits) -> tuple[bytes, bool]:
    """Return what a body decodes to, and whether it did so to its end."""
    pieces: list[bytes] = []
    size, data = 0, body
    try:
        while not decoder.done:
            piece = decoder(data)
            data = b""
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
            if size > limits.max_document_bytes:
                bomb = size > limits.max_expanded_ratio * len(body)
                raise UnitError("bomb" if bomb else "too_large", "content_encoding")
    except (zlib.error, zstd.ZstdError, brotli.error):
        return b"".join(pieces), False
    return b"".join(pieces), decoder.done
