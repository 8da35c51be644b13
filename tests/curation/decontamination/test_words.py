"""Words: the same as Python's regular expressions find in folded text, each with the bytes it came from."""

import re
import unicodedata

import decontamination_oracle as oracle
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from curation.decontamination.words import split

# Characters that fold to several or to none, combine, separate, join, or change length in lower case.
AWKWARD = (
    "aAzZ09_ .,-\n\t'\"éÉßẞİıΣσςﬁﬃ½㎏㏂ⅣⅨ²ªº中ペ각ﷺ𝐀😀कि\u09c7\u09be\u1100\u1161\u11a8\uff8d\uff9f"
    "\u0000\u00a0\u00ad\u0301\u0307\u0323\u0345\u200b\u200c\u200d\u2060\ufe0f\ufeff"
)
texts = st.text(st.one_of(st.sampled_from(AWKWARD), st.characters(exclude_categories=["Cs"])), max_size=60)


def spans(text, mode, separates=False):
    words = split(pa.array([text], pa.large_string()), mode, separates)
    return words.hashes.tolist(), list(zip(words.starts.tolist(), words.ends.tolist(), strict=True))


def hashes_of(words, mode="paper"):
    """Return what each word, already folded, hashes to by itself."""
    return [split(pa.array([word]), mode).hashes.tolist() for word in words]


@settings(deadline=None)  # the first example compiles
@given(texts)
@example("İstanbul ΌΣΟΣ Σ")
def test_paper_words_are_the_runs_of_w_in_the_lower_cased_text(text):
    expected = oracle.paper_words(text)
    hashes, found = spans(text, "paper")
    assert [[h] for h in hashes] == hashes_of([word for word, _, _ in expected])
    assert found == [(len(text[:a].encode()), len(text[:b].encode())) for _, a, b in expected]


@settings(deadline=None)  # the first example compiles
@given(texts.map(lambda t: t.replace("\u200b", "")))
@example("o\ufb03ce e\u0301te\u0301 co\u00adop")
@example("\u0345a\u0345b\u00ad\u0301")
def test_extended_words_are_the_runs_of_w_in_the_folded_text(text):
    expected = oracle.extended_words(text)
    hashes, _ = spans(text, "extended")
    assert [[h] for h in hashes] == hashes_of(expected, "extended")


def test_every_mark_in_unicode_beside_marks_that_compose_gives_the_words_of_the_folded_text():
    """Most marks only separate words, wherever canonical order puts them; the fast path relies on which."""
    marks = [c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.category(c)[0] == "M"]
    mixed = [f"{base}{m}e\u0301 e{m}\u0301b e\u0323{m}" for m in marks for base in ("a", "\u0928", "\u09c7")]
    alone = [f"a{m}b {m}c \u0e01{m}\u0e38" for m in marks]
    found = split(pa.array(mixed + alone, pa.large_string()), "extended")
    expected = split(pa.array([" ".join(oracle.extended_words(t)) for t in mixed + alone], pa.large_string()), "paper")
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(found.hashes, expected.hashes)


@settings(deadline=None)  # the first example compiles
@given(texts)
def test_extended_words_lie_in_order_on_code_point_boundaries_and_fold_to_themselves(text):
    raw = text.encode()
    hashes, found = spans(text, "extended")
    for word_hash, (start, end) in zip(hashes, found, strict=True):
        assert word_hash in spans(raw[start:end].decode(), "extended")[0]  # one character may hold several words
    assert found == sorted(found)


def test_a_word_keeps_its_bytes_where_lower_case_or_folding_changes_lengths():
    text = "İİİ ﬁne"
    assert [text.encode()[a:b].decode() for a, b in spans(text, "paper")[1]] == ["İ", "İ", "İ", "ﬁne"]
    assert spans("ﬁne", "extended")[0] == spans("FINE", "extended")[0]


def test_a_zero_width_space_joins_words_in_one_reading_and_separates_them_in_the_other():
    text = "cross\u200bword"
    assert spans(text, "extended")[0] == spans("crossword", "extended")[0]
    assert spans(text, "extended", True)[0] == spans("cross word", "extended")[0]
    assert split(pa.array([text, "plain"]), "extended").either.tolist() == [True, False]


@pytest.mark.parametrize("mode", ["paper", "extended"])
def test_decomposed_text_keeps_its_place_among_other_texts(mode):
    texts = ["plain text", unicodedata.normalize("NFD", "déjà vu"), None, "", "and more", "e\u0301"]
    together = split(pa.array(texts), mode)
    for row, text in enumerate(texts):
        part = slice(together.offsets[row], together.offsets[row + 1])
        alone = spans(text or "", mode)
        assert together.hashes[part].tolist() == alone[0]
        assert list(zip(together.starts[part], together.ends[part], strict=True)) == alone[1]


def test_a_slice_of_an_array_has_the_words_of_its_own_rows():
    texts = pa.array(["one two", "three", None, "four five six"])
    whole, part = split(texts, "paper"), split(texts[1:], "paper")
    assert part.hashes.tolist() == whole.hashes[2:].tolist()
    assert part.offsets.tolist() == [0, 1, 1, 4]


def test_texts_of_more_words_than_bytes_fit():
    assert len(split(pa.array(["ﷺ" * 1000]), "extended").hashes) == len(
        re.findall(r"\w+", unicodedata.normalize("NFKC", "ﷺ" * 1000))
    )


def test_no_texts_have_no_words():
    words = split(pa.array([], pa.large_string()), "paper")
    assert words.hashes.dtype == np.uint64
    assert words.offsets.tolist() == [0]


def test_a_combining_mark_before_a_zero_width_space_does_not_hide_its_second_reading():
    assert (
        split(pa.array(["e\u0301 cross\u200bword", "cross\u200bword e\u0301"]), "extended").either.tolist()
        == [True] * 2
    )
