"""CSV files with a header line, as NIH ExPorter has them: one row is one record, in whatever bytes.

Rows end at a line end outside quotes, as in the standard library's reader; the bytes are split first and decoded row by
row, so that a broken byte costs no more than its row. A row whose quotes never close is cut off at the largest allowed
document and reading goes on at the next line.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO

from curation.limits import Limits
from curation.sources.compression import Expanded
from curation.sources.lines import Line, LostLine, read_lines
from curation.sources.units import BadUnit, FileEnd, Skipped, UnitError
from curation.text.charset import decode_text


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its fields by the header's names, and where it stands."""

    ordinal: int
    offset: int
    raw_bytes: int
    fields: dict[str, str]


class _Open:
    """The lines of a row whose quotes are not closed yet."""

    def __init__(self, offset: int) -> None:
        self.offset, self.raw_bytes, self.quotes = offset, 0, 0
        self._held = bytearray()  # not the lines: a row of empty ones would cost fifty times its bytes

    @property
    def content(self) -> bytes:
        """The row without the LF at its end."""
        return bytes(self._held[:-1])

    def add(self, line: Line) -> None:
        self._held += line.content
        self._held += b"\n"
        self.raw_bytes += line.raw_bytes
        self.quotes += line.content.count(b'"')

    def bad(self, ordinal: int, problem: UnitError) -> BadUnit:
        digest = sha256(self.content).hexdigest()
        return BadUnit(ordinal, "", self.offset, self.raw_bytes, problem.error, problem.detail, digest)


def read_rows(raw: BinaryIO, uri: str, limits: Limits) -> Iterator[Row | BadUnit | Skipped | FileEnd]:
    """Yield the rows of one file and its account; the header line is skipped and counted."""
    expanded = Expanded(raw, uri, limits)
    ordinal = 0
    names: list[str] = []
    for item in _rows(expanded, limits.max_document_bytes):
        if isinstance(item, Skipped):
            yield item
            continue
        if isinstance(item, LostLine):
            yield BadUnit(ordinal, "", item.offset, item.raw_bytes, item.error, item.detail, item.sha256)
            ordinal += 1
            continue
        try:
            fields = _fields(item)
        except UnitError as problem:
            yield item.bad(ordinal, problem)
            ordinal += 1
            continue
        if not names:
            names = [name.strip().upper() for name in fields]
            yield Skipped("header", item.raw_bytes)
            continue
        if len(fields) != len(names):
            yield item.bad(ordinal, UnitError("parse", "csv_fields"))
        else:
            yield Row(ordinal, item.offset, item.raw_bytes, dict(zip(names, fields, strict=True)))
        ordinal += 1
    yield expanded.end()


def _rows(expanded: Expanded, max_bytes: int) -> Iterator[_Open | LostLine | Skipped]:
    """Yield whole rows, lost lines and blank lines; quotes that never close cost what they swallowed."""
    opened: _Open | None = None
    for line in read_lines(expanded, max_bytes):
        if isinstance(line, LostLine | Skipped):
            if opened and isinstance(line, LostLine):
                yield _unclosed(opened)
                opened = None
            yield line
            continue
        if opened is None and not line.content.strip():
            yield Skipped("blank_line", line.raw_bytes)
            continue
        opened = opened or _Open(line.offset)
        opened.add(line)
        if opened.quotes % 2 == 0:
            yield opened
            opened = None
        elif opened.raw_bytes > max_bytes:
            yield _unclosed(opened)
            opened = None
    if opened:
        yield _unclosed(opened)


def _unclosed(row: _Open) -> LostLine:
    digest = sha256(row.content).hexdigest()
    return LostLine(row.offset, row.raw_bytes, "parse", "csv_quotes", digest)


def _fields(row: _Open) -> list[str]:
    decoded = decode_text(row.content)
    text = decoded.text.removeprefix("\ufeff").replace("\0", "")
    reader = csv.reader(io.StringIO(text, newline=""), strict=False)
    try:
        found = list(reader)
    except csv.Error:
        raise UnitError("parse", "csv") from None
    if len(found) != 1:
        raise UnitError("parse", "csv")
    return found[0]
