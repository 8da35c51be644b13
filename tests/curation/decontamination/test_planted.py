"""Every protected text of real benchmarks, planted in real prose in all sorts of dress, is found and taken out whole.

By default every 40th example of each file; CURATION_ALL_EXAMPLES=1 plants all of them, which takes some minutes.
"""

import bz2
import os
import re
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from curation.decontamination.benchmarks import Benchmark, read
from curation.decontamination.cuts import CutRule, judge, pieces
from curation.decontamination.index import build
from curation.decontamination.matcher import find

FILES = {
    "lambada": "lambada/lambada_test.jsonl",
    "race": "race.sample1000.jsonl",
    "boolq": "boolq.val.jsonl",
    "piqa": "piqa/tests.jsonl",
    "hellaswag": "hellaswag.sample1000.jsonl",
    "anli": "anli/ANLI_analysis_r1_dev.csv",
    "wic": "wic.val.jsonl",
}
FILLER = "It was a plain day in Ilmenau, and nobody there had heard of an examination. "
PAGE = FILLER * 12
STEP = 1 if os.environ.get("CURATION_ALL_EXAMPLES") else 40


def opened(path):
    return Path(path).open("rb")


def middle(text, at):
    """Return the text with its middle space replaced."""
    spaces = [match.start() for match in re.finditer(" ", text)]
    place = spaces[len(spaces) // 2]
    return text[:place] + at + text[place + 1 :]


def upper(text):
    return text.upper() if text.upper().lower() == text.lower() else text  # ß has no way back


DRESS = {
    "verbatim": lambda text: text,
    "wrapped at 40": lambda text: textwrap.fill(text, 40, break_long_words=False, break_on_hyphens=False),
    "wrapped at 60": lambda text: textwrap.fill(text, 60, break_long_words=False, break_on_hyphens=False),
    "wrapped at 80": lambda text: textwrap.fill(text, 80, break_long_words=False, break_on_hyphens=False),
    "double-spaced": lambda text: text.replace(" ", "  "),
    "tabbed": lambda text: text.replace(" ", "\t"),
    "curly quotes": lambda text: text.replace("'", "’").replace('"', "“"),
    "upper case": upper,
    "across a paragraph break": lambda text: middle(text, "\n\n"),
}
EXTENDED_DRESS = {
    "soft hyphens": lambda text: re.sub(r"([a-z]{3})(?=[a-z]{3})", "\\1\u00ad", text),
    "ligatures": lambda text: text.replace("ffi", "ﬃ").replace("fi", "ﬁ").replace("fl", "ﬂ"),
    "a zero-width space in long words": lambda text: re.sub(r"([a-z]{5})(?=[a-z]{3})", "\\1\u200b", text),
    "full width": lambda text: re.sub(r"[a-z]", lambda match: chr(ord(match.group()) + 0xFEE0), text, count=20),
}


@pytest.fixture(scope="module")
def real():
    if not (folder := os.environ.get("CURATION_REAL_DATA")):
        pytest.skip("CURATION_REAL_DATA is not set")
    return Path(folder)


@pytest.fixture(scope="module", params=["paper", "extended"])
def mode(request):
    return request.param


@pytest.fixture(scope="module", params=sorted(FILES))
def planted(request, real, mode):
    """Return an index of a whole file, and the protected texts of every `STEP`th example."""
    file = Benchmark(path=str(real / "bench" / FILES[request.param]), format=request.param)
    examples = list(read(file, opened, mode))
    index = build(examples, mode)
    unprotected = {row for _, row in index.unprotected()}
    chosen = [example for example in examples if example.row not in unprotected][::STEP]
    texts = [text for example in chosen for text in example.texts if len(re.findall(r"\w+", text.lower())) >= 8]
    assert len(texts) >= len(chosen) > 0
    return index, texts


def spans(documents, index):
    """Return the first and last byte of all hits of each document, None where there are none."""
    hits = find(pa.array(documents, pa.large_string()), index)
    found = [None] * len(documents)
    for row, start, end in zip(*(hits[name].to_pylist() for name in ("row", "start", "end")), strict=True):
        first, last = found[row] or (start, end)
        found[row] = (min(first, start), max(last, end))
    return found


def place(before, plant):
    """Return the bytes from the first word of a plant to its last."""
    words = list(re.finditer(r"\w+", plant))
    return tuple(len((before + plant[:edge]).encode()) for edge in (words[0].start(), words[-1].end()))


@pytest.mark.parametrize("before", ["", PAGE], ids=["at the start", "within"])
@pytest.mark.parametrize("after", ["", "\n\nIlmenau. " + PAGE], ids=["at the end", "followed"])
def test_every_protected_text_is_found_from_its_first_word_to_its_last(planted, mode, before, after):
    index, texts = planted
    dresses = DRESS | (EXTENDED_DRESS if mode == "extended" else {})
    if not (before and after):
        dresses = {"verbatim": DRESS["verbatim"]}
    for name, dress in dresses.items():
        plants = [dress(text) for text in texts]
        found = spans([before + plant + after for plant in plants], index)
        assert found == [place(before, plant) for plant in plants], name


def test_what_is_left_of_a_document_is_its_own_text_and_holds_none_of_the_benchmark(planted):
    index, texts = planted
    twice = [PAGE + text + ". " + PAGE + text.replace(" ", "\n") + ". " + PAGE for text in texts]
    hits = find(pa.array(twice, pa.large_string()), index)
    matches = pa.table([hits["row"], *hits.columns[1:]], names=["doc_id", *hits.schema.names[1:]])
    sizes = {"text_bytes": [len(t.encode()) for t in twice], "characters": [len(t) for t in twice]}
    documents = pa.table({"doc_id": np.arange(len(twice)), **sizes})
    verdicts, cuts, _ = judge(matches, documents, index, np.zeros(0, np.uint64), CutRule())
    assert verdicts["fate"].to_pylist() == ["split"] * len(twice)
    left = []
    for row, text in enumerate(twice):
        own = cuts.filter(pa.array(cuts["doc_id"].to_numpy() == row))
        left += [text.encode()[a:b].decode() for a, b in pieces(own, len(text.encode()))]
        edges = [edge for cut in own.to_pylist() for edge in (cut["start"], cut["end"])]
        kept = [text.encode()[a:b] for a, b in zip([0, *edges[1::2]], [*edges[::2], None], strict=True)]
        assert b"".join(kept).decode() == "".join(left[len(left) - len([k for k in kept if k]) :])
    assert len(left) == 3 * len(twice)
    assert find(pa.array(left, pa.large_string()), index).num_rows == 0


def test_texts_inside_a_book_of_5_megabytes_are_found(planted):
    index, texts = planted
    book, expected = "", []
    for text in texts[:20]:
        book += FILLER * (64_000 // min(20, len(texts))) + "\n\n"
        expected.append(place(book, text))
        book += text + "\n\n"
    book += FILLER
    hits = find(pa.array([book], pa.large_string()), index)
    starts, ends = set(hits["start"].to_pylist()), set(hits["end"].to_pylist())
    assert {start for start, _ in expected} <= starts
    assert {end for _, end in expected} <= ends


def test_12_of_13_words_of_a_long_text_are_no_match(planted):
    index, texts = planted
    long = [words for text in texts if len(words := re.findall(r"\w+", text.lower())) >= 13]
    near = [" ".join([*words[:6], "ilmenau", *words[7:13]]) for words in long]
    own = spans([FILLER + " ".join(words[:13]) + " " + FILLER for words in long], index)
    assert all(own)
    assert [
        n for n, span in zip(near, spans([FILLER + n + ". " + FILLER for n in near], index), strict=True) if span
    ] == []


def test_real_contamination_in_a_real_encyclopaedia_is_found(real, mode):
    """A passage of MultiRC was taken from this article; RTE quotes what the same article quotes."""
    files = {"multirc": ("passage.text",), "rte": ("premise", "hypothesis"), "boolq": ("question",)}
    named = [Benchmark(path=str(real / "bench" / f"{t}.val.jsonl"), task=t, fields=f) for t, f in files.items()]
    index = build([e for file in named for e in read(file, opened, mode)], mode)
    [path] = (real / "sources/wikipedia").glob("enwiki-latest*.bz2")
    articles = bz2.decompress(path.read_bytes()).decode().split("</page>")
    hits = find(pa.array([re.sub(r"<[^>]+>", " ", text) for text in articles], pa.large_string()), index)
    assert {example for n in hits["ngram"].to_pylist() for example in index.examples_of(n)} == {
        ("multirc", 19),
        ("rte", 44),
    }
    assert hits.num_rows == 102
