"""What `curation.text.signals` counts in a text's UTF-8, as machine code over the buffers of a whole batch.

Two passes over each text, one of words and one of lines; no object per text, no ratio, no rounding. The words used
here are defined in `curation.text.signals`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]

STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")  # Rae et al. 2021, A.1.1
BULLETS = "•‣◦▪●■-–*"

_SPACE, _LETTER, _LINE_END, _BULLET = 1, 2, 4, 8
# Two million entries, not 0x110000: four bytes hold 21 bits, so that damaged UTF-8 cannot read beyond the table.
_CODE_POINTS = 1 << 21
_ELLIPSIS = 0x2026
_FNV_OFFSET, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)

# columns of the raw counts
(
    CHARACTERS,
    WORDS,
    WORD_CHARACTERS,
    HASHES,
    ELLIPSES,
    ALPHABETIC,
    STOPS,
    DIGITS,
    LINES,
    BULLETED,
    ENDING,
    REPEATED,
    LINE_CHARACTERS,
    REPEATED_CHARACTERS,
) = range(14)
COUNTS = 14

_F = TypeVar("_F", bound=Callable[..., Any])


def count(data: UInt8, offsets: Int64) -> Int64:
    """Return the counts of n texts, one row a text, in the columns numbered above.

    Args:
        data: UTF-8 of all texts; need not be valid, nothing outside a text's bytes is read.
        offsets: first byte of each text and the byte behind the last one, n + 1.
    """
    counts = np.zeros((len(offsets) - 1, COUNTS), np.int64)
    if len(counts):
        _measure(data, offsets, _kinds(), _stop_words(), counts)
    return counts


@cache
def _kinds() -> UInt8:
    """Return the bits _SPACE, _LETTER, _LINE_END and _BULLET of every code point (2 MiB, built once in 0.1 s)."""
    points = list(map(chr, range(0x110000)))
    kinds = np.zeros(_CODE_POINTS, np.uint8)
    kinds[: len(points)] |= _SPACE * np.fromiter(map(str.isspace, points), np.uint8)
    kinds[: len(points)] |= _LETTER * np.fromiter(map(str.isalpha, points), np.uint8)
    kinds[[ord("\n"), ord("\r")]] |= _LINE_END
    kinds[[ord(bullet) for bullet in BULLETS]] |= _BULLET
    return kinds


@cache
def _stop_words() -> Int64:
    """Return the stop words as numbers: their bytes, the last one lowest."""
    return np.array([int.from_bytes(word.encode(), "big") for word in STOP_WORDS], np.int64)


def _compiled(function: _F) -> _F:
    """Compile on the first call (3 s) and keep the machine code on disk; a process that finds it loads it (0.5 s)."""
    return cast(_F, njit(cache=True, nogil=True)(function))


@_compiled
def _measure(data: UInt8, offsets: Int64, kinds: UInt8, stops: Int64, counts: Int64) -> None:
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        _count_words(data, start, end, kinds, stops, counts[row])
        _count_lines(data, start, end, kinds, counts[row])


@_compiled
def _decode(data: UInt8, at: int, end: int) -> tuple[int, int]:
    """Return the code point at a byte and its width; a cut-off sequence is one replacement character per byte."""
    first = int(data[at])
    width = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if width == 1:
        return first, 1
    if at + width > end:
        return 0xFFFD, 1
    point = first & (0x7F >> width)
    for following in range(at + 1, at + width):
        point = point << 6 | int(data[following] & 0x3F)
    return point, width


@_compiled
def _count_words(data: UInt8, start: int, end: int, kinds: UInt8, stops: Int64, counts: Int64) -> None:
    at, in_word, dots = start, False, 0
    first_letter = last_letter = -1  # bytes of the word from its first letter up to behind its last one
    while at < end:
        point, width = _decode(data, at, end)
        kind = kinds[point]
        counts[CHARACTERS] += 1
        if kind & _SPACE:
            if in_word:
                _close_word(data, first_letter, last_letter, stops, counts)
            in_word, first_letter = False, -1
        else:
            in_word = True
            counts[WORD_CHARACTERS] += 1
            if kind & _LETTER:
                first_letter = at if first_letter < 0 else first_letter
                last_letter = at + width
        counts[DIGITS] += 48 <= point <= 57
        counts[HASHES] += point == 35
        dots = dots + 1 if point == 46 else 0
        counts[ELLIPSES] += dots == 3 or point == _ELLIPSIS
        dots = 0 if dots == 3 else dots
        at += width
    if in_word:
        _close_word(data, first_letter, last_letter, stops, counts)


@_compiled
def _close_word(data: UInt8, first_letter: int, last_letter: int, stops: Int64, counts: Int64) -> None:
    counts[WORDS] += 1
    if first_letter < 0:
        return
    counts[ALPHABETIC] += 1
    if last_letter - first_letter > 4:
        return
    number = 0
    for at in range(first_letter, last_letter):
        byte = int(data[at])
        number = number << 8 | (byte | 32 if 65 <= byte <= 90 else byte)
    for stop in range(len(stops)):
        if stops[stop] == number:
            counts[STOPS] |= 1 << stop


@_compiled
def _count_lines(data: UInt8, start: int, end: int, kinds: UInt8, counts: Int64) -> None:
    most = 1
    for at in range(start, end):
        most += data[at] == 10 or data[at] == 13
    lines = np.empty((most, 2), np.int64)  # first byte of a line, byte behind its last
    buckets = 2
    while buckets < 2 * most:
        buckets *= 2
    table = np.full(buckets, -1, np.int64)  # open addressing: numbers of the lines seen
    seen, at = 0, start
    while at < end:
        at, first, behind, characters, bullet = _next_line(data, at, end, kinds)
        if first == behind:
            continue
        counts[LINES] += 1
        counts[LINE_CHARACTERS] += characters
        counts[BULLETED] += bullet
        counts[ENDING] += _ends_in_ellipsis(data, first, behind)
        lines[seen, 0], lines[seen, 1] = first, behind
        if _is_new(data, lines, table, seen):
            seen += 1
        else:
            counts[REPEATED] += 1
            counts[REPEATED_CHARACTERS] += characters


@_compiled
def _next_line(data: UInt8, at: int, end: int, kinds: UInt8) -> tuple[int, int, int, int, bool]:
    """Return where the next line starts, and of this one: first byte, byte behind it, code points, bulleted."""
    first = behind = at
    characters = passed = 0  # code points up to the last one that is not whitespace; up to here
    bullet = False
    while at < end:
        point, width = _decode(data, at, end)
        kind = kinds[point]
        at += width
        if kind & _LINE_END:
            break
        if kind & _SPACE:
            passed += 1
            continue
        if first == behind:
            first, passed, bullet = at - width, 0, kind & _BULLET != 0
        passed += 1
        behind, characters = at, passed
    return at, first, behind, characters, bullet


@_compiled
def _ends_in_ellipsis(data: UInt8, first: int, behind: int) -> bool:
    if behind - first < 3:
        return False
    a, b, c = int(data[behind - 3]), int(data[behind - 2]), int(data[behind - 1])
    return (a == 46 and b == 46 and c == 46) or (a == 0xE2 and b == 0x80 and c == 0xA6)


@_compiled
def _is_new(data: UInt8, lines: Int64, table: Int64, line: int) -> bool:
    """Enter a line into the table unless one with the same bytes is there; return whether it was entered."""
    first, behind = lines[line, 0], lines[line, 1]
    slot = np.int64(_hash(data, first, behind) & np.uint64(len(table) - 1))
    while table[slot] >= 0:
        if _same(data, first, behind, lines[table[slot], 0], lines[table[slot], 1]):
            return False
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = line
    return True


@_compiled
def _hash(data: UInt8, first: int, behind: int) -> np.uint64:
    """FNV-1a; the high half is folded in because the table looks at the low bits."""
    value = _FNV_OFFSET
    for at in range(first, behind):
        value = (value ^ np.uint64(data[at])) * _FNV_PRIME
    return value ^ (value >> np.uint64(32))


@_compiled
def _same(data: UInt8, first: int, behind: int, other_first: int, other_behind: int) -> bool:
    if behind - first != other_behind - other_first:
        return False
    alike, length = 0, behind - first
    while alike < length and data[first + alike] == data[other_first + alike]:
        alike += 1
    return alike == length
