"""What `curation.text.signals` counts in a text's UTF-8, as machine code over the buffers of a whole batch.

Two passes over each text, one of words and one of lines and paragraphs; no object per text, no ratio, no rounding. The
words used here are defined in `curation.text.signals`.
"""

from functools import cache

import numpy as np

from curation.text.compiled import (
    BULLET,
    LETTER,
    LINE_END,
    SPACE,
    TERMINAL,
    Int64,
    UInt8,
    buckets,
    compiled,
    decode,
    enter,
    kinds,
)

STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")  # Rae et al. 2021, A.1.1
SHORT_LINE = 30  # code points (FineWeb)
FEW_WORDS = 3  # a line of fewer is dropped by C4

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
    LONGEST_WORD,
    SENTENCES,
    BRACKETS,
    LINE_BREAKS,
    TERMINATED,
    SHORT,
    OF_FEW_WORDS,
    PARAGRAPHS,
    REPEATED_PARAGRAPHS,
    REPEATED_PARAGRAPH_CHARACTERS,
) = range(24)
COUNTS = 24


def count(data: UInt8, offsets: Int64) -> Int64:
    """Return the counts of n texts, one row a text, in the columns numbered above.

    Args:
        data: UTF-8 of all texts; need not be valid, nothing outside a text's bytes is read.
        offsets: first byte of each text and the byte behind the last one, n + 1.
    """
    counts = np.zeros((len(offsets) - 1, COUNTS), np.int64)
    if len(counts):
        _measure(data, offsets, kinds(), _stop_words(), counts)
    return counts


@cache
def _stop_words() -> Int64:
    """Return the stop words as numbers: their bytes, the last one lowest."""
    return np.array([int.from_bytes(word.encode(), "big") for word in STOP_WORDS], np.int64)


@compiled
def _measure(data: UInt8, offsets: Int64, kinds: UInt8, stops: Int64, counts: Int64) -> None:
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        _count_words(data, start, end, kinds, stops, counts[row])
        _count_lines(data, start, end, kinds, counts[row])


@compiled
def _count_words(data: UInt8, start: int, end: int, kinds: UInt8, stops: Int64, counts: Int64) -> None:
    at, length, dots = start, 0, 0
    first_letter = last_letter = -1  # bytes of the word from its first letter up to behind its last one
    ends_sentence = False  # whether the word has ended in . ? or !, but for closing quotes and brackets
    while at < end:
        point, width = decode(data, at, end)
        kind = kinds[point]
        counts[CHARACTERS] += 1
        if kind & SPACE:
            if length:
                counts[SENTENCES] += ends_sentence
                _close_word(data, length, first_letter, last_letter, stops, counts)
            length, first_letter, ends_sentence = 0, -1, False
        else:
            length += 1
            if kind & LETTER:
                first_letter = at if first_letter < 0 else first_letter
                last_letter = at + width
            if point == 46 or point == 63 or point == 33:
                ends_sentence = True
            elif not (kind & TERMINAL or point == 41 or point == 93):
                ends_sentence = False
        counts[DIGITS] += 48 <= point <= 57
        counts[HASHES] += point == 35
        counts[BRACKETS] += point == 123 or point == 125
        counts[LINE_BREAKS] += point == 10 or (point == 13 and not (at + 1 < end and data[at + 1] == 10))
        dots = dots + 1 if point == 46 else 0
        counts[ELLIPSES] += dots == 3 or point == 0x2026
        dots = 0 if dots == 3 else dots
        at += width
    if length:
        counts[SENTENCES] += ends_sentence
        _close_word(data, length, first_letter, last_letter, stops, counts)


@compiled
def _close_word(data: UInt8, length: int, first_letter: int, last_letter: int, stops: Int64, counts: Int64) -> None:
    counts[WORDS] += 1
    counts[WORD_CHARACTERS] += length
    counts[LONGEST_WORD] = max(counts[LONGEST_WORD], length)
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


@compiled
def _count_lines(data: UInt8, start: int, end: int, kinds: UInt8, counts: Int64) -> None:
    most = 1
    for at in range(start, end):
        most += data[at] == 10 or data[at] == 13
    lines, paragraphs = np.empty((most, 2), np.int64), np.empty((most, 2), np.int64)  # first byte, byte behind
    table, paragraph_table = np.full(buckets(most), -1, np.int64), np.full(buckets(most), -1, np.int64)
    line = paragraph = paragraph_characters = 0
    at, open_paragraph = start, False
    while at < end:
        at, first, behind, characters, words, bullet, terminal = _next_line(data, at, end, kinds)
        if first == behind:
            if open_paragraph:
                _close_paragraph(data, paragraphs, paragraph_table, paragraph, paragraph_characters, counts)
                paragraph, open_paragraph = paragraph + 1, False
            continue
        if not open_paragraph:
            paragraphs[paragraph, 0], paragraph_characters, open_paragraph = first, 0, True
        paragraphs[paragraph, 1] = behind
        paragraph_characters += characters
        counts[LINES] += 1
        counts[LINE_CHARACTERS] += characters
        counts[BULLETED] += bullet
        counts[ENDING] += _ends_in_ellipsis(data, first, behind)
        counts[TERMINATED] += terminal
        counts[SHORT] += characters <= SHORT_LINE
        counts[OF_FEW_WORDS] += words < FEW_WORDS
        lines[line, 0], lines[line, 1] = first, behind
        if enter(data, lines, table, line) != line:
            counts[REPEATED] += 1
            counts[REPEATED_CHARACTERS] += characters
        line += 1
    if open_paragraph:
        _close_paragraph(data, paragraphs, paragraph_table, paragraph, paragraph_characters, counts)


@compiled
def _close_paragraph(
    data: UInt8, paragraphs: Int64, table: Int64, paragraph: int, characters: int, counts: Int64
) -> None:
    counts[PARAGRAPHS] += 1
    if enter(data, paragraphs, table, paragraph) != paragraph:
        counts[REPEATED_PARAGRAPHS] += 1
        counts[REPEATED_PARAGRAPH_CHARACTERS] += characters


@compiled
def _next_line(data: UInt8, at: int, end: int, kinds: UInt8) -> tuple[int, int, int, int, int, bool, bool]:
    """Return where the next line starts, and of this one: first byte, byte behind it, code points, words, whether it
    begins with a bullet and whether it ends in a terminal mark."""
    first = behind = at
    characters = passed = words = 0  # code points up to the last one that is not whitespace; up to here
    bullet = terminal = in_word = False
    while at < end:
        point, width = decode(data, at, end)
        kind = kinds[point]
        at += width
        if kind & LINE_END:
            at += point == 13 and at < end and data[at] == 10  # CR LF is one line end
            break
        if kind & SPACE:
            passed += 1
            in_word = False
            continue
        if first == behind:
            first, passed, bullet = at - width, 0, kind & BULLET != 0
        words += not in_word
        in_word, terminal = True, kind & TERMINAL != 0
        passed += 1
        behind, characters = at, passed
    return at, first, behind, characters, words, bullet, terminal


@compiled
def _ends_in_ellipsis(data: UInt8, first: int, behind: int) -> bool:
    if behind - first < 3:
        return False
    a, b, c = int(data[behind - 3]), int(data[behind - 2]), int(data[behind - 1])
    return (a == 46 and b == 46 and c == 46) or (a == 0xE2 and b == 0x80 and c == 0xA6)
