"""Components are scipy's, and labels do not depend on how the edges came."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from curation.dedup import components
from curation.dedup.components import UnionFind
from curation.errors import InfrastructureError

INT64 = np.iinfo(np.int64)
some_ids = st.one_of(st.integers(0, 20), st.sampled_from([INT64.min, -1, 1 << 51, (1 << 51) + 1, INT64.max]))


def scipy_labels(a, b):
    """Every id and the smallest id of its component, by scipy."""
    ids, nodes = np.unique(np.concatenate([a, b]), return_inverse=True)
    edges = (np.ones(len(a), bool), (nodes[: len(a)], nodes[len(a) :]))
    count, label = connected_components(coo_matrix(edges, shape=(len(ids), len(ids))), directed=False)
    smallest = np.full(count, INT64.max)
    np.minimum.at(smallest, label, ids)
    return ids, smallest[label]


def labels(a, b, batch):
    found = UnionFind()
    for start in range(0, len(a), batch):
        found.feed(a[start : start + batch], b[start : start + batch])
    return found.labels()


def same(one, other):
    return all((x == y).all() and len(x) == len(y) for x, y in zip(one, other, strict=True))


@settings(deadline=None)
@given(st.lists(st.tuples(some_ids, some_ids), min_size=1), st.integers(1, 9), st.randoms(use_true_random=False))
def test_labels_are_the_smallest_ids_whatever_the_order_and_batches(edges, batch, random):
    """AT-16."""
    a, b = (np.array(side, np.int64) for side in zip(*edges, strict=True))
    expected = scipy_labels(a, b)
    assert same(labels(a, b, batch), expected)
    random.shuffle(edges)
    b, a = (np.array(side, np.int64) for side in zip(*edges, strict=True))
    assert same(labels(a, b, 3), expected)


@pytest.mark.parametrize("batch", [97, 10**6])
def test_a_chain_of_five_thousand_is_one_component(batch):
    ids = np.random.default_rng(2).permutation(5000) * (1 << 40) + 17
    found_ids, found = labels(ids[:-1], ids[1:], batch)
    assert found_ids.tolist() == sorted(ids.tolist())
    assert (found == 17).all()


@pytest.mark.parametrize("exponent", [1.5, 1.8, 2.5])
def test_power_law_graphs_have_the_components_of_scipy(exponent):
    random = np.random.default_rng(4)
    sizes = np.minimum(1 + random.zipf(exponent, 3000), 2000)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    ids = random.permutation(sizes.sum()) + (1 << 45)
    hub_or_neighbour = np.where(random.random(len(ids)) < 0.5, first, np.maximum(np.arange(len(ids)) - 1, first))
    assert same(labels(ids, ids[hub_or_neighbour], 5000), scipy_labels(ids, ids[hub_or_neighbour]))


def test_edges_are_a_spanning_forest():
    found = UnionFind()
    found.feed(np.array([5, 9, 9, 4]), np.array([9, 3, 5, 4]))
    assert [x.tolist() for x in found.edges()] == [[5, 9], [3, 3]]
    assert [x.tolist() for x in found.labels()] == [[3, 4, 5, 9], [3, 4, 3, 3]]


def test_nothing_has_no_components():
    assert [x.size for x in UnionFind().labels()] == [0, 0]


def test_too_many_documents_are_refused_and_not_mixed_up(monkeypatch):
    monkeypatch.setattr(components, "_MAX_NODES", 2000)
    with pytest.raises(InfrastructureError, match="candidate documents are more"):
        UnionFind().feed(np.arange(1500), np.arange(1500, 3000))
