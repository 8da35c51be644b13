"""Digests: blind to order, batching and slicing, and to nothing else."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.digests import TableDigest, canonical_json, row_hashes, sum_digests, text_digests, value_digest

INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
TEXTS = (pa.string(), pa.large_string())
BYTES = (pa.binary(), pa.large_binary())
TYPES = (*INTEGERS, pa.bool_(), *TEXTS, *BYTES, pa.binary(4))
# every type and every spelling of nothing; the same digest was computed when the format was fixed
GOLDEN_COLUMNS = {
    "id": pa.array([1, -1, None, 0], pa.int64()),
    "key": pa.array([0, 2**64 - 1, None, 7], pa.uint64()),
    "small": pa.array([0, None, -5, 127], pa.int8()),
    "flag": pa.array([True, False, None, False]),
    "name": pa.array(["", None, "é", "name"], pa.string()),
    "long": pa.array(["name", "", None, "\U0001f600"], pa.large_string()),
    "bytes": pa.array([b"", None, b"\xff\x00", b"name"], pa.binary()),
    "fixed": pa.array([b"\0" * 4, None, b"abcd", b"\xff" * 4], pa.binary(4)),
}
GOLDEN = "274b0483c013df7dbea5f9182b81b117"


def values(kind: pa.DataType) -> st.SearchStrategy:
    if pa.types.is_boolean(kind):
        known = st.booleans()
    elif pa.types.is_integer(kind):
        bits = kind.bit_width
        low = 0 if str(kind).startswith("u") else -(1 << bits - 1)
        known = st.integers(low, low + (1 << bits) - 1)
    elif kind in TEXTS:
        known = st.text(max_size=3)
    else:
        known = st.binary(min_size=4, max_size=4) if pa.types.is_fixed_size_binary(kind) else st.binary(max_size=3)
    return st.none() | known


@st.composite
def batches(draw) -> pa.RecordBatch:
    kinds = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4))
    rows = draw(st.integers(1, 12))
    columns = [pa.array(draw(st.lists(values(kind), min_size=rows, max_size=rows)), kind) for kind in kinds]
    return pa.RecordBatch.from_arrays(columns, [f"c{number}" for number in range(len(kinds))])


def digest(*parts: pa.RecordBatch) -> str:
    running = TableDigest()
    for part in parts:
        running.add(part)
    return running.hex


@given(batches(), st.randoms())
def test_the_order_of_rows_does_not_matter(batch, random):
    order = list(range(batch.num_rows))
    random.shuffle(order)
    assert digest(batch.take(pa.array(order, pa.int64()))) == digest(batch)


@given(batches(), st.integers(0, 12))
def test_batches_and_parts_do_not_matter(batch, at):
    whole, pieces = digest(batch), (batch.slice(0, at), batch.slice(at))
    assert digest(*pieces) == digest(*reversed(pieces)) == whole
    assert sum_digests(map(digest, pieces)) == whole


@given(batches(), st.integers(0, 12))
def test_a_slice_hashes_as_its_rows_do_alone(batch, start):
    piece = batch.slice(start)
    alone = pa.RecordBatch.from_pylist(piece.to_pylist(), schema=batch.schema)
    assert (row_hashes(piece) == row_hashes(alone)).all()


@given(batches(), st.data())
@settings(max_examples=200)
def test_any_changed_value_changes_the_digest(batch, data):
    column = data.draw(st.integers(0, batch.num_columns - 1))
    row = data.draw(st.integers(0, batch.num_rows - 1))
    kind, old = batch.schema.field(column).type, batch.column(column).to_pylist()
    new = data.draw(values(kind).filter(lambda value: value != old[row]))
    changed = [*old[:row], new, *old[row + 1 :]]
    columns = [*batch.columns[:column], pa.array(changed, kind), *batch.columns[column + 1 :]]
    assert digest(pa.RecordBatch.from_arrays(columns, batch.schema.names)) != digest(batch)


@given(batches())
def test_a_doubled_or_missing_row_changes_the_digest(batch):
    assert digest(batch, batch.slice(0, 1)) != digest(batch)
    assert digest(batch.slice(1)) != digest(batch)


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_null_zero_and_empty_are_different_things(kind):
    zero = {pa.bool_(): False, pa.binary(4): b"\0" * 4}.get(kind, 0 if pa.types.is_integer(kind) else "")
    rows = [pa.RecordBatch.from_arrays([pa.array([value], kind)], ["c"]) for value in (None, zero)]
    assert len({digest(), *map(digest, rows)}) == 3


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_column_of_nulls_and_a_table_of_nothing_have_digests(kind):
    assert digest(pa.RecordBatch.from_arrays([pa.nulls(3, kind)], ["c"])) != "0" * 32
    assert digest(pa.RecordBatch.from_arrays([pa.nulls(0, kind)], ["c"])) == "0" * 32


def test_values_that_change_places_change_the_digest():
    pairs = [pa.RecordBatch.from_pydict({"a": [one], "b": [other]}) for one, other in (("x", ""), ("", "x"))]
    assert digest(pairs[0]) != digest(pairs[1])


def test_the_text_counts_by_its_digest_where_there_is_one():
    marked = pa.record_batch({"text_digest": pa.array([b"0" * 16], pa.binary(16)), "text": ["one"]})
    other = marked.set_column(1, "text", pa.array(["two"]))
    assert digest(marked) == digest(other)
    assert digest(marked.select(["text"])) != digest(other.select(["text"]))


@pytest.mark.parametrize("kinds", [(pa.string(), pa.large_string()), (pa.int32(), pa.int64())])
def test_a_wider_type_of_the_same_values_has_the_same_digest(kinds):
    values = [None, "a", ""] if kinds[0] in TEXTS else [None, -1, 5]
    assert len({digest(pa.record_batch({"c": pa.array(values, kind)})) for kind in kinds}) == 1


def test_the_digest_is_the_one_of_the_first_release():
    assert digest(pa.record_batch(GOLDEN_COLUMNS)) == GOLDEN


def test_a_running_digest_can_be_taken_up_again():
    batch = pa.record_batch({"c": [1, 2]})
    resumed = TableDigest(digest(batch.slice(0, 1)))
    resumed.add(batch.slice(1))
    assert resumed.hex == digest(batch)


def test_text_digests_are_xxh3_128_of_the_utf8_bytes():
    texts = pa.array(["skipped", "", "é"], pa.large_string()).slice(1)
    expected = ["99aa06d3014798d86001c324468d497f", "90326970ab18793af7940a006cf10cb3"]
    assert [value.hex() for value in text_digests(texts).to_pylist()] == expected


def test_plain_data_has_one_spelling_and_one_digest():
    assert canonical_json({"b": 1, "a": ["é", None]}) == '{"a":["é",null],"b":1}'.encode()
    assert value_digest({"b": 1, "a": 2}) == value_digest({"a": 2, "b": 1}) != value_digest({"a": 2, "b": 2})
    assert value_digest([]) == "4f53cda18c2baa0c0354bb5f9a3ecbe5"  # sha256 of "[]"
