"""Pairs: byte-exact, the same for any batches, refused before a wrong byte is written."""

import io
from collections.abc import Callable
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.errors import CurationError, DataBudgetError, IntegrityError
from curation.shards.tokenizer import Encoded, Tokenizer
from curation.shards.writer import DocumentTooLong, EmptyPair, PairCounts, PairWriter

WritePair = Callable[..., tuple[bytes, bytes, PairCounts]]
documents = st.lists(st.lists(st.integers(0, 50255), max_size=6), min_size=1, max_size=12)


class OneWay:
    """A stream that can only be written, and remembers how much at once."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.parts.append(data)


@given(documents)
def test_every_document_is_followed_by_its_end(write_pair: WritePair, batch: list[list[int]]) -> None:
    data, index, counts = write_pair(batch)
    expected = np.array([token for ids in batch for token in [*ids, 50256]], "<u2").tobytes()
    assert data == expected
    assert counts == PairCounts(
        sequences=len(batch),
        documents=len(batch),
        tokens=len(expected) // 2,
        bytes=len(expected),
        sha256_bin=sha256(data).hexdigest(),
        sha256_idx=sha256(index).hexdigest(),
    )


@given(documents, st.integers(0, 12))
def test_bytes_do_not_depend_on_the_batches(write_pair: WritePair, batch: list[list[int]], cut: int) -> None:
    assert write_pair(batch[:cut], batch[cut:]) == write_pair(batch) == write_pair(*([ids] for ids in batch))


def test_a_large_vocabulary_is_written_as_int32(write_pair: WritePair) -> None:
    """AT-24."""
    data, index, _ = write_pair([[70_000, 3]], largest_id=70_001, eod=70_001)
    assert np.frombuffer(data, "<i4").tolist() == [70_000, 3, 70_001]
    assert index[17] == 4


def test_a_slice_of_a_batch_is_written_as_it_is(write_pair: WritePair, tiny: Tokenizer) -> None:
    encoded = tiny.encode_batch(["In 1911", "", "people"])
    stream = io.BytesIO()
    writer = PairWriter(stream, io.BytesIO(), largest_id=tiny.largest_id, eod=tiny.eod)
    writer.write(encoded)
    written = np.frombuffer(stream.getvalue(), "<u2")
    assert written[-1] == tiny.eod
    np.testing.assert_array_equal(written[written != tiny.eod], encoded.ids)


def test_streams_are_only_written_forwards_and_the_index_last(encoded: Callable[..., Encoded]) -> None:
    data, index = OneWay(), OneWay()
    writer = PairWriter(data, index, largest_id=50256, eod=50256)
    writer.write(encoded([[1, 2], [3]]))
    writer.write(encoded([]))
    writer.write(encoded([[4]]))
    assert index.parts == []
    writer.finish()
    assert b"".join(index.parts)[:7] == b"MMIDIDX"
    assert b"".join(data.parts) == np.array([1, 2, 50256, 3, 50256, 4, 50256], "<u2").tobytes()


@pytest.mark.parametrize("too_long", [2**31 - 1, 2**33])
def test_a_document_longer_than_int32_is_refused_with_its_number(
    encoded: Callable[..., Encoded], too_long: int
) -> None:
    data = OneWay()
    writer = PairWriter(data, OneWay(), largest_id=50256, eod=50256)
    writer.write(encoded([[1], [2]]))
    ids = np.broadcast_to(np.uint32(7), too_long)  # all elements are one in memory
    with pytest.raises(DocumentTooLong, match=f"document 2 of the pair has {too_long} tokens") as error:
        writer.write(Encoded(ids, np.array([0, too_long])))
    assert isinstance(error.value, DataBudgetError)
    assert len(data.parts) == 1


@pytest.mark.parametrize(
    ("ids", "message"), [([1, 50_257], "id of 50257 is larger"), ([1, 50_256, 2], "id 50256, lies inside a document")]
)
def test_ids_that_text_cannot_have_are_refused(encoded: Callable[..., Encoded], ids: list[int], message: str) -> None:
    data = OneWay()
    with pytest.raises(IntegrityError, match=message):
        PairWriter(data, OneWay(), largest_id=50256, eod=50256).write(encoded([ids]))
    assert data.parts == []


def test_a_pair_without_documents_is_refused() -> None:
    with pytest.raises(EmptyPair) as error:
        PairWriter(OneWay(), OneWay(), largest_id=50256, eod=50256).finish()
    assert isinstance(error.value, CurationError)
