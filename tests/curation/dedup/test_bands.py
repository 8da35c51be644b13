"""Bands put equal runs of minima into one bucket, and nothing else."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.dedup.bands import NO_BUCKET, band_keys, collision_probability, pack
from curation.dedup.buckets import BucketCounts, bucket_edges
from curation.dedup.minhash import affine32, signatures
from curation.dedup.shingles import shingle

edges = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 50)), max_size=80)


def blobs_of(rows, parts=1):
    keys = np.array([k for k, _ in rows], np.uint64).reshape(-1, 1) << np.uint64(32)
    return pack(keys, np.array([d for _, d in rows], np.int64), parts)


def test_keys_are_equal_exactly_where_the_runs_of_minima_are():
    random = np.random.default_rng(1)
    values = random.integers(0, 3, (500, 12), np.uint32)
    keys = band_keys(values, 4, 3)
    runs = [(band, tuple(row[3 * band : 3 * band + 3])) for row in values.tolist() for band in range(4)]
    assert len(set(keys.ravel().tolist())) == len(set(runs)) == len(set(zip(runs, keys.ravel().tolist(), strict=True)))


def test_a_document_without_shingles_enters_no_bucket():
    texts = pa.array(["", "a", " ", "a"])
    keys = band_keys(signatures(shingle(texts), affine32(260)), 20, 13)
    assert (keys[[0, 2]] == NO_BUCKET).all()
    assert (keys[[1, 3]] != NO_BUCKET).all()
    counts = BucketCounts()
    found = [*bucket_edges((blob for _, blob in pack(keys, np.array([10, 11, 12, 13]), 7)), counts)]
    assert ([(a.tolist(), b.tolist()) for a, b in found], counts.rows) == ([([13], [11])], 40)


def test_a_signature_that_cannot_be_cut_is_refused():
    with pytest.raises(ValueError, match="10 values cannot be cut into 3 bands of 4 rows"):
        band_keys(np.zeros((1, 10), np.uint32), 3, 4)


def test_the_collision_curve_is_the_known_one():
    assert [round(collision_probability(j, 20, 13), 3) for j in (0.7, 0.75, 0.8)] == [0.177, 0.382, 0.677]
    assert round(collision_probability(0.8, 26, 10), 3) == 0.948


@settings(deadline=None)
@given(edges, st.integers(1, 9))
def test_rows_of_a_key_meet_in_one_part_whoever_packs_them(rows, parts):
    together = dict(blobs_of(rows, parts))
    apart = [blob for row in rows for blob in blobs_of([row], parts)]
    for part, blob in together.items():
        assert sorted(blob[i : i + 16] for i in range(0, len(blob), 16)) == sorted(b for p, b in apart if p == part)
    assert {part for part, _ in apart} == set(together)
