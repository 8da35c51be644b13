"""Rows for tests: what a test says of a row, and something that fits for every other column."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from schemas.tables import TABLES


def rows(table: str, *given: dict[str, Any]) -> pa.RecordBatch:
    """Return a batch of a table from rows that name some of its columns."""
    schema = TABLES[table]
    unsaid = {field.name: _filler(field) for field in schema}
    return pa.RecordBatch.from_pylist([unsaid | row for row in given], schema=schema)


def spread(table: str, given: Iterable[dict[str, Any]], batch_rows: int) -> list[pa.RecordBatch]:
    """Return the rows in batches."""
    whole = rows(table, *given)
    return [whole.slice(start, batch_rows) for start in range(0, whole.num_rows, batch_rows)]


def _filler(field: pa.Field) -> Any:
    if field.nullable:
        return None
    if pa.types.is_boolean(field.type):
        return False
    if pa.types.is_integer(field.type):
        return 0
    return bytes(16) if pa.types.is_fixed_size_binary(field.type) else ""
