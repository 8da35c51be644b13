"""Large-star and small-star end with the components that scipy finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from curation.dedup import stars
from curation.dedup.components import UnionFind


def half_round(star, edges, cuts):
    """One pass over sorted edges in batches that end anywhere."""
    a, b = (np.concatenate(column) for column in zip(*edges, strict=True))
    order = np.lexsort((b, a))
    told = stars.Told()
    batches = zip(np.array_split(a[order], cuts), np.array_split(b[order], cuts), strict=True)
    return [*star(batches, told)], told


def labels_in_rounds(a, b, cuts=3):
    edges = [(a, b)]
    for rounds in range(40):
        large, told = half_round(stars.large_star, [stars.both_ways(*pair) for pair in edges], cuts)
        if not told.unfinished:
            ids, labels = (np.concatenate(c) for c in zip(*(stars.labelled(*p) for p in edges), strict=True))
            return dict(zip(ids.tolist(), labels.tolist(), strict=True)), rounds
        edges, _ = half_round(stars.small_star, [stars.downwards(*pair) for pair in large], cuts)
    raise AssertionError("no stars after 40 rounds")


def labels_of_scipy(a, b):
    ids, compact = np.unique(np.r_[a, b], return_inverse=True)
    graph = coo_array((np.ones(a.size), (compact[: a.size], compact[a.size :])), shape=(ids.size, ids.size))
    _, found = connected_components(graph, directed=False)
    lowest = np.full(found.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(lowest, found, ids)
    return dict(zip(ids.tolist(), lowest[found].tolist(), strict=True))


def labels_of_union_find(a, b):
    forest = UnionFind()
    forest.feed(a, b)
    ids, labels = forest.labels()
    return dict(zip(ids.tolist(), labels.tolist(), strict=True))


def power_law(random):
    """Edges whose ends are drawn by a power law: a few hubs, and many that are met once."""
    return random.zipf(1.6, 20_000) % 30_000 + 1, random.integers(1, 30_000, 20_000)


def chain(random):
    """A path through 5,000 nodes numbered at random."""
    ids = random.permutation(5_000) * 17
    return ids[1:], ids[:-1]


@pytest.mark.parametrize("make", [power_law, chain])
def test_rounds_union_find_and_scipy_agree(make):
    a, b = make(np.random.default_rng(5))
    apart = a != b
    a, b = a[apart].astype(np.int64), b[apart].astype(np.int64)
    found, rounds = labels_in_rounds(a, b)
    assert found == labels_of_scipy(a, b) == labels_of_union_find(a, b)
    assert rounds <= 16


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=60), st.integers(1, 7))
def test_any_graph_ends_in_its_components(pairs, cuts):
    pairs = [(a, b) for a, b in pairs if a != b] or [(0, 1)]
    a, b = np.array(pairs, np.int64).T
    assert labels_in_rounds(a, b, cuts)[0] == labels_of_scipy(a, b)
