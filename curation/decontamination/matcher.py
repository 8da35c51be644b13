"""Every hit of a benchmark n-gram in a batch of texts, and what a cut for it would remove.

Documents of any length are searched, all hits are reported, overlapping ones too. A cut takes the n-gram and 200 code
points on either side, and goes on outwards to a sentence end: what stays before it ends with the last of `. ! ?` that
leaves at least 199 code points between itself and the n-gram, what stays after it begins behind the first such mark
with at least 200 between; without a mark the cut reaches the document's edge. This is the cut of MT-NLG's tool,
measured from the n-gram as it stands in the text.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from curation.decontamination.index import BASE, SHORTEST, Index, ngram_hash, window_hash
from curation.decontamination.words import Bytes, Offsets, Words, mix, split, text_buffers
from schemas.tables import MATCHES

MARGIN_CHARACTERS = 200  # removed on each side of an n-gram at least (MT-NLG)
_CHUNK_BYTES = 4 << 20  # text split into words at a time: 24 bytes for each word
_BASE_SHORTEST = np.uint64(pow(int(BASE), SHORTEST, 1 << 64))  # weight of the word that leaves the rolling window

FOUND = pa.schema([pa.field("row", pa.int64()), *list(MATCHES)[1:]])


def find(texts: pa.Array, index: Index) -> pa.RecordBatch:
    """Return all hits in a string or large_string array, sorted by row, start and words; a null has none.

    The columns are those of the matches table, with `row`, the position in `texts`, for doc_id. `start`, `end`,
    `cut_start` and `cut_end` are half-open UTF-8 byte offsets into the text as it is, on code point boundaries.
    """
    data, offsets = text_buffers(texts)
    parts = [(*_find_words(texts[a:b], index, False), a) for a, b in _chunks(offsets)]
    rows = np.concatenate([np.zeros(0, np.int64), *[rows + a for rows, *_, a in parts]])
    starts, ends = (np.concatenate([np.zeros(0, np.int64), *[p[i] for p in parts]]) for i in (1, 2))
    positions = np.concatenate([np.zeros(0, np.int64), *[p[3] for p in parts]])
    return _with_cuts(data, offsets, rows, starts, ends, positions, index)


def _chunks(offsets: Offsets) -> list[tuple[int, int]]:
    """Cut rows into ranges of about 4 MiB of text, a larger text alone."""
    numbers = (offsets[:-1] - offsets[0]) // _CHUNK_BYTES
    firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
    return list(zip(firsts.tolist(), [*firsts[1:].tolist(), len(numbers)], strict=True)) if len(numbers) else []


def _find_words(texts: pa.Array, index: Index, again: bool) -> tuple[Offsets, Offsets, Offsets, Offsets]:
    """Return row, start, end and position in the index of every hit, in both readings of zero-width spaces."""
    words = split(texts, index.mode, zero_width_space_separates=again)
    rows, firsts, positions = _search_words(words, index)
    lasts = firsts + index.words[positions] - 1
    hits = (rows, words.starts[firsts], words.ends[lasts], positions)
    either = np.flatnonzero(words.either)
    if not len(either):
        return hits
    rows_again, *others = _find_words(texts.take(pa.array(either)), index, True)
    both = [np.concatenate(pair) for pair in zip(hits, (either[rows_again], *others), strict=True)]
    rows, starts, ends, positions = np.unique(np.stack(both), axis=1)
    return rows, starts, ends, positions


def _search_words(words: Words, index: Index) -> tuple[Offsets, Offsets, Offsets]:
    """Return row, number of the first word and position in the index of every hit."""
    table, capacity, count = index.lookup, 1024, -1
    while count < 0:
        found = np.empty((3, capacity), np.int64)
        count = _search(
            words.hashes, words.offsets, table.endings, table.slots, table.lengths, index.ngrams, index.words, found
        )
        capacity *= 8
    return found[0, :count], found[1, :count], found[2, :count]


def _with_cuts(
    data: Bytes, offsets: Offsets, rows: Offsets, starts: Offsets, ends: Offsets, positions: Offsets, index: Index
) -> pa.RecordBatch:
    by_end = np.lexsort((ends, rows))
    cuts = np.empty((4, len(rows)), np.int64)  # start and end in bytes, start and end in code points
    _cut_ends(data, offsets, rows[by_end], ends[by_end], cuts)
    cuts[:, by_end] = cuts.copy()
    order = np.lexsort((index.words[positions], starts, rows))
    rows, starts, ends, positions, cuts = rows[order], starts[order], ends[order], positions[order], cuts[:, order]
    _cut_starts(data, offsets, rows, starts, cuts)
    columns: list[npt.NDArray[np.generic]] = [rows, index.ngrams[positions], index.words[positions].astype(np.int32)]
    columns += [starts, ends, *cuts]
    return pa.RecordBatch.from_arrays([pa.array(c, f.type) for c, f in zip(columns, FOUND, strict=True)], schema=FOUND)


@njit(cache=True, nogil=True)
def _search(hashes, offsets, endings, slots, lengths, ngrams, ngram_words, found):  # type: ignore[no-untyped-def]
    """Look up every window of words that ends like an n-gram; return the hits, -1 if `found` is too small for them."""
    count = 0
    last_bit, last_slot = np.uint64(64 * endings.shape[0] - 1), np.uint64(slots.shape[0] - 1)
    for row in range(offsets.shape[0] - 1):
        begin = offsets[row]
        rolling = np.uint64(0)
        for i in range(begin, offsets[row + 1]):
            rolling = rolling * BASE + hashes[i]
            if i - begin >= SHORTEST:
                rolling -= hashes[i - SHORTEST] * _BASE_SHORTEST
            bit = mix(rolling) & last_bit
            if i - begin < SHORTEST - 1 or endings[bit >> np.uint64(6)] >> (bit & np.uint64(63)) & np.uint64(1) == 0:
                continue
            for length in lengths:
                first = i - length + 1
                if first < begin:
                    break
                key = ngram_hash(window_hash(hashes, first, length), length)
                at = key & last_slot
                while slots[at] >= 0 and ngrams[slots[at]] != key:
                    at = (at + np.uint64(1)) & last_slot
                if slots[at] >= 0 and ngram_words[slots[at]] == length:
                    if count == found.shape[1]:
                        return -1
                    found[0, count], found[1, count], found[2, count] = row, first, slots[at]
                    count += 1
    return count


@njit(cache=True, nogil=True, inline="always")
def _after(data, i):  # type: ignore[no-untyped-def]
    """Return where the code point after the one at byte i begins."""
    first = data[i]
    return i + (1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4)


@njit(cache=True, nogil=True, inline="always")
def _is_mark(byte):  # type: ignore[no-untyped-def]
    return byte == 0x2E or byte == 0x21 or byte == 0x3F  # . ! ?


@njit(cache=True, nogil=True)
def _cut_starts(data, offsets, rows, starts, cuts):  # type: ignore[no-untyped-def]
    """Set where the cuts begin. Hits come by row and start, so that each text is walked through once."""
    row = np.int64(-1)
    lead, lead_character, trail, cut, cut_character = 0, 0, 0, 0, 0
    for hit in range(rows.shape[0]):
        begin = offsets[rows[hit]]
        if rows[hit] != row:
            row, lead, lead_character, trail, cut, cut_character = rows[hit], begin, 0, begin, begin, 0
        while lead < begin + starts[hit]:
            lead = _after(data, lead)
            lead_character += 1
            if lead_character > MARGIN_CHARACTERS:
                trail = _after(data, trail)
            if lead_character >= MARGIN_CHARACTERS and _is_mark(data[trail]):  # the code point 200 before `lead`
                cut, cut_character = trail + 1, lead_character - MARGIN_CHARACTERS + 1
        cuts[0, hit], cuts[2, hit] = cut - begin, cut_character


@njit(cache=True, nogil=True)
def _cut_ends(data, offsets, rows, ends, cuts):  # type: ignore[no-untyped-def]
    """Set where the cuts end. Hits come by row and end; a mark that serves one hit may serve the next."""
    row = np.int64(-1)
    behind, ahead, skipped, cut, cut_character = 0, 0, 0, 0, 0
    for hit in range(rows.shape[0]):
        begin, stop = offsets[rows[hit]], offsets[rows[hit] + 1]
        if rows[hit] != row:
            row, behind, ahead, skipped, cut, cut_character = rows[hit], begin, begin, 0, begin, 0
        while behind < begin + ends[hit]:  # `ahead` stays 200 code points ahead of `behind`, or at the text's end
            behind = _after(data, behind)
            skipped -= 1
        while skipped < MARGIN_CHARACTERS and ahead < stop:
            ahead = _after(data, ahead)
            skipped += 1
        while cut < stop and (cut <= ahead or not _is_mark(data[cut - 1])):
            cut = _after(data, cut)
            cut_character += 1
        cuts[1, hit], cuts[3, hit] = cut - begin, cut_character
