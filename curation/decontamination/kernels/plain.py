"""The same kernels without a compiler: whole batches at a time in numpy, a document at a time for cuts.

They run where numba is missing and serve as the second opinion on the compiled ones.
"""

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from curation.decontamination.index import Index
from curation.decontamination.kernels import (
    DEPENDS,
    EITHER,
    EXPANSION,
    IGNORED,
    SEPARATOR,
    Bytes,
    Codes,
    Flags,
    FoldTable,
    Hashes,
    Offsets,
)

FNV_BASIS, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
BASE, LENGTH_SALT = np.uint64(0x9E3779B97F4A7C15), 0xD1B54A32D192ED03
SHORTEST, LONGEST = 8, 13
MARGIN_CHARACTERS = 200
MARKS = np.frombuffer(b".!?", np.uint8)


class Lookup(NamedTuple):
    """Sorted tables, to be searched by halving."""

    endings: Hashes
    ngrams: Hashes
    words: NDArray[np.uint8]
    lengths: list[int]


def mix(h: Hashes) -> Hashes:
    """Spread 64-bit values over all their bits (the finaliser of MurmurHash3)."""
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(33))


def split(data: Bytes, offsets: Offsets, fold: FoldTable) -> tuple[Hashes, Offsets, Offsets, Offsets, Bytes]:
    flags = np.zeros(len(offsets) - 1, np.uint8)
    text = data[offsets[0] : offsets[-1]]
    points = np.frombuffer(text.tobytes().decode().encode("utf-32-le"), "<u4")
    starts = np.flatnonzero((text & 0xC0) != 0x80) + offsets[0]
    ends = np.append(starts[1:], offsets[-1])[: len(starts)]
    rows = np.searchsorted(offsets, starts, "right") - 1
    codes = fold.codes[points]
    flags[rows[codes == EITHER]] |= 2
    flags[rows[codes == DEPENDS]] |= 1
    told = np.flatnonzero((codes != IGNORED) & (codes != EITHER) & (flags[rows] & 1 == 0))
    parts, sources = _expanded(codes[told], fold)
    of = told[sources]
    begins = offsets[rows[of]]
    hashes, starts, ends, words = _words(parts, starts[of] - begins, ends[of] - begins, rows[of])
    return hashes, starts, ends, np.searchsorted(words, np.arange(len(offsets))).astype(np.int64), flags


def split_codes(codes: Codes, starts: Offsets, ends: Offsets) -> tuple[Hashes, Offsets, Offsets]:
    return _words(codes, starts, ends, np.zeros(len(codes), np.int64))[:3]


