"""The signals, against a second reading of their definitions in plain Python, and at the edges of each."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.text import compression, marks, signals
from schemas.tables import SIGNAL_FIELDS

_INT32_MAX = 2**31 - 1


def rounded(part: int, whole: int, unit: int) -> int:
    return min((2 * part * unit + whole) // (2 * whole), _INT32_MAX) if whole else 0


def between_letters(word: str) -> str:
    while word and not word[0].isalpha():
        word = word[1:]
    while word and not word[-1].isalpha():
        word = word[:-1]
    return word


SENTENCE_END = re.compile("[.?!][.?!\"'…”’»。！？)\\]]*\\Z")


def paragraphs_of(text: str) -> list[str]:
    """Return the paragraphs as they stand in the text, without the whitespace around them."""
    found, current = [], ""
    parts = re.split("(\r\n|\n|\r)", text)
    for line, end in zip(parts[::2], [*parts[1::2], ""], strict=True):
        if line.strip():
            current += line + end
        else:
            found, current = [*found, current], ""
    return [paragraph.strip() for paragraph in (*found, current) if paragraph]


def top(words: Sequence[str], length: int) -> int:
    runs = Counter(tuple(words[at : at + length]) for at in range(len(words) - length + 1))
    most = runs.most_common(1)
    return (sum(map(len, most[0][0])) + length - 1) * most[0][1] if most and most[0][1] > 1 else 0


def duplicate(words: Sequence[str], length: int) -> int:
    seen, at, repeated = set(), 0, 0
    while at < len(words) - length + 1:
        run = tuple(words[at : at + length])
        repeated += sum(map(len, run)) if run in seen else 0
        at += length if run in seen else 1
        seen.add(run)
    return repeated


def repetition(text: str, words: Sequence[str], lines: Sequence[str]) -> dict[str, int]:
    found = paragraphs_of(text)
    own = [sum(len(line.strip()) for line in re.split("[\n\r]", paragraph)) for paragraph in found]
    repeats = [number for number, paragraph in enumerate(found) if paragraph in found[:number]]
    return {
        "paragraphs": len(found),
        "duplicate_paragraph_ppm": rounded(len(repeats), len(found), 10**6),
        "duplicate_paragraph_character_ppm": rounded(sum(own[number] for number in repeats), sum(own), 10**6),
        **{f"top_{n}_gram_ppm": rounded(top(words, n), len(text), 10**6) for n in (2, 3, 4)},
        **{f"duplicate_{n}_gram_ppm": rounded(duplicate(words, n), len(text), 10**6) for n in range(5, 11)},
    }


def furniture(text: str, words: Sequence[str], lines: Sequence[str]) -> dict[str, int]:
    breaks = len(re.findall("\r\n|\n|\r", text))
    return {
        "sentences": sum(bool(SENTENCE_END.search(word)) for word in words),
        "longest_word": max(map(len, words), default=0),
        "terminal_line_ppm": rounded(sum(line[-1] in ".?!\"'…”’»。！？" for line in lines), len(lines), 10**6),
        "short_line_ppm": rounded(sum(len(line) <= 30 for line in lines), len(lines), 10**6),
        "few_word_line_ppm": rounded(sum(len(line.split()) < 3 for line in lines), len(lines), 10**6),
        "line_break_word_ppm": rounded(breaks, len(words), 10**6),
        "curly_brackets": text.count("{") + text.count("}"),
    }


MARKS = {
    "links": "link",
    "emails": "email",
    "ip_addresses": "ip",
    "phone_numbers": "phone",
    "keys": "key",
}
# columns with tests of their own: a second reading of them here would be the same program twice
ELSEWHERE = {*MARKS, "link_byte_ppm", "compressed_ppm", *signals.PHRASES}


def reference(text: str) -> dict[str, int]:
    """The definitions once more, with what Python offers and no regard for speed."""
    words = text.split()
    lines = [line.strip() for line in re.split("[\n\r]", text) if line.strip()]
    repeats = [line for number, line in enumerate(lines) if line in lines[:number]]
    cores = {between_letters(word).lower() for word in words}
    return {
        **repetition(text, words, lines),
        **furniture(text, words, lines),
        "characters": len(text),
        "words": len(words),
        "tokens_estimated": (len(text.encode()) + 3) // 4,
        "lines": len(lines),
        "mean_word_length_milli": rounded(sum(map(len, words)), len(words), 1000),
        "symbol_word_ppm": rounded(max(text.count("#"), text.count("...") + text.count("…")), len(words), 10**6),
        "bullet_line_ppm": rounded(sum(line[0] in "•‣◦▪●■-–*" for line in lines), len(lines), 10**6),
        "ellipsis_line_ppm": rounded(sum(line.endswith(("...", "…")) for line in lines), len(lines), 10**6),
        "alphabetic_word_ppm": rounded(sum(any(map(str.isalpha, word)) for word in words), len(words), 10**6),
        "stop_words": len(cores & {"the", "be", "to", "of", "and", "that", "have", "with"}),
        "duplicate_line_ppm": rounded(len(repeats), len(lines), 10**6),
        "duplicate_line_character_ppm": rounded(sum(map(len, repeats)), sum(map(len, lines)), 10**6),
        "digit_ppm": rounded(sum(character in "0123456789" for character in text), len(text), 10**6),
    }


def computed(text: str) -> dict[str, Any]:
    return dict(signals.compute(pa.array([text])).to_pylist()[0])


fragments = st.sampled_from(
    [
        *("the", "The", "THAT", "be,", "“have”", "with-it", "1of", "andante", "tO", "word", "naïve", "日本語"),
        *(" ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", "\u2028", "\u00a0", "\u0085", "\x1c", "\x0b", "\x0c", "\u3000"),
        *(".", "..", "...", "....", "…", "#", "•", "- ", "* ", "–", "—", "7", "٣", "é", "e\u0301", "🙂", "\x00"),
        *("a line\n", "a line \r\n", "another line\n", "\ufeff", "\u200b"),
    ]
)
texts = st.one_of(st.text(max_size=80), st.lists(fragments, max_size=40).map("".join))


@settings(max_examples=600, deadline=None)
@given(st.lists(texts, max_size=6))
def test_every_signal_of_any_text_equals_its_definition_in_plain_python(batch: list[str]) -> None:
    rows = signals.compute(pa.array(batch, pa.large_string())).to_pylist()
    assert [{name: row[name] for name in row if name not in ELSEWHERE} for row in rows] == [
        {name: expected[name] for name in rows[0] if name in expected} for expected in map(reference, batch)
    ]


@given(st.lists(st.sampled_from(["ab", "cd", "e"]), max_size=60).map(" ".join))
def test_repeated_runs_of_words_equal_their_definition(text: str) -> None:
    found, expected = computed(text), repetition(text, text.split(), [])
    assert {name: found[name] for name in expected if "gram" in name} == {
        name: value for name, value in expected.items() if "gram" in name
    }


def test_runs_are_of_words_and_not_of_their_letters() -> None:
    assert computed("ab c d e f. " + "a bc d e f.")["duplicate_5_gram_ppm"] == 0


def test_a_run_that_occurs_once_is_no_top_run() -> None:
    assert computed("not once repeated here")["top_2_gram_ppm"] == 0
    assert computed("yes sir yes sir")["top_2_gram_ppm"] == 933_333


def test_a_dos_line_end_is_one_line_end_and_makes_no_paragraph() -> None:
    found = computed("one\r\ntwo\r\n\r\nthree")
    assert (found["lines"], found["paragraphs"], found["line_break_word_ppm"]) == (3, 2, 1_000_000)


def test_phrases_count_in_any_case() -> None:
    found = computed("Enable JavaScript. This site uses cookies; see our Privacy Policy. LOREM ipsum")
    assert [found[name] for name in signals.PHRASES] == [1, 2, 1]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("See https://example.org/a?b=c. (www.example.org)", ["https://example.org/a?b=c", "www.example.org"]),
        ("HTTP://X.ORG and http:/no and xhttp://no", ["HTTP://X.ORG"]),
        ("mail jo.doe+x@mail.example.org, or a@b, @c.org", ["jo.doe+x@mail.example.org"]),
        ("8.8.8.8, 8.8.8.8123, 1.3.6.1.4.1, 256.1.1.1 v1.2.3.4 10.0.0.1.", ["8.8.8.8", "10.0.0.1"]),
        ("2001:db8::8a2e:370:7334 and fe80::1; std::vector 12:30:45 a::b", ["2001:db8::8a2e:370:7334", "fe80::1"]),
        ("1:2:3:4:5:6:7:8 but not 1:2:3:4:5:6:7:8:9", ["1:2:3:4:5:6:7:8"]),
        ("+44 20 7946 0958, (555) 123-4567, 555-123-4567", ["+44 20 7946 0958", "(555) 123-4567", "555-123-4567"]),
        ("1234567890 2001-02-03 555-1234 12-555-123-4567 +1 2", []),
        ("AKIAIOSFODNN7EXAMPLE but AKIAIOSFODNN7EXAMPLEX", ["AKIAIOSFODNN7EXAMPLE"]),
        ("-----BEGIN RSA PRIVATE KEY-----", ["-----BEGIN RSA PRIVATE KEY-----"]),
        ("ø jo@x.org\u2028é 1.2.3.4", ["jo@x.org", "1.2.3.4"]),
    ],
)
def test_marks_are_found_by_shape_with_boundaries(text: str, marked: list[str]) -> None:
    data = text.encode()
    found = marks.find(text).to_pylist()
    assert [data[row["start"] : row["end"]].decode() for row in found] == marked
    assert {name: computed(text)[name] for name in MARKS} == {
        name: sum(row["kind"] == kind for row in found) for name, kind in MARKS.items()
    }


@given(st.text("ab1@.:/-+()w 8htps", max_size=60))
def test_marks_lie_in_order_and_do_not_touch_each_other(text: str) -> None:
    rows = marks.find(text).to_pylist()
    ends = [0, *(row["end"] for row in rows)]
    assert all(end <= row["start"] < row["end"] for end, row in zip(ends, rows, strict=False))
    assert ends[-1] <= len(text.encode())


@pytest.mark.parametrize("text", ["a lighthouse keeper climbed. " * 40, "".join(map(chr, range(33, 8000, 7)))])
def test_the_compressed_size_is_near_that_of_lz4(text: str) -> None:
    packed = pa.Codec("lz4_raw").compress(text.encode(), asbytes=True)
    data = text.encode() + b"next text"
    [size, _] = compression.compressed_bytes(
        np.frombuffer(data, np.uint8), np.array([0, len(text.encode()), len(data)], np.int64)
    )
    assert abs(size - len(packed)) <= max(4, 0.05 * len(packed))


def test_whitespace_and_letters_are_those_of_python_for_every_code_point() -> None:
    everything = [chr(point) for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
    found = signals.compute(pa.array(everything)).to_pydict()
    assert found["words"] == [int(not character.isspace()) for character in everything]
    assert found["alphabetic_word_ppm"] == [1_000_000 * character.isalpha() for character in everything]


def test_the_columns_are_exactly_the_contract() -> None:
    batch = signals.compute(pa.array(["one two"]))
    assert batch.schema.equals(pa.schema(SIGNAL_FIELDS), check_metadata=True)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_slice_is_measured_like_the_same_texts_alone(kind: pa.DataType) -> None:
    whole = pa.array(["not this", "the cat…", "", "é#\n", "nor this"], kind)
    assert signals.compute(whole.slice(1, 3)).equals(signals.compute(pa.array(["the cat…", "", "é#\n"], kind)))


@pytest.mark.parametrize("batch", [[], [""], ["", ""]])
def test_no_text_has_only_zeros(batch: list[str]) -> None:
    measured = signals.compute(pa.array(batch, pa.string()))
    assert measured.num_rows == len(batch)
    assert all(value == 0 for row in measured.to_pylist() for value in row.values())


def test_a_null_is_refused() -> None:
    with pytest.raises(ValueError, match="nulls"):
        signals.compute(pa.array(["text", None]))


def test_ratios_that_exceed_an_int32_stop_at_its_largest_number() -> None:
    found = computed("#" * 3_000_000)
    assert found["symbol_word_ppm"] == found["mean_word_length_milli"] == _INT32_MAX


def test_punctuation_is_part_of_the_word_it_touches() -> None:
    assert computed("Well, (yes) — no!")["words"] == 4  # the lone dash is a word …
    assert computed("Well, (yes) — no!")["alphabetic_word_ppm"] == 750_000  # … without a letter


@pytest.mark.parametrize("text", ["The end.", "“THE” end", "the: end", "…the"])
def test_a_stop_word_counts_in_any_case_and_between_punctuation(text: str) -> None:
    assert computed(text)["stop_words"] == 1


@pytest.mark.parametrize("text", ["then", "th e", "the-end", "bé", "ofof", "withe", "t\u0301o"])
def test_a_word_that_only_contains_a_stop_word_is_none(text: str) -> None:
    assert computed(text)["stop_words"] == 0


def test_each_stop_word_counts_once() -> None:
    assert computed("the be to of and that have with the be")["stop_words"] == 8


def test_the_larger_of_hashes_and_ellipses_is_the_symbol_ratio() -> None:
    assert computed("# # # a b c d e f …")["symbol_word_ppm"] == 300_000
    assert computed("# … ... a b c d e f g")["symbol_word_ppm"] == 200_000


def test_blank_lines_are_neither_lines_nor_duplicates() -> None:
    found = computed("one\n\n \t\n\u00a0\n\ntwo\r\n\r\n")
    assert (found["lines"], found["duplicate_line_ppm"]) == (2, 0)


def test_a_line_repeats_whatever_its_line_end_and_indentation() -> None:
    found = computed("same\n  same\r\nsame\rother")
    assert (found["lines"], found["duplicate_line_ppm"], found["duplicate_line_character_ppm"]) == (4, 500_000, 470_588)


def test_unicode_separators_do_not_end_a_line() -> None:
    assert computed("one\u2028two\u2029three\x85four\x0bfive\x0csix")["lines"] == 1


def test_ten_thousand_different_lines_and_their_repeats_are_told_apart() -> None:
    lines = [f"line {number}" for number in range(10_000)]
    assert computed("\n".join(lines))["duplicate_line_ppm"] == 0
    assert computed("\n".join(lines + lines))["duplicate_line_ppm"] == 500_000


@pytest.mark.parametrize("tail", [b"\xe2\x80", b"\xf0\x9f\x99", b"\xff\xff\xff\xff", b"\xc3"])
def test_bytes_that_are_no_utf8_are_counted_without_reading_outside_the_text(tail: bytes) -> None:
    data = b"a word " + tail
    offsets = pa.py_buffer(b"".join(n.to_bytes(8, "little") for n in (0, len(data))))
    broken = pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(data)])
    assert signals.compute(broken).to_pylist()[0]["words"] == 3
