"""Buckets become edges with the same components, however rows arrive, and memory does not grow with a bucket."""

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.dedup.bands import ROW, pack
from curation.dedup.buckets import BucketCounts, bucket_edges
from curation.dedup.components import UnionFind

rows_of_keys = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 50)), max_size=80)


def packed(rows):
    keys = np.array([k for k, _ in rows], np.uint64).reshape(-1, 1) << np.uint64(32)
    return [blob for _, blob in pack(keys, np.array([d for _, d in rows], np.int64), 1)]


def components(edges):
    forest = UnionFind()
    for a, b in edges:
        forest.feed(a, b)
    return [column.tolist() for column in forest.edges()]


def stars(rows):
    """Every row with the smallest doc_id of its key, as one edge each."""
    for key, doc_id in rows:
        yield np.array([doc_id]), np.array([min(d for k, d in rows if k == key)])


@settings(deadline=None)
@given(rows_of_keys, st.integers(1, 9), st.integers(1, 9))
def test_edges_have_the_components_of_the_buckets(rows, chunk, ids):
    counts = BucketCounts()
    blobs = [blob for row in rows for blob in packed([row])]
    assert components(bucket_edges(blobs, counts, chunk_rows=chunk, forest_ids=ids)) == components(stars(rows))
    sizes = [sum(k == key for k, _ in rows) for key in {k for k, _ in rows}]
    assert (counts.rows, counts.largest_bucket) == (len(rows), max(sizes, default=0))
    assert counts.buckets == sum(size > 1 for size in sizes)


@settings(deadline=None)
@given(rows_of_keys, st.integers(1, 9))
def test_settled_documents_are_connected_only_where_a_new_one_is(rows, chunk):
    by_key = defaultdict(set)
    for key, doc_id in rows:
        by_key[key].add(doc_id)
    met = [(k, d) for k, d in rows if any(one % 3 == 0 for one in by_key[k])]
    blobs = [blob for row in rows for blob in packed([row])]
    found = bucket_edges(blobs, BucketCounts(), lambda ids: ids % 3 != 0, chunk_rows=chunk)
    assert components(found) == components(stars(met))


def test_a_bucket_of_a_million_documents_is_held_as_one_row():
    def blobs():
        for start in range(0, 1_000_000, 20_000):
            rows = np.empty(20_000, ROW)
            rows["key"], rows["doc_id"] = 7, np.arange(start, start + 20_000)
            yield rows.tobytes()

    counts = BucketCounts()
    pieces = [edges[0].size for edges in bucket_edges(blobs(), counts, chunk_rows=100_000, forest_ids=50_000)]
    assert max(pieces) <= 100_000
    assert (counts.rows, counts.largest_bucket, counts.buckets) == (1_000_000, 1_000_000, 1)
