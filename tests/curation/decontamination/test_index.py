"""The index: what protects an example, who an n-gram belongs to, and one digest for one content."""

import pyarrow as pa
import pytest

from curation.decontamination.benchmarks import Example
from curation.decontamination.index import Index, build
from curation.decontamination.matcher import find


def sentence(words, start=0):
    return " ".join(f"word{i}" for i in range(start, start + words))


EXAMPLES = [
    Example("quiz", 0, (sentence(7),)),
    Example("quiz", 1, (sentence(8), sentence(8).upper())),
    Example("tales", 0, (sentence(20, 100), sentence(12, 200))),
    Example("quiz", 2, (sentence(20, 100),)),
    Example("quiz", 3, ()),
]


@pytest.fixture
def index():
    return build(EXAMPLES, "paper")


def test_long_texts_are_protected_by_13_grams_and_shorter_ones_as_a_whole(index):
    assert sorted(index.words.tolist()) == [8, 12, *[13] * 8]


def test_examples_of_fewer_than_8_words_are_counted_as_unprotected(index):
    assert [tuple(row) for row in index.coverage] == [("quiz", 4, 2, 9), ("tales", 1, 1, 9)]
    assert index.unprotected() == [("quiz", 0), ("quiz", 3)]


def test_an_ngram_of_several_examples_names_them_all_and_belongs_to_the_first(index):
    hits = find(pa.array([sentence(13, 100)]), index)
    assert index.examples_of(hits["ngram"][0].as_py()) == [("tales", 0), ("quiz", 2)]
    assert [index.tasks[t] for t in index.task_of(hits["ngram"].to_numpy())] == ["tales"]


def test_an_index_survives_being_shipped(index):
    shipped = Index.from_bytes(index.to_bytes())
    assert (shipped.mode, shipped.tasks, shipped.digest) == ("paper", index.tasks, index.digest)
    assert shipped.coverage == index.coverage
    assert not shipped.ngrams.flags.writeable


def test_the_digest_tells_modes_and_texts_apart(index):
    others = [build(EXAMPLES, "extended"), build(EXAMPLES[1:], "paper"), build([*EXAMPLES[:4]], "paper")]
    assert len({index.digest, *(other.digest for other in others)}) == 4


def test_an_index_of_nothing_finds_nothing():
    empty = build([], "paper")
    assert find(pa.array([sentence(40)]), empty).num_rows == 0
    assert Index.from_bytes(empty.to_bytes()).coverage == []
