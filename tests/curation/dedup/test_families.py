"""Families of texts that defeat rounds of star edges end with no kept pair that met and is too similar."""

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from dedup_rows import Candidate as Row
from dedup_rows import fates, first_of_component, jaccard_ppm, rows_from_texts, run

from curation.dedup.greedy import ComponentWalk, GreedyWalk

THRESHOLD = 800_000
WORDS = 200


def page(random):
    return [f"w{x}" for x in random.integers(0, 5000, WORDS)]


def edited(words, share, random):
    """The words with a share of them replaced; at 2 % about a fifth of the 5-grams change."""
    words = list(words)
    for place in random.choice(len(words), max(1, round(share * len(words))), replace=False):
        words[place] = f"e{random.integers(1 << 40)}"
    return words


def chain(count, random):
    """Each revision edits 2 % of the one before."""
    pages = [page(random)]
    while len(pages) < count:
        pages.append(edited(pages[-1], 0.02, random))
    return pages


def star(count, random):
    """Every leaf edits 2 % of the same centre."""
    centre = page(random)
    return [centre] + [edited(centre, 0.02, random) for _ in range(count - 1)]


def ring(count, random):
    """Windows that slide over a circle of words, so that the last one resembles the first."""
    words = [f"r{x}" for x in range(count * 10)] * 2
    return [words[i * 10 : i * 10 + WORDS] for i in range(count)]


def template(count, random):
    """Each member rewrites one passage, 4 % of the words, of an earlier member drawn at random."""
    pages = [page(random)]
    while len(pages) < count:
        words = list(pages[random.integers(len(pages))])
        start = random.integers(WORDS - 8)
        words[start : start + 8] = [f"e{x}" for x in random.integers(1 << 40, size=8)]
        pages.append(words)
    return pages


FAMILIES = [(chain, 20), (chain, 200), (star, 600), (ring, 100), (template, 2_000)]


def met(rows):
    """Every pair of rows that share a band, once."""
    places = defaultdict(list)
    for place, row in enumerate(rows):
        for key in enumerate(row.bands):
            places[key].append(place)
    for a, b in {pair for bucket in places.values() for pair in combinations(bucket, 2)}:
        yield rows[a], rows[b]


def family(make, count, shuffled):
    random = np.random.default_rng(count + shuffled)
    texts = [" ".join(words) for words in make(count, random)]
    rows = rows_from_texts(texts, random.permutation(count) if shuffled else None)
    sets = [frozenset(rows.hashes[a:b].tolist()) for a, b in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)]
    plain = [Row(int(d), tuple(b), s) for d, b, s in zip(rows.doc_ids, rows.bands.tolist(), sets, strict=True)]
    return rows, plain


@pytest.mark.parametrize(
    ("make", "count", "shuffled"),
    [*((*one, shuffled) for one in FAMILIES for shuffled in (False, True)), (star, 10_000, False)],
)
def test_greedy_leaves_no_verified_pair_that_met(make, count, shuffled):
    rows, plain = family(make, count, shuffled)
    found = fates(run(GreedyWalk(THRESHOLD), rows))
    kept = [row for row in plain if found[row.doc_id] is None]
    assert len(kept) < count
    for one, other in met(kept):
        assert jaccard_ppm(one.hashes, other.hashes) < THRESHOLD
    rank = {row.doc_id: place for place, row in enumerate(plain)}
    of = {row.doc_id: row.hashes for row in plain}
    for doc_id, fate in found.items():
        if fate:
            assert rank[fate[0]] < rank[doc_id]
            assert found[fate[0]] is None
            assert fate[1] == jaccard_ppm(of[doc_id], of[fate[0]]) >= THRESHOLD


@pytest.mark.parametrize(("make", "count"), [(chain, 20), (ring, 60), (template, 100)])
def test_the_component_rule_names_kept_ones_even_below_the_threshold(make, count):
    rows, plain = family(make, count, True)
    found = fates(run(ComponentWalk(THRESHOLD), rows))
    assert found == first_of_component(plain, THRESHOLD)
    assert any(fate and fate[1] < THRESHOLD for fate in found.values())
