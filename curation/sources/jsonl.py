"""JSON lines: one record per LF-ended line, text under one key, everything else metadata.

Accepted, because published archives have it: a bare JSON string as the whole record, `text` as a list of paragraphs
(joined by a blank line), `meta` or `metadata` as an object or as a string that holds one, escaped lone surrogates
(repair replaces them). A line that is none of this becomes a bad unit; the next line is read as if nothing happened.
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, BinaryIO

import orjson

from curation.limits import Limits
from curation.sources.compression import Expanded
from curation.sources.lines import Line, LostLine, read_lines
from curation.sources.options import ReaderOptions
from curation.sources.units import BadUnit, Event, Record, UnitError

_META_KEYS = ("meta", "metadata")
_TIMESTAMP_KEYS = ("timestamp", "publish_date", "warc_date", "date")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the records of one JSON lines file in any compression; blank lines are skipped and counted.

    Raises:
        OSError: storage failed.
    """
    expanded = Expanded(raw, uri, limits)
    ordinal = 0
    recovered = False
    for line in read_lines(expanded, limits.max_document_bytes):
        if isinstance(line, Line):
            if not line.content.strip():
                yield Skipped("blank_line", line.raw_bytes)
                continue
            unit = _unit(line, ordinal, options.text_field, "recovered" if recovered else None)
            ordinal += 1
            yield unit
        elif isinstance(line, LostLine):
            recovered = recovered or line.error != "too_large"
            yield BadUnit(ordinal, "", line.offset, line.raw_bytes, line.error, line.detail, line.sha256)
            ordinal += 1
        else:
            yield line
    yield expanded.end()
