"""ARC files, WARC's predecessor (Internet Archive, Common Crawl before 2013): a line of facts, then the response.

Each record becomes the WARC record that holds the same, so that everything about types, charsets and payloads is
decided in one place (`warc`). A record whose line or length is wrong costs the bytes up to the next line that can
begin a record.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import BinaryIO

from curation.limits import Limits
from curation.sources.compression import Expanded
from curation.sources.options import ReaderOptions
from curation.sources.units import Event, FileEnd, Skipped, UnitErrorClass
from curation.sources.warc import events_of
from curation.sources.warc_records import LostRegion, WarcRecord
from curation.sources.window import Window

# URL, address, date of 14 digits, type, (in version 2: status, checksum, location, offset, file,) length
_LINE = re.compile(
    rb"(?m)^([a-z][a-z0-9+.-]{1,20}:[^\r\n]{1,4000}?) ([0-9a-f.:]{2,45}) (\d{14}) (\S+)(?: \S+){0,5} (\d{1,12})\r?\n"
)
_MAX_LINE_BYTES = 1 << 13
_STEP_BYTES = 1 << 18
_FILLING = re.compile(rb"[\r\n\0]+")


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the units of one ARC file: plain, compressed record by record or as a whole.

    Raises:
        OSError: storage failed.
    """
    yield from events_of(_records(Window(Expanded(raw, uri, limits)), limits.max_document_bytes), limits)


def _records(window: Window, max_block_bytes: int) -> Iterator[WarcRecord | LostRegion | Skipped | FileEnd]:
    damage: str | None = None
    item: WarcRecord | LostRegion | Skipped
    while True:
        available = window.peek(_MAX_LINE_BYTES)
        if window.ended:
            break
        line = _LINE.match(window.buffer)
        filling = _FILLING.match(window.buffer)
        if line:
            item = _record(window, line.group(0), max_block_bytes, damage)
        elif filling:
            window.consume(filling.end())
            item = Skipped("padding", window.close_span()[1])
        elif not available and window.gap and window.gap.kind == "padding":
            window.take_gap()
            item = Skipped("padding", window.close_span()[1])
        else:
            item = _lose(window, "parse", "no_record")
        damage = "recovered" if isinstance(item, LostRegion) else damage
        yield item
    rest = window.close_span()[1]
    if rest:
        yield Skipped("framing", rest)
    yield window.end()


def _record(window: Window, line: bytes, max_block_bytes: int, damage: str | None) -> WarcRecord | LostRegion:
    match = _LINE.match(line)
    assert match is not None
    url, _, date, mime, length = (part.decode("utf-8", "replace") for part in match.groups())
    end = len(line) + int(length)
    if int(length) > max_block_bytes:
        return _lose(window, "too_large", "record")
    if window.peek(end) < end:
        return _lose(window, "truncated", "record")
    block = bytes(window.buffer[len(line) : end])
    window.consume(end)
    while window.peek(1) and (filling := _FILLING.match(window.buffer)):
        window.consume(filling.end())
    is_http = block.startswith(b"HTTP/")
    headers = {
        "warc-type": "response",
        "warc-target-uri": url,
        "warc-date": f"{date[:4]}-{date[4:6]}-{date[6:8]}T{date[8:10]}:{date[10:12]}:{date[12:]}Z",
        "content-type": "application/http" if is_http else mime,
    }
    return WarcRecord(headers, block, *window.close_span(), line, damage)


def _lose(window: Window, error: UnitErrorClass, detail: str) -> LostRegion:
    """Consume everything up to the next line that can begin a record."""
    digest, start = hashlib.sha256(), 1 if window.buffer else 0
    while not window.ended:
        window.peek(_STEP_BYTES)
        found = _LINE.search(window.buffer, start)
        more = window.gap is None and len(window.buffer) >= _STEP_BYTES
        count = found.start() if found else max(len(window.buffer) - (_MAX_LINE_BYTES if more else 0), 0)
        digest.update(window.buffer[:count])
        window.consume(count)
        start = 0
        if found:
            break
        if window.gap and not window.buffer:
            gap = window.take_gap()
            digest.update(gap.content)
            error, detail = (error, detail) if gap.kind == "padding" else (gap.kind, "region")
    return LostRegion(*window.close_span(), error, detail, digest.hexdigest())
