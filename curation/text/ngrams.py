"""How much of a text its repeated runs of words are, as the Gopher paper's repetition rules ask, in machine code.

A run is a sequence of n words, equal to another if each word is, byte for byte. Runs get numbers in the order in which
they first occur: a run of n is the pair (its first n - 1 words, its last word), so comparing is exact and cheap.
"""

import numpy as np

from curation.text.compiled import SPACE, Int64, UInt8, buckets, compiled, decode, enter, kinds

TOP = (2, 3, 4)
DUPLICATE = (5, 6, 7, 8, 9, 10)
_LONGEST = 10
_MIX = np.uint64(0x9E3779B97F4A7C15)


def count(data: UInt8, offsets: Int64) -> Int64:
    """Return the code points in repeated runs of n texts, one row a text, one column for each of TOP and DUPLICATE.

    TOP: code points of the most frequent run, words and one space between each two, times its occurrences; of several
    the first; 0 where no run occurs twice. DUPLICATE: code points of the words of runs that occurred before, met from
    the left, none counted twice.
    """
    counts = np.zeros((len(offsets) - 1, _LONGEST - 1), np.int64)
    if len(counts):
        _measure(data, offsets, kinds(), counts)
    return counts


@compiled
def _measure(data: UInt8, offsets: Int64, kinds: UInt8, counts: Int64) -> None:
    for row in range(len(offsets) - 1):
        ids, lengths = _words(data, offsets[row], offsets[row + 1], kinds)
        runs = ids.copy()
        for length in range(2, _LONGEST + 1):
            if len(ids) < length:
                break
            distinct = _lengthen(runs, ids, length)
            if distinct == len(ids) - length + 1:
                break  # all runs differ, and so do all longer ones
            if length <= 4:
                counts[row, length - 2] = _top(runs, lengths, length, distinct)
            else:
                counts[row, length - 2] = _duplicate(runs, lengths, length, distinct)


@compiled
def _words(data: UInt8, start: int, end: int, kinds: UInt8) -> tuple[Int64, Int64]:
    """Return the number of each word, equal for equal words, and its code points."""
    spans = np.empty(((end - start) // 2 + 2, 2), np.int64)
    lengths = np.empty(len(spans), np.int64)
    words, at, characters = 0, start, 0
    while at < end:
        point, width = decode(data, at, end)
        if kinds[point] & SPACE:
            if characters:
                spans[words, 1], lengths[words] = at, characters
                words, characters = words + 1, 0
        else:
            if not characters:
                spans[words, 0] = at
            characters += 1
        at += width
    if characters:
        spans[words, 1], lengths[words] = end, characters
        words += 1
    table = np.full(buckets(words), -1, np.int64)
    ids = np.empty(words, np.int64)
    for word in range(words):
        ids[word] = enter(data, spans, table, word)
    return ids, lengths[:words]


@compiled
def _lengthen(runs: Int64, ids: Int64, length: int) -> int:
    """Replace the numbers of runs of length - 1 by those of runs of length; return how many there are."""
    table = np.full(buckets(len(ids)), -1, np.int64)  # positions
    keys = np.empty(len(ids), np.uint64)
    distinct = 0
    for at in range(len(ids) - length + 1):
        key = np.uint64(runs[at]) << np.uint64(32) | np.uint64(ids[at + length - 1])
        mixed = key * _MIX
        slot = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(len(table) - 1))
        while table[slot] >= 0 and keys[table[slot]] != key:
            slot = (slot + 1) & (len(table) - 1)
        keys[at] = key
        if table[slot] < 0:
            table[slot] = at
            runs[at] = distinct
            distinct += 1
        else:
            runs[at] = runs[table[slot]]
    return distinct


@compiled
def _top(runs: Int64, lengths: Int64, length: int, distinct: int) -> int:
    occurrences = np.zeros(distinct, np.int64)
    last = len(lengths) - length + 1
    for at in range(last):
        occurrences[runs[at]] += 1
    top = np.argmax(occurrences)  # the first of several
    if occurrences[top] < 2:
        return 0
    first = 0
    while runs[first] != top:
        first += 1
    return int(occurrences[top] * (lengths[first : first + length].sum() + length - 1))


@compiled
def _duplicate(runs: Int64, lengths: Int64, length: int, distinct: int) -> int:
    seen = np.zeros(distinct, np.bool_)
    at = repeated = 0
    while at < len(lengths) - length + 1:
        if seen[runs[at]]:
            repeated += lengths[at : at + length].sum()
            at += length
        else:
            seen[runs[at]] = True
            at += 1
    return int(repeated)
