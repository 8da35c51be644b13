"""The index: every field of every `.idx` stands where the format says."""

import struct

import numpy as np
import pytest

from curation.shards import layout
from curation.shards.layout import dtype_for, field_at, index_chunks, index_size


@pytest.mark.parametrize(
    ("largest_id", "dtype"),
    [(0, "uint16"), (50256, "uint16"), (65_499, "uint16"), (65_535, "uint16"), (65_536, "int32")],
)
def test_tokens_are_uint16_as_long_as_every_id_fits(largest_id: int, dtype: str) -> None:
    """AT-24."""
    assert dtype_for(largest_id).name == dtype


def test_an_index_is_the_bytes_of_the_format() -> None:
    expected = (
        b"MMIDIDX\x00\x00"
        + struct.pack("<QBQQ", 1, 8, 3, 4)
        + struct.pack("<3i", 2, 1, 5)
        + struct.pack("<3q", 0, 4, 6)
        + struct.pack("<4q", 0, 1, 2, 3)
    )
    assert b"".join(index_chunks(np.dtype("<u2"), np.array([2, 1, 5], np.int32))) == expected
    assert len(expected) == index_size(3, 3)


def test_an_index_does_not_depend_on_the_size_of_its_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = np.random.default_rng(0).integers(1, 1000, 1000).astype(np.int32)
    whole = b"".join(index_chunks(np.dtype("<i4"), lengths))
    monkeypatch.setattr(layout, "_CHUNK_SEQUENCES", 7)
    assert b"".join(index_chunks(np.dtype("<i4"), lengths)) == whole


def test_pointers_go_beyond_two_gigabytes() -> None:
    """AT-24."""
    lengths = np.full(3, 2**31 - 1, np.int32)
    index = b"".join(index_chunks(np.dtype("<i4"), lengths))
    assert struct.unpack_from("<3q", index, 34 + 12) == (0, 4 * (2**31 - 1), 8 * (2**31 - 1))


@pytest.mark.parametrize(
    ("offset", "name"),
    [
        (0, "magic"),
        (9, "version"),
        (17, "dtype code"),
        (18, "sequence count"),
        (26, "document count"),
        (34, "length of sequence 0"),
        (45, "length of sequence 2"),
        (46, "pointer of sequence 0"),
        (69, "pointer of sequence 2"),
        (70, "document index 0"),
        (101, "document index 3"),
        (102, "end of file"),
    ],
)
def test_a_byte_is_named_after_its_field(offset: int, name: str) -> None:
    assert field_at(offset, sequences=3) == name
