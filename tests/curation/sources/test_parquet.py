"""Parquet: rows are units, columns metadata, and a damaged row group costs its rows only."""

import datetime
import decimal
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curation.limits import Limits


def parquet(table: pa.Table, rows: int = 10) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, row_group_size=rows, write_page_checksum=True, use_dictionary=False)
    return stream.getvalue()


def texts(count: int) -> pa.Table:
    return pa.table({"text": [f"text number {number} " * 20 for number in range(count)]})


def test_columns_beside_the_text_become_facts_and_metadata(read_bytes, records) -> None:
    table = pa.table({"text": ["a"], "url": ["u"], "stars": [3], "nothing": pa.array([None], pa.string())})
    [record] = records(read_bytes("parquet", parquet(table)))
    assert (record.content, record.url, record.metadata) == ("a", "u", {"stars": 3})


def test_cells_become_json_values(read_bytes, records) -> None:
    table = pa.table(
        {
            "text": ["a"],
            "day": [datetime.date(2021, 1, 2)],
            "price": [decimal.Decimal("1.50")],
            "raw": [b"\xff"],
            "score": [float("nan")],
            "tags": [["x"]],
        }
    )
    [record] = records(read_bytes("parquet", parquet(table)))
    assert record.metadata == {"day": "2021-01-02", "price": "1.50", "raw": "ff", "score": None, "tags": ["x"]}


def test_a_rows_ordinal_is_its_number(read_bytes, records) -> None:
    found = records(read_bytes("parquet", parquet(texts(35))))
    assert [record.content for record in found] == texts(35)["text"].to_pylist()
    assert [record.ordinal for record in found] == list(range(35))


def test_rows_without_text_are_bad_units(read_bytes, bad) -> None:
    table = pa.table({"text": ["a", None]})
    assert bad(read_bytes("parquet", parquet(table))) == [("parse", "no_text")]
    assert bad(read_bytes("parquet", parquet(pa.table({"body": ["a"]})))) == [("parse", "no_text")]


def test_a_row_that_is_not_utf8_costs_itself_only(read_bytes, records, bad) -> None:
    raw = pa.array([b"a", b"\xff", b"c"], pa.binary())
    column = pa.StringArray.from_buffers(3, raw.buffers()[1], raw.buffers()[2])
    events = read_bytes("parquet", parquet(pa.table({"text": column})))
    assert [record.content for record in records(events)] == ["a", "c"]
    assert bad(events) == [("decode", "invalid_utf8")]


def test_a_damaged_row_group_costs_its_rows_only(read_bytes, records, bad) -> None:
    data = bytearray(parquet(texts(30)))
    column = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(1).column(0)
    at = column.data_page_offset + column.total_compressed_size - 10
    data[at] ^= 0xFF
    events = read_bytes("parquet", bytes(data))
    assert [record.ordinal for record in records(events)] == [*range(10), *range(20, 30)]
    assert bad(events) == [("truncated", "row_group")] * 10


@pytest.mark.parametrize("cut", [0, 3, 100, -1])
def test_a_file_without_its_footer_is_one_bad_unit(read_bytes, bad, cut) -> None:
    assert bad(read_bytes("parquet", parquet(texts(30))[:cut])) == [("parse", "parquet_footer")]


def test_a_text_beyond_the_limit_is_too_large(read_bytes, bad) -> None:
    table = pa.table({"text": ["x" * (1 << 20) + "x", "b"]})
    assert bad(read_bytes("parquet", parquet(table), limits=Limits(max_document_mib=1))) == [("too_large", "row")]
