"""Buckets as edges that say who may be compared, in memory that no bucket can fill.

Rows (key, doc_id) of one part come packed and in any order. From time to time all rows of a key that have come so far
are linked with the smallest of them, which alone is held on: a million documents in a bucket cost as much as one. Edges
are reduced to forests and handed on in pieces.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.dedup.bands import ROW
from curation.dedup.components import UnionFind
from curation.dedup.kernels import Hashes, Integers

Edges = tuple[Integers, Integers]
IsSettled = Callable[[Integers], NDArray[np.bool_]]
_CHUNK_ROWS = 1 << 20  # rows that come between two reductions: 64 MiB while they are sorted
_FOREST_IDS = 250_000  # ids of a forest that is handed on: 10 MB


@dataclass
class BucketCounts:
    """What was seen on the way."""

    rows: int = 0
    buckets: int = 0  # with two documents or more
    largest_bucket: int = 0


class _Rows(NamedTuple):
    keys: Hashes
    doc_ids: Integers
    documents: Integers  # how many a row stands for


def bucket_edges(
    blobs: Iterable[bytes],
    counts: BucketCounts,
    is_settled: IsSettled | None = None,
    *,
    chunk_rows: int = _CHUNK_ROWS,
    forest_ids: int = _FOREST_IDS,
) -> Iterator[Edges]:
    """Yield edges (doc_ids, others) that connect the documents of every bucket of one part, and count into `counts`.

    `is_settled` tells which doc_ids an earlier run has decided: a bucket of such only connects nobody, since nothing
    in it is to be decided. All blobs of the part must come together. Memory is about 100 bytes for every different
    key, and for every settled row, of the part.
    """
    forest = UnionFind()
    for a, b in _star_edges(blobs, counts, is_settled, chunk_rows):
        for start in range(0, a.size, forest_ids):
            forest.feed(a[start : start + forest_ids], b[start : start + forest_ids])
            if len(forest) >= forest_ids:
                yield forest.edges()
                forest = UnionFind()
    if len(forest):
        yield forest.edges()


def _star_edges(
    blobs: Iterable[bytes], counts: BucketCounts, is_settled: IsSettled | None, chunk_rows: int
) -> Iterator[Edges]:
    held, waiting, size, limit = _NOTHING, list[_Rows](), 0, chunk_rows
    for blob in blobs:
        waiting.append(_unpacked(blob))
        size += waiting[-1].keys.size
        if size >= limit:  # what is held grows by half at least until the next time, so that sorting costs little
            held, edges = _reduced(_joined([held, *waiting]), is_settled)
            counts.rows += size
            waiting, size, limit = [], 0, max(chunk_rows, held.keys.size // 2)
            yield edges
    counts.rows += size
    yield _finished(_joined([held, *waiting]), counts, is_settled)


def _reduced(rows: _Rows, is_settled: IsSettled | None) -> tuple[_Rows, Edges]:
    """Link rows of equal keys and hold on to the first; settled ones are linked at the end, if at all."""
    settled = is_settled(rows.doc_ids) if is_settled is not None else np.zeros(rows.keys.size, bool)
    kept = _taken(rows, settled)
    new, starts, firsts = _grouped(_taken(rows, ~settled))
    if not new.keys.size:
        return kept, (new.doc_ids, firsts)
    linked = firsts != new.doc_ids
    sums = np.add.reduceat(new.documents, starts)
    return _joined([kept, _Rows(new.keys[starts], new.doc_ids[starts], sums)]), (new.doc_ids[linked], firsts[linked])


def _finished(rows: _Rows, counts: BucketCounts, is_settled: IsSettled | None) -> Edges:
    rows, starts, firsts = _grouped(rows)
    if not rows.keys.size:
        return rows.doc_ids, firsts
    sums = np.add.reduceat(rows.documents, starts)
    counts.buckets += int((sums > 1).sum())
    counts.largest_bucket = max(counts.largest_bucket, int(sums.max()))
    linked = firsts != rows.doc_ids
    if is_settled is not None:
        news = np.add.reduceat(~is_settled(rows.doc_ids), starts, dtype=np.int64)
        linked &= np.repeat(news > 0, np.diff(np.r_[starts, rows.keys.size]))
    return rows.doc_ids[linked], firsts[linked]


def _grouped(rows: _Rows) -> tuple[_Rows, Integers, Integers]:
    """Return the rows sorted by (key, doc_id), where each key starts, and the first doc_id of every row's key."""
    rows = _taken(rows, np.lexsort((rows.doc_ids, rows.keys)))
    if not rows.keys.size:
        return rows, np.empty(0, np.int64), rows.doc_ids
    starts = np.flatnonzero(np.r_[True, rows.keys[1:] != rows.keys[:-1]])
    return rows, starts, np.repeat(rows.doc_ids[starts], np.diff(np.r_[starts, rows.keys.size]))


def _taken(rows: _Rows, which: NDArray[Any]) -> _Rows:
    return _Rows(rows.keys[which], rows.doc_ids[which], rows.documents[which])


def _unpacked(blob: bytes) -> _Rows:
    rows = np.frombuffer(blob, ROW)
    return _Rows(rows["key"], rows["doc_id"], np.ones(rows.size, np.int64))


def _joined(parts: list[_Rows]) -> _Rows:
    return _Rows(*map(np.concatenate, zip(*parts, strict=True)))


_NOTHING = _Rows(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))
