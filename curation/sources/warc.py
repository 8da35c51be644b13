"""WARC and WET files: which records hold a page or a text, and what that page or text is.

Records are responses with a 2xx status, conversions (WET) and resources, of HTML or plain text; everything else is
skipped and counted by kind. Types are told from HTTP headers, the crawler's own identification and the first bytes,
since each of them lies at times. Pages stay bytes: their charset is told later.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

from curation.limits import Limits
from curation.sources.compression import Expanded
from curation.sources.http_payload import Response, charset_of, decode_body, mime_type, parse_response
from curation.sources.options import ReaderOptions
from curation.sources.units import BadUnit, Event, FileEnd, Form, Record, Skipped, UnitError, UnitErrorClass
from curation.sources.warc_records import LostRegion, WarcRecord, read_records

_SKIPPED_TYPES = ("warcinfo", "request", "metadata", "revisit", "continuation")
_FORMS: dict[str, Form] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/vnd.wap.xhtml+xml": "html",
    "text/plain": "text",
    "text/markdown": "text",
}
_COUNTED_TYPES = ("application", "audio", "font", "image", "message", "model", "multipart", "text", "video")
# A crawler's notes about itself are no documents: wget's logs are metadata://, browsertrix's page infos urn:.
_CRAWLER_SCHEMES = ("metadata:", "urn:", "dns:", "whois:", "filedesc:")
_BINARY_MAGIC = (
    b"%PDF-",
    b"\x89PNG",
    b"GIF8",
    b"\xff\xd8\xff",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"RIFF",
    b"\x7fELF",
    b"OggS",
)
_SNIFF_BYTES = 1024
_HTML_MARKS = (b"<!doctype html", b"<html", b"<head", b"<body")
_WIDE_CHARSETS = ("utf-16", "utf16", "ucs-2", "unicode", "utf-32")
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the units of one WARC or WET file: plain, compressed record by record or as a whole, damaged or not.

    Raises:
        OSError: storage failed.
    """
    yield from events_of(read_records(Expanded(raw, uri, limits), limits.max_document_bytes), limits)


def events_of(records: Iterator[WarcRecord | LostRegion | Skipped | FileEnd], limits: Limits) -> Iterator[Event]:
    """Yield what the records of a file are: documents, bad units, or skipped and counted by kind."""
    ordinal = 0
    for item in records:
        if isinstance(item, Skipped | FileEnd):
            yield item
            continue
        event = _lost(item, ordinal) if isinstance(item, LostRegion) else _event(item, ordinal, limits)
        ordinal += not isinstance(event, Skipped)
        yield event


def _lost(region: LostRegion, ordinal: int) -> BadUnit:
    return BadUnit(ordinal, "", region.offset, region.raw_bytes, region.error, region.detail, region.sha256)


def _event(record: WarcRecord, ordinal: int, limits: Limits) -> Record | BadUnit | Skipped:
    kind = record.headers.get("warc-type", "").lower()
    if kind not in ("response", "conversion", "resource"):
        return Skipped(f"warc_{kind}" if kind in _SKIPPED_TYPES else "warc_other", record.raw_bytes)
    if _target(record).startswith(_CRAWLER_SCHEMES):
        return Skipped("crawler_note", record.raw_bytes)
    try:
        return _document(record, ordinal, limits)
    except UnitError as problem:
        return _bad(record, ordinal, problem.error, problem.detail)


def _bad(record: WarcRecord, ordinal: int, error: UnitErrorClass, detail: str) -> BadUnit:
    return BadUnit(ordinal, "", record.offset, record.raw_bytes, error, detail, record.sha256())


def _document(record: WarcRecord, ordinal: int, limits: Limits) -> Record | BadUnit | Skipped:
    declared = record.headers.get("content-type", "")
    response = _response(record, declared)
    if response.status is not None and not 200 <= response.status <= 299:
        return Skipped(f"http_{response.status // 100}xx", record.raw_bytes)
    content_type = response.headers.get("content-type", "") if response.status is not None else declared
    if record.too_large:
        skip = _counted_type(mime_type(content_type)) if _has_other_type(record, content_type) else None
        return Skipped(skip, record.raw_bytes) if skip else _bad(record, ordinal, "too_large", "record")
    if _has_other_type(record, content_type):
        return Skipped(_counted_type(mime_type(content_type)), record.raw_bytes)
    body = decode_body(response, limits)
    charset = charset_of(content_type)
    form = _form(record, mime_type(content_type), charset, body.content)
    if form is None:
        return Skipped("type:mislabelled" if mime_type(content_type) else "type:unknown", record.raw_bytes)
    truncated = record.headers.get("warc-truncated")
    damage = record.damage or ("truncated" if truncated else None) or (None if body.whole else "payload")
    return Record(
        ordinal,
        "",
        record.offset,
        record.raw_bytes,
        body.content,
        form,
        url=_target(record) or None,
        timestamp=record.headers.get("warc-date"),
        metadata=_metadata(record, response, content_type),
        damage=damage,
        charset=charset or ("utf-8" if record.headers.get("warc-type", "").lower() == "conversion" else None),
    )


def _response(record: WarcRecord, declared: str) -> Response:
    """Return the HTTP response in a record; other records are their own body."""
    is_http = mime_type(declared) == "application/http" or record.block.startswith(b"HTTP/")
    if record.headers.get("warc-type", "").lower() == "response" and is_http:
        return parse_response(record.block)
    return Response(None, {}, record.block)


def _target(record: WarcRecord) -> str:
    """Return the target URI; wget puts it into angle brackets."""
    uri = record.headers.get("warc-target-uri", "")
    return uri[1:-1] if uri.startswith("<") and uri.endswith(">") else uri


def _has_other_type(record: WarcRecord, content_type: str) -> bool:
    """Whether headers name a type that holds no text, and the crawler did not find HTML in it."""
    mime = mime_type(content_type)
    identified = mime_type(record.headers.get("warc-identified-payload-type", ""))
    return bool(mime) and mime not in ("application/http", *_FORMS) and _FORMS.get(identified) != "html"


def _counted_type(mime: str) -> str:
    return f"type:{mime}" if mime.split("/")[0] in _COUNTED_TYPES else "type:other"


def _form(record: WarcRecord, mime: str, charset: str | None, body: bytes) -> Form | None:
    """Return what a body is written in, None if it is no text whatever the headers say."""
    head = body[:_SNIFF_BYTES]
    if body.startswith(_BINARY_MAGIC) or (b"\0" in head and not _may_hold_nul(head, charset)):
        return None
    identified = mime_type(record.headers.get("warc-identified-payload-type", ""))
    form = _FORMS.get(mime) or _FORMS.get(identified)
    if form is None and any(mark in head.lower() for mark in _HTML_MARKS):
        return "html"
    return form


def _may_hold_nul(head: bytes, charset: str | None) -> bool:
    """Whether NUL bytes may be text: in a wide charset, or few as in pages that hold a stray one."""
    wide = head.startswith(_BYTE_ORDER_MARKS) or (charset or "").lower().startswith(_WIDE_CHARSETS)
    return wide or head.count(0) * 100 < len(head)


def _metadata(record: WarcRecord, response: Response, content_type: str) -> dict[str, Any]:
    """Return the facts about a record that later stages or readers of the corpus may ask for."""
    named = {
        "warc_record_id": record.headers.get("warc-record-id"),
        "warc_truncated": record.headers.get("warc-truncated"),
        "warc_identified_language": record.headers.get("warc-identified-content-language"),
        "http_status": response.status,
        "content_type": content_type,
        "content_language": response.headers.get("content-language"),
    }
    return {name: value for name, value in named.items() if value}
