"""Frequency: documents count, not occurrences; rules differ where they say so; no leak is a phrase; parts add up."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.decontamination.benchmarks import Example
from curation.decontamination.frequency import document_counts, merge_counts, set_aside
from curation.decontamination.index import build
from curation.decontamination.matcher import find

QUESTION = "how many words make a question long enough today"
WORDS = [f"story{i}" for i in range(40)]
STORY = " ".join(WORDS)
INDEX = build([Example("quiz", 0, (QUESTION,)), Example("tales", 0, (STORY,))], "paper")


def matches(texts, first_id=0, index=INDEX):
    hits = find(pa.array(texts, pa.string()), index)
    doc_ids = pa.array([row + first_id for row in hits["row"].to_pylist()], pa.int64())
    return pa.table([doc_ids, *hits.columns[1:]], names=["doc_id", *hits.schema.names[1:]])


def counts_of(texts, index=INDEX):
    return document_counts(matches(texts, index=index), index)


def aside(texts, common, spare_leaks=True, index=INDEX):
    return len(set_aside(counts_of(texts, index), common, spare_leaks))


def test_copies_in_one_document_count_once():
    counts = counts_of([f"{QUESTION}. " * 11])
    assert (counts["documents"].to_pylist(), counts["resuming"].to_pylist()) == ([1], [1])


@pytest.mark.parametrize(
    ("documents", "megatron", "gpt3"), [(1, 0, 0), (2, 0, 0), (9, 0, 0), (10, 1, 0), (11, 1, 1), (300, 1, 1)]
)
def test_a_question_is_set_aside_from_10_documents_on_or_11(documents, megatron, gpt3):
    texts = [QUESTION] * documents
    assert [aside(texts, common) for common in ("megatron", "gpt3", "none")] == [megatron, gpt3, 0]


@pytest.mark.parametrize("documents", [1, 2, 9, 10, 11, 300])
def test_a_question_found_whole_is_a_leak_at_any_count_in_the_extended_mode(documents):
    texts = [QUESTION] * documents
    assert [aside(texts, common, spare_leaks=False) for common in ("megatron", "gpt3")] == [0, 0]


def test_of_a_long_text_every_13th_window_is_met_by_the_tool_and_each_by_gpt3():
    counts = counts_of([STORY] * 12)
    assert counts["documents"].to_pylist() == [12] * 28
    assert sorted(counts["resuming"].to_pylist()) == [0] * 25 + [12] * 3
    hits = matches([STORY])
    met = counts.filter(pa.compute.greater(counts["resuming"], 0))["ngram"].to_pylist()
    assert sorted(hits["ngram"].to_pylist().index(ngram) for ngram in met) == [0, 13, 26]
    assert (aside([STORY] * 12, "megatron"), aside([STORY] * 12, "gpt3")) == (3, 28)


@pytest.mark.parametrize(("words", "sets_aside"), [(13, 1), (14, 2), (15, 0)])
def test_up_to_two_windows_of_a_long_text_are_a_phrase_and_three_a_leak(words, sets_aside):
    texts = [" ".join(WORDS[:words])] * 12
    assert aside(texts, "gpt3", spare_leaks=False) == sets_aside


def test_one_document_that_leaks_an_example_makes_its_phrases_count_everywhere():
    texts = [" ".join(WORDS[:13])] * 12
    assert (aside(texts, "gpt3", False), aside([*texts, STORY], "gpt3", False)) == (1, 0)


def test_half_of_an_example_is_a_leak():
    index = build([Example("tales", 0, (" ".join(WORDS[:16]),)), Example("tales", 1, (" ".join(WORDS[:17]),))], "paper")
    texts = [" ".join(WORDS[:14])] * 12  # two of four n-grams, and of five
    assert aside(texts, "gpt3", False, index) == 0
    alone = build([Example("tales", 1, (" ".join(WORDS[:17]),))], "paper")
    assert aside(texts, "gpt3", False, alone) == 2


def test_a_recipe_may_name_another_number():
    assert len(set_aside(counts_of([QUESTION] * 3), "megatron", True, 3)) == 1


@settings(deadline=None)
@given(st.lists(st.sampled_from([QUESTION, STORY, " ".join(WORDS[:14]), STORY + " " + QUESTION, "x"])), st.data())
def test_counts_do_not_depend_on_how_documents_are_divided(texts, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(texts)), max_size=3)))
    edges = list(zip([0, *cuts], [*cuts, len(texts)], strict=True))
    parts = [document_counts(matches(texts[a:b], first_id=a), INDEX) for a, b in edges]
    assert merge_counts(parts[::-1]).equals(merge_counts([counts_of(texts)]))
    assert counts_of(texts).equals(merge_counts([counts_of(texts)]))


def test_nothing_found_is_nothing_counted():
    assert len(merge_counts([counts_of(["nothing"])])) == 0
    assert len(merge_counts([])) == 0
