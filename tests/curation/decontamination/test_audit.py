"""The audit's own way to words and n-grams: it agrees with the matcher, though it shares none of its code."""

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_matcher import BENCHMARK, EXTENDED, INDEX, LONG, documents
from test_words import texts as awkward

from curation.decontamination import audit
from curation.decontamination.benchmarks import Example
from curation.decontamination.matcher import find
from curation.decontamination.words import split


@settings(deadline=None)
@given(documents)
def test_it_finds_what_the_matcher_finds(text):
    ngrams = audit._ngrams([Example("task", row, (text,)) for row, text in enumerate(BENCHMARK)], "paper")
    found = list(audit._found(text, "paper", ngrams, {ngram.split(" ", 1)[0] for ngram in ngrams}))
    hits = find(pa.array([text], pa.large_string()), INDEX)
    assert sorted(audit._hash(ngram, "paper") for _, ngram in found) == sorted(hits["ngram"].to_pylist())


@settings(deadline=None)
@given(awkward, st.sampled_from(["paper", "extended"]))
@example("cross\u200bword e\u0301 \u200b", "extended")
def test_it_reads_the_words_the_matcher_reads(text, mode):
    every = audit.readings(text, mode)
    for separates, words in zip((False, True), every, strict=False):
        hashes = split(pa.array([text], pa.large_string()), mode, separates).hashes.tolist()
        alone = [split(pa.array([word], pa.large_string()), mode).hashes.tolist() for word in words]
        assert [[h] for h in hashes] == alone


def test_an_example_is_found_by_the_hash_it_has_in_the_index():
    ngrams = audit._ngrams([Example("task", 1, (LONG,))], "extended")
    assert {audit._hash(ngram, "extended") for ngram in ngrams} < set(EXTENDED.ngrams.tolist())
