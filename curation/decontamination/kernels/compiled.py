"""The kernels that numba compiles for the processor at hand, and the arrays they are given."""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return"

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from curation.decontamination.index import Index
from curation.decontamination.kernels import Bytes, Codes, Flags, FoldTable, Hashes, Offsets
from curation.dedup.kernels import inner_loop, loop

# numba's cache sees no change in another file, so this one has its own copies.
SEPARATOR, IGNORED, DEPENDS, EITHER, EXPANSION = 0, 0x110000, 0x110001, 0x110002, 0x110003
SHORTEST, LONGEST = 8, 13
MARGIN_CHARACTERS = 200
FNV_BASIS, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
BASE = np.uint64(0x9E3779B97F4A7C15)
BASE_SHORTEST = np.uint64(pow(0x9E3779B97F4A7C15, 8, 1 << 64))  # weight of the word that leaves the rolling window
LENGTH_SALT = np.uint64(0xD1B54A32D192ED03)


class Lookup(NamedTuple):
    """A Bloom filter of the 8-grams that end an n-gram, an open-addressing table of n-grams, what the slots number."""

    endings: Hashes
    slots: NDArray[np.int32]
    lengths: Offsets
    ngrams: Hashes
    words: NDArray[np.uint8]


def split(data: Bytes, offsets: Offsets, fold: FoldTable) -> tuple[Hashes, Offsets, Offsets, Offsets, Bytes]:
    texts = len(offsets) - 1
    word_offsets, flags = np.zeros(texts + 1, np.int64), np.zeros(texts, np.uint8)
    capacity, count = (int(offsets[-1] - offsets[0]) + texts) // 2 + 1, -1
    while count < 0:
        hashes = np.empty(capacity, np.uint64)
        starts, ends = np.empty((2, capacity), np.int64)
        count = _split(data, offsets, *fold, hashes, starts, ends, word_offsets, flags)
        capacity *= 3  # a few characters fold to more words than they have bytes
    return hashes[:count], starts[:count], ends[:count], word_offsets, flags


def split_codes(codes: Codes, starts: Offsets, ends: Offsets) -> tuple[Hashes, Offsets, Offsets]:
    return _split_codes(codes, starts, ends)


def ngrams(hashes: Hashes, offsets: Offsets, counts: Offsets) -> tuple[Hashes, Hashes, Offsets]:
    total = int(counts.sum())
    keys, endings, lengths = np.empty(total, np.uint64), np.empty(total, np.uint64), np.empty(total, np.int64)
    _fill_ngrams(hashes, offsets, keys, endings, lengths)
    return keys, endings, lengths


