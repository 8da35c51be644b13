"""The matcher: every hit, where it stands and what its cut takes, as the rules in plain Python say."""

import random
import time
import unicodedata

import decontamination_oracle as oracle
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.decontamination.benchmarks import Example
from curation.decontamination.index import build
from curation.decontamination.matcher import find

NAMES = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "omicron",
    "pi",
    "rho",
    "sigma",
    "tau",
]
LONG = " ".join(NAMES)  # 19 words: seven 13-grams
SHORT = "one two three four five six seven eight"  # the whole text is the n-gram, and lies within the next
NINE = SHORT + " nine"
MIDDLE = "four five six seven eight nine ten eleven twelve"
BENCHMARK = (LONG, SHORT, NINE, MIDDLE)
INDEX = build([Example("task", i, (text,)) for i, text in enumerate(BENCHMARK)], "paper")
NGRAMS = oracle.Ngrams(ngram for text in BENCHMARK for ngram in oracle.ngrams_of(text.split()))
FILLER = "It was a plain day in Ilmenau, and nobody there had heard of an examination. "

glue = st.sampled_from([" ", "\n", ", ", ". ", "? ", " ", "\u2019 ", "。", " İ ", "\U0001f600 "])
runs = st.one_of(
    st.sampled_from([*BENCHMARK, "one two three four five six seven", "nine ten eleven twelve", LONG.upper()]),
    st.integers(1, 9).map(lambda n: (FILLER * n)[: 61 * n]),
    st.integers(150, 450).map(lambda n: ("x y " * n)[:n]),
    st.sampled_from(["İ", "!", "", "."]),
)
documents = st.lists(st.tuples(runs, glue), max_size=12).map(lambda parts: "".join(a + b for a, b in parts))


def bytes_of(text, position):
    return len(text[:position].encode())


def expected_rows(text):
    words = oracle.paper_words(text)
    rows = []
    for first, length in oracle.hits([w for w, _, _ in words], NGRAMS):
        start, end = words[first][1], words[first + length - 1][2]
        cut = oracle.cut(text, start, end)
        rows.append((bytes_of(text, start), length, bytes_of(text, end), *(bytes_of(text, c) for c in cut), *cut))
    return sorted(rows)


def found_rows(hits):
    names = ("start", "words", "end", "cut_start", "cut_end", "cut_start_character", "cut_end_character")
    return list(zip(*(hits[name].to_pylist() for name in names), strict=True))


@settings(deadline=None)  # the first example compiles
@given(documents)
def test_all_hits_and_cuts_are_those_of_the_plain_rules(text):
    assert found_rows(find(pa.array([text]), INDEX)) == expected_rows(text)


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.none() | documents, max_size=5), st.integers(0, 2))
def test_a_batch_has_the_hits_of_its_texts_in_order(texts, skipped):
    hits = find(pa.array(texts, pa.large_string())[skipped:], INDEX)
    alone = [(row, *hit) for row, text in enumerate(texts[skipped:]) for hit in expected_rows(text or "")]
    assert [(row, *hit) for row, hit in zip(hits["row"].to_pylist(), found_rows(hits), strict=True)] == alone


def planted(text, before=FILLER * 20, after=FILLER * 20):
    return find(pa.array([before + text + " " + after]), INDEX)


@pytest.mark.parametrize(
    "variant",
    [
        LONG,
        LONG.replace(" ", "\n"),
        LONG.replace(" ", "  "),
        LONG.replace(" ", "\t"),
        LONG.replace(" ", "\u00a0"),
        LONG.replace(" ", "\u2019 \u201c"),
        LONG.upper(),
        LONG.replace("iota ", "iota\n\n"),
        LONG.replace(" ", ", "),
    ],
)
def test_layout_case_and_punctuation_hide_nothing(variant):
    hits = planted(variant)
    start = len(FILLER * 20)
    assert hits["words"].to_pylist() == [13] * 7
    assert (min(hits["start"].to_pylist()), max(hits["end"].to_pylist())) == (start, start + len(variant.encode()))


def test_12_of_13_words_are_no_hit():
    assert planted(" ".join(NAMES[:12]) + " other ").num_rows == 0
    assert planted(" ".join([*NAMES[:6], "other", *NAMES[7:13]])).num_rows == 0


def test_overlapping_hits_are_all_reported():
    assert sorted(planted("one two three four five six seven eight nine ten eleven twelve ")["words"].to_pylist()) == [
        8,
        9,
        9,
    ]


