"""What the classifier sees of a text: its words and its marks, and nothing of how they are laid out.

Sources differ in layout more than in anything else: one wraps its lines, one sets a space before each comma, one draws
rules of hyphens, one has typographic quotes. A classifier given that learns it and looks right. So all of it is taken
away here, from what teaches the classifier and from what it scores.

`normalise_all` does many texts at once as machine code. A text with one of the code points whose lower case depends on
its neighbours or is several (Σ, İ) is left to Python.
"""

import unicodedata
from collections.abc import Mapping
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.text.compiled import SPACE, Int64, UInt8, compiled, decode, kinds

Int32 = npt.NDArray[np.int32]

# what typesetters, keyboards and tokenisers write differently
SAME_MARKS = {"'": "‘’‚‛′`´", '"': "“”„‟″«»", "-": "‐‑‒–—―−", ".": "…"}
_MARK_CATEGORIES = "PS"  # Unicode's punctuation and symbols
_LEFT_TO_PYTHON = -1
_FIRST_MARK = -2  # in the table of lower case, mark m is written as -2 - m


def normalise(text: str) -> str:
    """Return the text in lower case on one line, every mark a word of its own, words separated by one space.

    Marks are Unicode's punctuation and symbols. Quotation marks, dashes and ellipses have one form each, and a mark
    that follows itself is left out. So nothing is left that fastText would read as a command, and applying it twice
    changes nothing.

    >>> normalise("  The\\r\\nCat\\u00a0sat ,“so”—\\n-----\\n__label__positive ...")
    'the cat sat , " so " - _ label _ positive .'
    """
    marks = _marks()
    words = text.lower().replace("\0", " ").translate(_apart()).split()
    return " ".join(
        word for word, before in zip(words, ["", *words], strict=False) if word != before or word not in marks
    )


@cache
def _marks() -> Mapping[str, str]:
    """Return the form of every mark."""
    forms = {other: form for form, others in SAME_MARKS.items() for other in others}
    points = map(chr, range(0x110000))
    return {mark: forms.get(mark, mark) for mark in points if unicodedata.category(mark)[0] in _MARK_CATEGORIES}


@cache
def _apart() -> Mapping[int, str]:
    """Return what `str.translate` takes to set every mark apart."""
    return {ord(mark): f" {form} " for mark, form in _marks().items()}


def head(text: str, max_bytes: int) -> str:
    """Return the longest beginning of a text that has at most `max_bytes` bytes in UTF-8; no code point is halved."""
    if len(text) * 4 <= max_bytes:
        return text
    return text[:max_bytes].encode()[:max_bytes].decode("utf-8", "ignore")


def normalise_all(texts: pa.Array, max_bytes: int) -> list[str]:
    """Return `normalise(head(text, max_bytes))` of each text. `texts` are string or large_string without nulls."""
    large = texts.cast(pa.large_string())
    if not len(large):
        return []
    _, offset_buffer, data_buffer = large.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[large.offset : large.offset + len(large) + 1]
    data = np.frombuffer(data_buffer or b"\0", np.uint8)
    for array in (offsets, data):
        array.setflags(write=False)
    # a lower case is at most half as long again (Ⱥ: two bytes to three), and a mark gets a space
    out = np.empty(int(np.minimum(np.diff(offsets), max_bytes).sum()) * 2 + 8, np.uint8)
    ends = np.zeros(len(large) + 1, np.int64)
    refused = np.zeros(len(large), np.bool_)
    _normalise(data, offsets, max_bytes, kinds(), _lower_case(), out, ends, refused)
    lines: list[str] = pa.LargeStringArray.from_buffers(len(large), pa.py_buffer(ends), pa.py_buffer(out)).to_pylist()
    for row in np.flatnonzero(refused):
        lines[row] = normalise(head(large[int(row)].as_py(), max_bytes))
    return lines


@cache
def _lower_case() -> Int32:
    """Return the lower case of every code point (8 MiB), _LEFT_TO_PYTHON where it is not one code point always, and
    the form of every mark."""
    table = np.arange(1 << 21, dtype=np.int32)
    for point in range(0x110000):
        lowered = chr(point).lower()
        table[point] = ord(lowered) if len(lowered) == 1 else _LEFT_TO_PYTHON
    table[0x3A3] = _LEFT_TO_PYTHON  # Σ at the end of a word is ς
    for mark in _marks():
        table[ord(mark)] = _FIRST_MARK - ord(_marks().get(mark.lower(), mark.lower()))
    return table


@compiled
def _normalise(
    data: UInt8,
    offsets: Int64,
    max_bytes: int,
    kinds: UInt8,
    lower: Int32,
    out: UInt8,
    ends: Int64,
    refused: npt.NDArray[np.bool_],
) -> None:
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        if end - start > max_bytes:
            end = start + max_bytes
            while end > start and data[end] & 0xC0 == 0x80:
                end -= 1
        written = _line(data, start, end, kinds, lower, out, ends[row])
        refused[row] = written < 0
        ends[row + 1] = ends[row] if written < 0 else written


@compiled
def _line(data: UInt8, start: int, end: int, kinds: UInt8, lower: Int32, out: UInt8, first: int) -> int:
    """Write a text's line from byte `first` of `out`; return the byte behind it, or -1 if it is Python's to do."""
    at, to, space, before = start, first, False, 0  # `before` is the last word if that is a mark
    while at < end:
        point, width = decode(data, at, end)
        at += width
        if kinds[point] & SPACE or point == 0:
            space = to > first
            continue
        point = lower[point]
        if point == -1:
            return -1
        mark = -2 - point if point < 0 else 0
        if mark and mark == before:
            continue
        if space or (mark and to > first):
            out[to] = 32
            to += 1
        to = _encode(mark if mark else point, out, to)
        before, space = mark, mark != 0
    return to


@compiled
def _encode(point: int, out: UInt8, to: int) -> int:
    if point < 0x80:
        out[to] = point
        return to + 1
    if point < 0x800:
        out[to] = 0xC0 | point >> 6
    else:
        if point < 0x10000:
            out[to] = 0xE0 | point >> 12
        else:
            out[to] = 0xF0 | point >> 18
            to += 1
            out[to] = 0x80 | (point >> 12 & 63)
        to += 1
        out[to] = 0x80 | (point >> 6 & 63)
    out[to + 1] = 0x80 | (point & 63)
    return to + 2