def lookup(index: Index) -> Lookup:
    slots = np.full(_power_of_two(2 * len(index.ngrams)), -1, np.int32)
    _fill_slots(index.ngrams, slots)
    bits = np.zeros(_power_of_two(16 * len(index.endings)) // 64, np.uint64)  # 2 of 16 set: 1 word in 70 is vain
    _fill_bits(index.endings, bits)
    return Lookup(bits, slots, np.unique(index.words).astype(np.int64), index.ngrams, index.words)


def search(hashes: Hashes, offsets: Offsets, lookup: object) -> Offsets:
    capacity, count = 1024, -1
    while count < 0:
        found = np.empty((3, capacity), np.int64)
        count = _search(hashes, offsets, *cast(Lookup, lookup), found)
        capacity *= 8
    return found[:, :count]


def cuts(data: Bytes, offsets: Offsets, rows: Offsets, starts: Offsets, ends: Offsets) -> Offsets:
    found = np.empty((4, len(rows)), np.int64)
    by_start, by_end = np.lexsort((starts, rows)), np.lexsort((ends, rows))  # so that each text is walked once
    found[::2, by_start] = _cut_starts(data, offsets, rows[by_start], starts[by_start])
    found[1::2, by_end] = _cut_ends(data, offsets, rows[by_end], ends[by_end])
    return found


def resuming(doc_ids: Offsets, starts: Offsets, ends: Offsets) -> Flags:
    return _resuming(doc_ids, starts, ends)


def _power_of_two(least: int) -> int:
    return 1 << max(6, (least - 1).bit_length())


@inner_loop
def _mix(h):
    """Spread a 64-bit value over all its bits (the finaliser of MurmurHash3)."""
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


@inner_loop
def _decode(data, i):
    """Return the code point that begins at byte i, not an ASCII one, and its bytes."""
    first = np.int64(data[i])
    second = np.int64(data[i + 1]) & 63
    if first < 0xE0:
        return (first & 31) << 6 | second, 2
    third = np.int64(data[i + 2]) & 63
    if first < 0xF0:
        return (first & 15) << 12 | second << 6 | third, 3
    return (first & 7) << 18 | second << 12 | third << 6 | (np.int64(data[i + 3]) & 63), 4


@loop
def _split(data, offsets, codes, expansions, expansion_offsets, hashes, starts, ends, word_offsets, flags):
    """Hash the words of every text and return how many there are, -1 if they do not fit.

    A text whose folding depends on neighbours gets flag 1 and no words; one that has two readings gets flag 2.
    """
    rows = offsets.shape[0] - 1
    count = 0
    for row in range(rows):
        begin, end = offsets[row], offsets[row + 1]
        h, start, last, is_open = FNV_BASIS, begin, begin, False
        i = begin
        while i <= end:
            here, code = i, np.uint32(SEPARATOR)  # one step past the end closes the last word
            if i == end:
                i += 1
            elif data[i] < 0x80:
                code = codes[data[i]]
                i += 1
            else:
                point, width = _decode(data, i)
                i += width
                code = codes[point]
            first, stop = 0, 1  # a character folds to one code, seldom to a sequence of them
            if code >= IGNORED:
                if code == DEPENDS:
                    flags[row] |= 1
                    count = word_offsets[row]
                    break
                if code < EXPANSION:
                    flags[row] |= np.uint8(2 * (code == EITHER))
                    continue
                first, stop = expansion_offsets[code - EXPANSION], expansion_offsets[code - EXPANSION + 1]
            for k in range(first, stop):
                part = expansions[k] if code >= EXPANSION else code
                if part != SEPARATOR:
                    if not is_open:
                        h, start, is_open = FNV_BASIS, here, True
                    h = (h ^ np.uint64(part)) * FNV_PRIME
                    last = i
                elif is_open:
                    if count == hashes.shape[0]:
                        return -1
                    hashes[count], starts[count], ends[count] = _mix(h), start - begin, last - begin
                    count += 1
                    is_open = False
        word_offsets[row + 1] = count
    return count


@loop
def _split_codes(codes, code_starts, code_ends):
    """Hash the words of one folded text, given the original bytes of each folded code."""
    size = codes.shape[0] // 2 + 1
    hashes, starts, ends = np.empty(size, np.uint64), np.empty(size, np.int64), np.empty(size, np.int64)
    h, count, is_open = FNV_BASIS, 0, False
    for i in range(codes.shape[0] + 1):
        if i < codes.shape[0] and codes[i] != SEPARATOR:
            if not is_open:
                h, starts[count], is_open = FNV_BASIS, code_starts[i], True
            h = (h ^ np.uint64(codes[i])) * FNV_PRIME
            ends[count] = code_ends[i]
        elif is_open:
            hashes[count] = _mix(h)
            count += 1
            is_open = False
    return hashes[:count], starts[:count], ends[:count]


@inner_loop
def _window_hash(hashes, first, length):
    """Combine the hashes of `length` words in their order."""
    h = np.uint64(0)
    for i in range(length):
        h = h * BASE + hashes[first + i]
    return h


@inner_loop
def _ngram_hash(window, length):
    """Return the hash of an n-gram from its window hash: n-grams of different lengths have nothing in common."""
    return _mix(window ^ (np.uint64(length) * LENGTH_SALT))


@loop
def _fill_ngrams(hashes, offsets, keys, endings, lengths):
    at = 0
    for text in range(offsets.shape[0] - 1):
        begin, size = offsets[text], offsets[text + 1] - offsets[text]
        if size < SHORTEST:
            continue
        length = min(size, LONGEST)
        for i in range(begin, begin + size - length + 1):
            keys[at] = _ngram_hash(_window_hash(hashes, i, length), length)
            endings[at] = _window_hash(hashes, i + length - SHORTEST, SHORTEST)
            lengths[at] = length
            at += 1


@loop
def _fill_slots(ngrams, slots):
    last = np.uint64(slots.shape[0] - 1)
    for i in range(ngrams.shape[0]):
        at = ngrams[i] & last
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & last
        slots[at] = i


@inner_loop
def _two_bits(h):
    """Return a mask of the two bits that a mixed hash has in its word of the filter: one cache line tells."""
    one = np.uint64(1)
    return one << (h >> np.uint64(58)) | one << (h >> np.uint64(52) & np.uint64(63))


@loop
def _fill_bits(endings, bits):
    last = np.uint64(bits.shape[0] - 1)
    for i in range(endings.shape[0]):
        h = _mix(endings[i])
        bits[h & last] |= _two_bits(h)


@loop
def _search(hashes, offsets, endings, slots, lengths, ngrams, ngram_words, found):
    """Look up every window of words that ends like an n-gram; return the hits, -1 if `found` is too small for them."""
    count = 0
    last_word, last_slot = np.uint64(endings.shape[0] - 1), np.uint64(slots.shape[0] - 1)
    for row in range(offsets.shape[0] - 1):
        begin = offsets[row]
        rolling = np.uint64(0)
        for i in range(begin, offsets[row + 1]):
            rolling = rolling * BASE + hashes[i]
            if i - begin >= SHORTEST:
                rolling -= hashes[i - SHORTEST] * BASE_SHORTEST
            h = _mix(rolling)
            mask = _two_bits(h)
            if i - begin < SHORTEST - 1 or endings[h & last_word] & mask != mask:
                continue
            for length in lengths:
                first = i - length + 1
                if first < begin:
                    break
                key = _ngram_hash(_window_hash(hashes, first, length), length)
                at = key & last_slot
                while slots[at] >= 0 and ngrams[slots[at]] != key:
                    at = (at + np.uint64(1)) & last_slot
                if slots[at] >= 0 and ngram_words[slots[at]] == length:
                    if count == found.shape[1]:
                        return -1
                    found[0, count], found[1, count], found[2, count] = row, first, slots[at]
                    count += 1
    return count


@inner_loop
def _after(data, i):
    """Return where the code point after the one at byte i begins."""
    first = data[i]
    return i + (1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4)


@inner_loop
def _is_mark(byte):
    return byte == 0x2E or byte == 0x21 or byte == 0x3F  # . ! ?


@loop
def _cut_starts(data, offsets, rows, starts):
    """Return where the cuts begin, in bytes and in code points. Hits come by row and start."""
    cuts = np.empty((2, rows.shape[0]), np.int64)
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
        cuts[0, hit], cuts[1, hit] = cut - begin, cut_character
    return cuts


@loop
def _cut_ends(data, offsets, rows, ends):
    """Return where the cuts end, in bytes and in code points. Hits come by row and end."""
    cuts = np.empty((2, rows.shape[0]), np.int64)
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
        cuts[0, hit], cuts[1, hit] = cut - begin, cut_character
    return cuts


@loop
def _resuming(doc_ids, starts, ends):
    """Tell which hits remain if each one hides those that begin within it."""
    counted = np.zeros(doc_ids.shape[0], np.bool_)
    doc_id, resume = np.int64(-1), np.int64(0)
    for hit in range(doc_ids.shape[0]):
        if doc_ids[hit] != doc_id or starts[hit] >= resume:
            counted[hit] = True
            doc_id, resume = doc_ids[hit], ends[hit]
    return counted
