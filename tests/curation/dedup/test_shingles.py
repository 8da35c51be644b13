"""Shingles are what the definition says: one hash per n-gram, equal exactly where the n-grams are."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from dedup_texts import as_slice, batches, words_of
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.dedup.shingles import Shingles, sets_of, shingle, shingle_sets


def ngrams(items, length):
    """The definition: every run of `length` items, or one run of all of them."""
    if not items:
        return []
    return [tuple(items[i : i + length]) for i in range(max(len(items) - length + 1, 1))]


def expected(text, unit, length):
    return ngrams(words_of(text) if unit == "word" else list(" ".join(words_of(text))), length)


@settings(deadline=None)
@given(batches, st.sampled_from(["word", "character"]), st.integers(1, 6), st.booleans())
def test_hashes_are_equal_exactly_where_the_ngrams_are(texts, unit, length, large):
    shingles = shingle(as_slice(texts, large), unit=unit, length=length)
    grams = [expected(text, unit, length) for text in texts]
    assert shingles.counts.tolist() == [len(g) for g in grams]
    hash_of = {}
    for gram, value in zip([g for one in grams for g in one], shingles.hashes.tolist(), strict=True):
        assert hash_of.setdefault(gram, value) == value
    assert len(set(hash_of.values())) == len(hash_of)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (" \n\x00\t", 0),
        ("one", 1),
        ("one two three four", 1),
        ("one two three four five", 1),
        ("a b c d e f", 2),
    ],
)
def test_short_documents_have_one_shingle_and_empty_ones_none(text, count):
    assert shingle(pa.array([text])).counts.tolist() == [count]


def test_case_and_whitespace_do_not_count_but_no_break_space_does():
    hashes = shingle(pa.array(["The  quick\nbrown", "the quick BROWN", "the\u00a0quick brown"])).hashes
    assert hashes[0] == hashes[1] != hashes[2]


def test_documents_do_not_run_into_each_other():
    apart = shingle(pa.array(["a b c", "d e f"]), length=2)
    assert apart.counts.tolist() == [2, 2]
    assert apart.hashes[2:].tolist() == shingle(pa.array(["d e f"]), length=2).hashes.tolist()


def test_an_empty_batch_has_no_shingles():
    for unit in ("word", "character"):
        assert shingle(pa.array([], pa.string()), unit=unit).offsets.tolist() == [0]
    assert shingle_sets(pa.array([], pa.string())).capped.size == 0


def test_a_null_is_an_empty_document():
    assert shingle(pa.array(["a b", None, "c"])).counts.tolist() == [1, 0, 1]


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 20), max_size=30), max_size=6), st.integers(1, 12))
def test_sets_are_the_smallest_distinct_hashes_in_order(documents, cap):
    hashes = np.array([h for d in documents for h in d], np.uint64)
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    sets = sets_of(Shingles(hashes, offsets), cap=cap)
    found = [sets.hashes[a:b].tolist() for a, b in pairwise(sets.offsets)]
    assert found == [sorted(set(d))[:cap] for d in documents]
    assert sets.capped.tolist() == [len(set(d)) > cap for d in documents]
