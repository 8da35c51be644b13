"""Frequency: documents count, not occurrences; counting resumes behind a hit; parts add up."""

import pyarrow as pa
import pytest

from curation.decontamination.benchmarks import Example
from curation.decontamination.frequency import document_counts, merge_counts, spared
from curation.decontamination.index import build
from curation.decontamination.matcher import find

QUESTION = "how many words make a question long enough today"
STORY = " ".join(f"story{i}" for i in range(40))
INDEX = build([Example("quiz", 0, (QUESTION,)), Example("tales", 0, (STORY,))], "paper")


def matches(texts, first_id=0):
    hits = find(pa.array(texts), INDEX)
    doc_ids = pa.array([row + first_id for row in hits["row"].to_pylist()], pa.int64())
    return pa.table([doc_ids, *hits.columns[1:]], names=["doc_id", *hits.schema.names[1:]])


def counts_of(texts):
    return document_counts(matches(texts))["documents"].to_pylist()


def test_copies_in_one_document_count_once():
    assert counts_of([f"{QUESTION}. " * 11]) == [1]


@pytest.mark.parametrize(("documents", "common"), [(1, 0), (2, 0), (9, 0), (10, 1), (11, 1), (300, 1)])
def test_an_ngram_is_spared_from_ten_documents_on(documents, common):
    assert len(spared(document_counts(matches([QUESTION] * documents)))) == common


def test_of_a_long_text_every_13th_window_is_counted():
    assert counts_of([STORY] * 12) == [12, 12, 12]
    hits = matches([STORY])
    counted = document_counts(hits)["ngram"].to_pylist()
    assert sorted(hits["ngram"].to_pylist().index(ngram) for ngram in counted) == [0, 13, 26]


def test_counts_do_not_depend_on_how_documents_are_divided():
    texts = [QUESTION, STORY, STORY + " " + QUESTION, QUESTION] * 3
    parts = [document_counts(matches(texts[i : i + 5], first_id=i)) for i in range(0, 12, 5)]
    assert merge_counts(parts[::-1]).equals(document_counts(matches(texts)))


def test_nothing_found_is_nothing_counted():
    assert len(merge_counts([document_counts(matches(["nothing"]))])) == 0
    assert len(merge_counts([])) == 0