def _expanded(codes: Codes, fold: FoldTable) -> tuple[Codes, Offsets]:
    """Return the folded codes of what each character folds to, and the number of the character each comes from."""
    longer = codes >= EXPANSION
    which = np.where(longer, codes, EXPANSION).astype(np.int64) - EXPANSION
    firsts = np.where(longer, fold.expansion_offsets[which], 0)
    lengths = np.ones(len(codes), np.int64)
    lengths[longer] = np.diff(fold.expansion_offsets)[which[longer]]
    sources = np.repeat(np.arange(len(codes)), lengths)
    within = np.arange(len(sources)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    parts = codes[sources]
    expanded = longer[sources]
    parts[expanded] = fold.expansions[(firsts[sources] + within)[expanded]]
    return parts, sources


def _words(parts: Codes, starts: Offsets, ends: Offsets, rows: Offsets) -> tuple[Hashes, Offsets, Offsets, Offsets]:
    """Return hash, first byte, end and row of every run of codes that separate nothing."""
    inside = np.concatenate([[False], parts != SEPARATOR, [False]])
    edge = np.ones(len(parts) + 1, np.bool_)
    edge[1:-1] = rows[1:] != rows[:-1]
    firsts = np.flatnonzero(inside[1:] & (~inside[:-1] | edge))
    lengths = np.flatnonzero(inside[:-1] & (~inside[1:] | edge)) - firsts
    hashes = np.full(len(firsts), FNV_BASIS)
    active, at = np.arange(len(firsts)), 0
    while active.size:
        hashes[active] = (hashes[active] ^ parts[firsts[active] + at].astype(np.uint64)) * FNV_PRIME
        at += 1
        active = active[lengths[active] > at]
    return mix(hashes), starts[firsts], ends[firsts + lengths - 1], rows[firsts]


def ngrams(hashes: Hashes, offsets: Offsets, counts: Offsets) -> tuple[Hashes, Hashes, Offsets]:
    lengths = np.repeat(np.minimum(np.diff(offsets), LONGEST), counts)
    firsts = np.repeat(offsets[:-1] - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    keys, endings = np.zeros(len(firsts), np.uint64), np.zeros(len(firsts), np.uint64)
    for length in range(SHORTEST, LONGEST + 1):
        chosen = lengths == length
        keys[chosen] = _keys(hashes, firsts[chosen], length)
        endings[chosen] = _windows(hashes, firsts[chosen] + length - SHORTEST, SHORTEST)
    return keys, endings, lengths


def _windows(hashes: Hashes, firsts: Offsets, length: int) -> Hashes:
    found = np.zeros(len(firsts), np.uint64)
    for i in range(length):
        found = found * BASE + hashes[firsts + i]
    return found


def _keys(hashes: Hashes, firsts: Offsets, length: int) -> Hashes:
    salt = np.uint64(length * LENGTH_SALT % (1 << 64))
    return mix(_windows(hashes, firsts, length) ^ salt)


def lookup(index: Index) -> Lookup:
    return Lookup(index.endings, index.ngrams, index.words, np.unique(index.words).tolist())


def search(hashes: Hashes, offsets: Offsets, lookup: object) -> Offsets:
    table = cast(Lookup, lookup)
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    eights = np.flatnonzero(np.arange(len(hashes)) - offsets[rows] >= SHORTEST - 1)
    if not len(table.ngrams):
        return np.zeros((3, 0), np.int64)
    _, likely = _positions(table.endings, _windows(hashes, eights - SHORTEST + 1, SHORTEST))
    ends = eights[likely]
    found = [np.zeros((3, 0), np.int64)]
    for length in table.lengths:
        firsts = ends - length + 1
        firsts = firsts[firsts >= offsets[rows[ends]]]
        positions, is_hit = _positions(table.ngrams, _keys(hashes, firsts, length))
        is_hit &= table.words[positions] == length
        found.append(np.stack([rows[firsts], firsts, positions])[:, is_hit])
    return np.concatenate(found, axis=1)


def _positions(table: Hashes, keys: Hashes) -> tuple[Offsets, Flags]:
    """Return where each key stands in a sorted table that is not empty, and whether it stands there."""
    positions = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return positions, table[positions] == keys


def cuts(data: Bytes, offsets: Offsets, rows: Offsets, starts: Offsets, ends: Offsets) -> Offsets:
    found = np.empty((4, len(rows)), np.int64)
    for row in np.unique(rows).tolist():
        text = data[offsets[row] : offsets[row + 1]]
        begins = np.flatnonzero((text & 0xC0) != 0x80)
        edges = np.append(begins, len(text))
        marks = np.flatnonzero(np.isin(text[begins], MARKS))
        hits = np.flatnonzero(rows == row)
        first = np.searchsorted(begins, starts[hits])
        last = np.searchsorted(edges, ends[hits])
        before = np.searchsorted(marks, first - MARGIN_CHARACTERS, "right") - 1
        cut_first = np.where(before >= 0, np.append(marks, -1)[before] + 1, 0)
        cut_last = np.append(marks + 1, len(begins))[np.searchsorted(marks, last + MARGIN_CHARACTERS)]
        found[:, hits] = np.stack([edges[cut_first], edges[cut_last], cut_first, cut_last])
    return found


def resuming(doc_ids: Offsets, starts: Offsets, ends: Offsets) -> Flags:
    counted = np.zeros(len(doc_ids), np.bool_)
    document, resume = -1, 0
    for hit, (doc_id, start, end) in enumerate(zip(doc_ids.tolist(), starts.tolist(), ends.tolist(), strict=True)):
        if doc_id != document or start >= resume:
            counted[hit] = True
            document, resume = doc_id, end
    return counted
