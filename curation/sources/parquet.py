"""Parquet files: one row is one record, its text in one column, every other column metadata.

A row has no bytes of its own in a column format. The compressed bytes of its row group are shared out evenly, in
order, so that units and what is skipped (magic, footer, indices) still add up to the file. A row's ordinal is its
row number, always: in a row group that cannot be read, each row is a bad unit.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from curation.limits import Limits
from curation.sources.jsonl import flatten_metadata, take_facts
from curation.sources.options import ReaderOptions
from curation.sources.units import BadUnit, Event, FileEnd, Record, Skipped

BATCH_ROWS = 16  # rows in memory at a time: of the largest allowed documents, 256 MiB
_STEP_BYTES = 1 << 18
_UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError)


@dataclass(frozen=True, slots=True)
class _Group:
    """A row group: where its compressed bytes lie and how many rows share them."""

    index: int
    start: int
    size: int
    rows: int

    def share(self, row: int) -> tuple[int, int]:
        """Return (offset, raw_bytes) of one row's share."""
        begin, end = row * self.size // self.rows, (row + 1) * self.size // self.rows
        return self.start + begin, end - begin


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the rows of one parquet file; the stream must be seekable.

    Raises:
        OSError: storage failed before the first byte.
    """
    size = raw.seek(0, 2)
    groups: list[_Group] = []
    try:
        file = pq.ParquetFile(raw, page_checksum_verification=True, pre_buffer=False)
        groups = _groups(file, size)
    except _UNREADABLE:
        yield _whole_file(raw, size)
        yield FileEnd(size, size, "file", "plain", 1)
        return
    damaged, ordinal, accounted = 0, 0, 0
    for group in groups:
        done = 0
        for unit in _rows(file, group, ordinal, limits, options):
            done += 1
            yield unit
        if done < group.rows:
            damaged += 1
            yield from _lost_rows(raw, group, ordinal, done)
        ordinal += group.rows
        accounted += group.size if group.rows else 0
    yield Skipped("framing", size - accounted)
    yield FileEnd(size, size, "file", "plain", damaged)


def _groups(file: pq.ParquetFile, size: int) -> list[_Group]:
    """Return the row groups in order.

    Raises:
        ValueError: the footer contradicts itself or the file.
    """
    groups, previous_end = [], 4
    for index in range(file.metadata.num_row_groups):
        meta = file.metadata.row_group(index)
        columns = [meta.column(number) for number in range(meta.num_columns)]
        starts = [column.dictionary_page_offset or column.data_page_offset for column in columns]
        start = max(min(starts, default=previous_end), 0)
        length = sum(column.total_compressed_size for column in columns)
        if start < previous_end or length < 0 or start + length > size or meta.num_rows < 0:
            raise ValueError("row groups overlap or leave the file")
        groups.append(_Group(index, start, length, meta.num_rows))
        previous_end = start + length
    return groups


def _rows(
    file: pq.ParquetFile, group: _Group, first_ordinal: int, limits: Limits, options: ReaderOptions
) -> Iterator[Record | BadUnit]:
    """Yield the rows of one group up to the first that cannot be read."""
    meta = file.metadata.row_group(group.index)
    if limits.is_bomb(meta.total_byte_size, group.size):
        return
    row = 0
    batches = file.iter_batches(BATCH_ROWS, row_groups=[group.index], use_threads=False)
    while row < group.rows:
        try:
            batch = next(batches, None)
        except _UNREADABLE:
            return
        if not batch:
            return
        for fields in _values(batch)[: group.rows - row]:
            yield _unit(fields, first_ordinal + row, *group.share(row), limits, options)
            row += 1


def _values(batch: pa.RecordBatch) -> list[dict[str, Any] | None]:
    """Return the rows of a batch; one whose strings are not UTF-8 is None and costs only itself."""
    try:
        return batch.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        return [_value(batch.slice(row, 1)) for row in range(batch.num_rows)]


def _value(row: pa.RecordBatch) -> dict[str, Any] | None:
    try:
        return row.to_pylist()[0]  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        return None


def _unit(
    fields: dict[str, Any] | None, ordinal: int, offset: int, raw_bytes: int, limits: Limits, options: ReaderOptions
) -> Record | BadUnit:
    if fields is None:
        return BadUnit(ordinal, "", offset, raw_bytes, "decode", "invalid_utf8", hashlib.sha256().hexdigest())
    text = fields.pop(options.text_field, None)
    if isinstance(text, list) and all(isinstance(paragraph, str) for paragraph in text):
        text = "\n\n".join(text)
    if not isinstance(text, str):
        return BadUnit(ordinal, "", offset, raw_bytes, "parse", "no_text", hashlib.sha256().hexdigest())
    encoded = text.encode()
    if len(encoded) > limits.max_document_bytes:
        return BadUnit(ordinal, "", offset, raw_bytes, "too_large", "row", hashlib.sha256(encoded).hexdigest())
    metadata = flatten_metadata({name: _json_value(value) for name, value in fields.items() if value is not None})
    url, title, timestamp = take_facts(metadata)
    return Record(ordinal, "", offset, raw_bytes, text, "text", url, title, timestamp, metadata, charset="utf-8")


def _json_value(value: Any) -> Any:
    """Return a cell as JSON can hold it: times in ISO form, decimals as text, bytes in hex, NaN as nothing."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _lost_rows(raw: BinaryIO, group: _Group, first_ordinal: int, done: int) -> Iterator[BadUnit]:
    digest = _digest(raw, group.start, group.size)
    for row in range(done, group.rows):
        yield BadUnit(first_ordinal + row, "", *group.share(row), "truncated", "row_group", digest)


def _whole_file(raw: BinaryIO, size: int) -> BadUnit:
    return BadUnit(0, "", 0, size, "parse", "parquet_footer", _digest(raw, 0, size))


def _digest(raw: BinaryIO, start: int, size: int) -> str:
    digest = hashlib.sha256()
    raw.seek(start)
    while size > 0 and (piece := raw.read(min(size, _STEP_BYTES))):
        digest.update(piece)
        size -= len(piece)
    return digest.hexdigest()
