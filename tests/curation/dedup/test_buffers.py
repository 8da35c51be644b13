"""Arrow's buffers come out as they are, whatever slice of whatever array they are."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.dedup.buffers import pack_bands, pack_hashes, split, unpack_bands, unpack_hashes

hash_lists = st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=4), max_size=6)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_values_of_a_slice_are_found(kind):
    data, offsets = split(pa.array(["skip", "é", "", None, "xyz", "rest"], kind).slice(1, 4))
    assert [bytes(data[a:b]) for a, b in pairwise(offsets)] == ["é".encode(), b"", b"", b"xyz"]


@given(hash_lists, st.integers(0, 3), st.sampled_from([pa.binary(), pa.large_binary()]))
def test_hashes_survive_packing_and_slicing(lists, skip, kind):
    hashes = np.array([h for one in lists for h in one], np.uint64)
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    found, found_offsets = unpack_hashes(pack_hashes(hashes, offsets).cast(kind).slice(skip))
    assert found.tolist() == [h for one in lists[skip:] for h in one]
    assert np.diff(found_offsets).tolist() == [len(one) for one in lists[skip:]]


def test_values_that_begin_anywhere_are_aligned():
    odd = pa.array([b"x", np.array([7, 8], "<u8").tobytes()], pa.binary()).slice(1)
    assert unpack_hashes(odd)[0].tolist() == [7, 8]


def test_band_keys_survive_packing():
    keys = np.arange(12, dtype=np.uint64).reshape(3, 4) + np.uint64(2**63)
    assert (unpack_bands(pack_bands(keys).slice(1), 4) == keys[1:]).all()
