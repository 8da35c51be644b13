"""The walks decide what the rules say, whatever the batches, and say why."""

from dataclasses import astuple

import numpy as np
import pytest
from dedup_rows import Candidate, fates, first_of_component, greedy, rows_of, run
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.dedup.greedy import ComponentWalk, GreedyWalk

WIDTH = 3
hash_sets = st.frozensets(st.integers(1, 12), max_size=8)


@st.composite
def graphs(draw, *, references=False):
    """Up to 40 candidates in a few components; few bands and hashes, so that most pairs are interesting."""
    count = draw(st.integers(0, 40))
    components = sorted(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    doc_ids = draw(st.permutations(range(100, 100 + count)))
    band = st.integers(0, 6)
    return [
        Candidate(
            doc_id=doc_id,
            bands=draw(st.tuples(band, band, band)),
            hashes=draw(hash_sets),
            component=component,
            reference=references and draw(st.integers(0, 5)) == 0,
        )
        for component, doc_id in zip(components, doc_ids, strict=True)
    ]


def spread(candidates):
    """Make keys of different bands different, as mixing the band's number into them does."""
    return [
        Candidate(
            c.doc_id,
            tuple(key and key * WIDTH + i for i, key in enumerate(c.bands)),
            c.hashes,
            c.component,
            c.reference,
        )
        for c in candidates
    ]


thresholds = st.sampled_from([1, 200_000, 333_333, 333_334, 500_000, 666_667, 800_000, 1_000_000])
cut_lists = st.lists(st.integers(0, 40), max_size=5)


@settings(max_examples=300, deadline=None)
@given(graphs(references=True).map(spread), thresholds, cut_lists)
def test_greedy_fates_are_those_of_ten_lines_of_python(candidates, threshold, cuts):
    rows = rows_of(candidates, WIDTH)
    decisions = run(GreedyWalk(threshold), rows, [min(c, len(candidates)) for c in cuts])
    assert fates(decisions) == greedy(candidates, threshold)
    assert decisions.doc_ids.tolist() == [c.doc_id for c in candidates]


@settings(max_examples=300, deadline=None)
@given(graphs(references=True).map(spread), thresholds, cut_lists)
def test_the_first_of_each_verified_component_stays(candidates, threshold, cuts):
    rows = rows_of(candidates, WIDTH)
    decisions = run(ComponentWalk(threshold), rows, [min(c, len(candidates)) for c in cuts])
    assert fates(decisions) == first_of_component(candidates, threshold)
    assert decisions.doc_ids.tolist() == [c.doc_id for c in candidates]


@settings(max_examples=100, deadline=None)
@given(graphs().map(spread), graphs().map(spread), thresholds)
def test_later_rows_change_no_earlier_fate(earlier, later, threshold):
    earlier = [Candidate(c.doc_id, c.bands, c.hashes) for c in earlier]
    later = [Candidate(c.doc_id + 1000, c.bands, c.hashes) for c in later]
    alone = fates(run(GreedyWalk(threshold), rows_of(earlier, WIDTH)))
    together = fates(run(GreedyWalk(threshold), rows_of(earlier + later, WIDTH)))
    assert {doc_id: together[doc_id] for doc_id in alone} == alone


@settings(max_examples=100, deadline=None)
@given(graphs(references=True).map(spread), thresholds)
def test_no_dropped_document_names_a_dropped_one(candidates, threshold):
    for walk in (GreedyWalk(threshold), ComponentWalk(threshold)):
        found = fates(run(walk, rows_of(candidates, WIDTH)))
        assert all(found[fate[0]] is None for fate in found.values() if fate)


def test_the_kept_document_of_best_rank_is_named():
    near = frozenset(range(10))
    rows = rows_of(
        [
            Candidate(7, (1, 0), near | {90, 91}),
            Candidate(5, (0, 2), near | {80, 81}),
            Candidate(3, (1, 2), near),
        ],
        2,
    )
    walk = GreedyWalk(800_000, record_pairs=True)
    assert fates(run(walk, rows)) == {7: None, 5: None, 3: (7, 833_333)}
    assert walk.take_pairs().others.tolist() == [7]
    assert walk.compared == 1


def test_similarity_is_rounded_down_but_the_threshold_is_not():
    rows = rows_of([Candidate(1, (1,), frozenset({1, 2, 3})), Candidate(2, (1,), frozenset({1, 2}))], 1)
    assert fates(run(GreedyWalk(666_666), rows))[2] == (1, 666_666)
    assert fates(run(GreedyWalk(666_667), rows))[2] is None


def test_compared_pairs_are_recorded_with_what_came_of_them():
    a, b, c = frozenset(range(10)), frozenset(range(5, 15)), frozenset(range(5, 14))
    rows = rows_of([Candidate(1, (1,), a), Candidate(2, (1,), b), Candidate(3, (1,), c)], 1)
    walk = GreedyWalk(800_000, record_pairs=True)
    run(walk, rows)
    pairs = walk.take_pairs()
    assert list(zip(*map(np.ndarray.tolist, astuple(pairs)), strict=True)) == [
        (2, 1, 333_333, False),
        (3, 1, 357_142, False),
        (3, 2, 900_000, True),
    ]
    assert walk.take_pairs().doc_ids.size == 0


def test_a_reference_is_never_dropped_and_says_that_it_dropped():
    same = frozenset(range(5))
    for walk in (GreedyWalk(800_000), ComponentWalk(800_000)):
        decisions = run(
            walk,
            rows_of(
                [
                    Candidate(1, (1,), same, reference=True),
                    Candidate(2, (1,), same, reference=True),
                    Candidate(3, (1,), same),
                ],
                1,
            ),
        )
        assert decisions.dropped.tolist() == [False, False, True]
        assert decisions.by_reference.tolist() == [False, False, True]
        assert decisions.others.tolist() == [-1, -1, 1]


def test_a_walk_past_the_cap_is_counted():
    apart = [Candidate(i, (1,), frozenset(range(10 * i, 10 * i + 10))) for i in range(8)]
    last = Candidate(9, (1,), apart[5].hashes)
    walk = GreedyWalk(800_000, max_kept_per_band=4)
    assert fates(run(walk, rows_of([*apart, last], 1)))[9] is None
    assert walk.overflowed == 4  # rows 5, 6, 7 and the last one saw more than four kept
    exact = GreedyWalk(800_000, max_kept_per_band=8)
    assert fates(run(exact, rows_of([*apart, last], 1)))[9] == (5, 1_000_000)
    assert exact.overflowed == 0


def test_capped_sets_are_compared_where_both_are_known():
    small, large = range(0, 100), range(0, 1000)
    rows = rows_of(
        [
            Candidate(1, (1,), frozenset(large)),
            Candidate(2, (1,), frozenset(small), capped=True),
            Candidate(3, (2,), frozenset(range(0, 100, 2))),
            Candidate(4, (2,), frozenset(range(0, 20)), capped=True),
        ],
        1,
    )
    decisions = run(GreedyWalk(500_000), rows)
    assert fates(decisions) == {1: None, 2: (1, 1_000_000), 3: None, 4: (3, 500_000)}
    assert decisions.capped.tolist() == [False, True, False, True]


def test_documents_without_shingles_resemble_nothing():
    empty = [Candidate(i, (0, 0), frozenset()) for i in range(3)]
    assert set(fates(run(GreedyWalk(0), rows_of(empty, 2))).values()) == {None}
    forced = [Candidate(i, (5, 5), frozenset()) for i in range(3)]
    assert set(fates(run(GreedyWalk(0), rows_of(forced, 2))).values()) == {None}


def test_rows_out_of_order_are_refused():
    rows = rows_of([Candidate(1, (1,), frozenset({1}), component=2)], 1)
    walk = GreedyWalk(800_000)
    walk.feed(rows)
    with pytest.raises(ValueError, match="ascending order of component"):
        walk.feed(rows_of([Candidate(2, (1,), frozenset({1}), component=1)], 1))


def test_arrays_grow_without_changing_anything():
    random = np.random.default_rng(3)
    candidates = [
        Candidate(
            doc_id=i,
            bands=(
                4 * (i % 1200) + 4,
                *(int(key) * 4 + band for band, key in enumerate(random.integers(1, 900, 3), 1)),
            ),
            hashes=frozenset(range(i % 1200 * 1000, i % 1200 * 1000 + 240))
            - {i % 1200 * 1000 + int(random.integers(240))},
        )
        for i in range(1500)
    ]
    rows = rows_of(candidates, 4)
    whole = run(GreedyWalk(800_000), rows)
    assert fates(whole) == greedy(candidates, 800_000)
    assert whole.dropped.sum() == 300
    parted = run(GreedyWalk(800_000), rows, range(0, 1500, 7))
    assert fates(parted) == fates(whole)
    component = run(ComponentWalk(800_000), rows)
    assert fates(component) == fates(run(ComponentWalk(800_000), rows, range(0, 1500, 251)))
