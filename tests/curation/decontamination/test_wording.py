"""N-grams are shown in the words of a benchmark, though the index knows hashes only."""

import numpy as np
import pytest

from curation.decontamination import Mode
from curation.decontamination.benchmarks import Example
from curation.decontamination.index import build
from curation.decontamination.wording import wording

LONG = "One two\nthree  four, five six — seven eight nine ten eleven twelve thirteen fourteen fifteen!"
SHORT = "Does the so\u00adcalled grey heron nest in these reeds?"
EXAMPLES = [Example("birds", 0, ("Too short.", LONG)), Example("birds", 7, (SHORT,)), Example("other", 7, (LONG,))]


@pytest.mark.parametrize("mode", ["paper", "extended"])
def test_every_ngram_of_the_index_is_a_stretch_of_its_example(mode: Mode) -> None:
    index = build(EXAMPLES, mode)
    owners = {ngram: index.examples_of(ngram)[0] for ngram in index.ngrams.tolist()}
    found = wording(owners, EXAMPLES, mode)
    assert found.keys() == owners.keys()
    texts = {(example.task, example.row): " ".join(" ".join(example.texts).split()) for example in EXAMPLES}
    assert all(words in texts[owners[ngram]] for ngram, words in found.items())
    again = build([Example("again", row, (words,)) for row, words in enumerate(found.values())], mode)
    np.testing.assert_array_equal(again.ngrams, index.ngrams)


def test_an_ngram_that_no_example_has_is_left_out() -> None:
    assert wording({5: ("birds", 0)}, EXAMPLES, "paper") == {}
    assert wording({5: ("birds", 99)}, EXAMPLES, "paper") == {}
