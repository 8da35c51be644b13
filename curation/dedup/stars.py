"""Connected components by large-star and small-star: every step a pass over sorted edges in constant memory.

An edge is a pair of ids. A large-star step connects each node's larger neighbours with the smallest of its
neighbourhood, a small-star step its smaller neighbours and itself with the smallest of them. Neither changes what is
connected, and alternating them ends in stars around the smallest id of each component (Kiveris et al., 2014).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa

from curation.dedup.kernels import Integers

Edges = tuple[Integers, Integers]


@dataclass
class Told:
    """What a pass saw: edges it made, and nodes that are not yet the leaf or the centre of a star."""

    edges: int = 0
    unfinished: int = 0


def both_ways(a: Integers, b: Integers) -> Edges:
    """Return every edge in both directions: what a large-star step reads, sorted."""
    return np.r_[a, b], np.r_[b, a]


def downwards(a: Integers, b: Integers) -> Edges:
    """Return every edge from its larger end: what a small-star step reads, sorted."""
    return np.maximum(a, b), np.minimum(a, b)


def labelled(a: Integers, b: Integers) -> Edges:
    """Return (id, label) of leaves and centres, from the edges (leaf, centre) of stars; centres once for each leaf."""
    a, b = downwards(a, b)
    centres = np.unique(b)
    return np.r_[a, centres], np.r_[b, centres]


def large_star(batches: Iterable[Edges], told: Told) -> Iterator[Edges]:
    """Yield (larger neighbour, smallest of the neighbourhood); edges come both ways, sorted.

    A node is finished if all its neighbours are larger, or it has one neighbour only. When all are, and no centre is
    a leaf, which the same test tells of the centre, the graph is made of stars.
    """
    node, low, smaller, last = -1, -1, False, -1
    for a, b in batches:
        fresh = np.r_[node != a[:1], a[1:] != a[:-1]] if a.size else np.empty(0, bool)
        distinct = fresh | np.r_[last != b[:1], b[1:] != b[:-1]] if a.size else fresh
        starts = np.flatnonzero(fresh)
        sizes = np.diff(np.r_[0, starts, a.size])
        lows = np.repeat(np.r_[low, np.minimum(a[starts], b[starts])], sizes)
        has_smaller = np.repeat(np.r_[smaller, b[starts] < a[starts]], sizes)
        told.unfinished += int((distinct & ~fresh & has_smaller).sum())
        if a.size:
            node, low, smaller, last = int(a[-1]), int(lows[-1]), bool(has_smaller[-1]), int(b[-1])
        out = distinct & (b > a)
        told.edges += int(out.sum())
        yield b[out], lows[out]


def small_star(batches: Iterable[Edges], told: Told) -> Iterator[Edges]:
    """Yield (smaller neighbour or the node itself, smallest of them); edges come from their larger end, sorted."""
    node, low, last = -1, -1, -1
    for a, b in batches:
        fresh = np.r_[node != a[:1], a[1:] != a[:-1]] if a.size else np.empty(0, bool)
        distinct = fresh | np.r_[last != b[:1], b[1:] != b[:-1]] if a.size else fresh
        starts = np.flatnonzero(fresh)
        lows = np.repeat(np.r_[low, b[starts]], np.diff(np.r_[0, starts, a.size]))
        if a.size:
            node, low, last = int(a[-1]), int(lows[-1]), int(b[-1])
        out = distinct & ~fresh
        told.edges += int(out.sum()) + starts.size
        yield np.r_[b[out], a[starts]], np.r_[lows[out], b[starts]]


def sizes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield one row (candidates, components, largest component) for labelled rows sorted by (label, id)."""
    candidates = components = largest = size = 0
    label, last = -1, -1
    for batch in batches:
        ids, labels = batch["a"].to_numpy(), batch["b"].to_numpy()
        for start, end in _runs(labels):
            if int(labels[start]) != label:
                label, last, size, components = int(labels[start]), -1, 0, components + 1
            new = int((np.diff(ids[start:end], prepend=last) != 0).sum())
            last, size, candidates = int(ids[end - 1]), size + new, candidates + new
            largest = max(largest, size)
    numbers = (candidates, components, largest)
    yield pa.record_batch([pa.array([number]) for number in numbers], ["candidates", "components", "largest"])


def by_first_column(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
    """Yield (value, the rest of its rows, without repeats) for each value of the first column; rows come sorted."""
    pieces = (
        (int(batch.column(0)[start].as_py()), batch.slice(start, end - start).select([1, 2]))
        for batch in batches
        for start, end in _runs(batch.column(0).to_numpy())
    )
    for value, rows in groupby(pieces, key=lambda piece: piece[0]):
        yield value, _distinct(row for _, row in rows)


def _distinct(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    last = -1
    for batch in batches:
        ids = batch.column(0).to_numpy()
        yield batch.filter(pa.array(np.diff(ids, prepend=last) != 0))
        last = int(ids[-1])


def _runs(values: Integers) -> Iterator[tuple[int, int]]:
    if len(values):
        starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
        yield from zip(starts.tolist(), np.r_[starts[1:], len(values)].tolist(), strict=True)