def test_a_document_that_is_the_question_alone_is_found():
    assert find(pa.array([SHORT, " ".join(SHORT.split()[:7]), "", None]), INDEX)["row"].to_pylist() == [0]


def test_300_dotted_capitals_before_a_hit_shift_nothing():
    text = "İ" * 300 + ". " + FILLER * 9
    hits = planted(SHORT, before=text)
    assert hits["start"].to_pylist() == [len(text.encode())]


@pytest.mark.parametrize(("between", "cut_start"), [(199, 51), (198, 0)])
def test_the_mark_before_a_cut_stays_if_199_characters_lie_between(between, cut_start):
    hits = find(pa.array(["a" * 50 + "." + "b" * (between - 1) + " " + SHORT]), INDEX)
    assert hits["cut_start"].to_pylist() == [cut_start]


@pytest.mark.parametrize(("between", "rest"), [(200, 50), (199, 0)])
def test_the_mark_behind_a_cut_goes_with_it_if_200_characters_lie_between(between, rest):
    text = SHORT + " " + "c" * (between - 1) + "?" + "d" * 50
    assert find(pa.array([text]), INDEX)["cut_end"].to_pylist() == [len(text) - rest]


EXTENDED = build(
    [Example("task", 0, ("The five officers filed a coöperative office affidavit in Łódź first", LONG))], "extended"
)


@pytest.mark.parametrize(
    "variant",
    [
        "The ﬁve oﬃcers ﬁled a coöperative oﬃce aﬃdavit in Łódź ﬁrst",
        "The five offi\u00adcers filed a co\u00adöpera\u00adtive office affi\u00addavit in Łódź first",
        unicodedata.normalize("NFD", "The five officers filed a coöperative office affidavit in Łódź first"),
        "Ｔｈｅ ｆｉｖｅ officers filed a coöperative office affidavit in ŁÓDŹ first",
        "The five off\u200bicers filed a coöperative off\u200bice affidavit in Łódź first",
        "The\u200bfive\u200bofficers\u200bfiled\u200ba\u200bcoöperative\u200boffice\u200baffidavit\u200bin\u200bŁódź\u200bfirst",
        "The f\u200dive officers\ufeff filed a coöperative office affidavit in Łódź first",
    ],
)
def test_extended_finds_what_folding_makes_equal(variant):
    text = FILLER * 9 + variant + " " + FILLER * 9
    hits = find(pa.array(["nothing here", text]), EXTENDED)
    raw = text.encode()
    assert [raw[a:b].decode() for a, b in zip(hits["start"].to_pylist(), hits["end"].to_pylist(), strict=True)] == [
        variant
    ]


def test_a_zero_width_space_elsewhere_neither_hides_nor_doubles_a_hit():
    hits = find(pa.array([FILLER + LONG + " and a zero\u200bwidth space"]), EXTENDED)
    assert hits["words"].to_pylist() == [13] * 7


def test_a_book_of_hits_without_a_sentence_end_takes_linear_time():
    book = (LONG + " ") * 40_000
    find(pa.array([LONG]), INDEX)  # compile
    began = time.process_time()
    hits = find(pa.array([book]), INDEX)
    assert hits.num_rows == 280_000
    assert set(hits["cut_start"].to_pylist()) == {0}
    assert time.process_time() - began < 20  # a walk to the edge for every hit would take hours


def test_a_hit_deep_in_a_book_among_many_small_texts_is_found_with_its_offsets():
    book = FILLER * 70_000  # 5 MB
    texts = [FILLER] * 50 + [book + LONG + ". " + book[:1000]] + [SHORT] * 3
    hits = find(pa.array(texts), INDEX)
    assert hits["row"].to_pylist() == [50] * 7 + [51, 52, 53]
    assert hits["start"][0].as_py() == len(book)


def test_the_order_of_texts_and_the_size_of_batches_change_nothing():
    order = random.Random(7)
    texts = [
        FILLER * order.randrange(9) + order.choice([*BENCHMARK, ""]) + FILLER * order.randrange(9) for _ in range(60)
    ]
    whole = find(pa.array(texts), INDEX)
    parts = [find(pa.array(texts[i : i + 7]), INDEX) for i in range(0, 60, 7)]
    assert found_rows(whole) == [row for part in parts for row in found_rows(part)]
