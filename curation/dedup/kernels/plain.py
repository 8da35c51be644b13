"""The same kernels without a compiler: whole-batch numpy for text, datasketch itself for signatures.

They run where numba is missing and serve as the second opinion on the compiled ones. Loops over candidates and edges
are the ones of `walks` and `links`, interpreted.
"""

import numpy as np
from datasketch import MinHash

from curation.dedup.kernels import PADDING, WHITESPACE, Bytes, Hashes, Integers, Signatures
from curation.dedup.kernels.links import flatten, link, place
from curation.dedup.kernels.walks import close_component, component_walk, greedy_walk, rehash

__all__ = [
    "character_items",
    "close_component",
    "collapse",
    "component_walk",
    "flatten",
    "greedy_walk",
    "link",
    "minhash",
    "minhash_legacy",
    "ngrams",
    "place",
    "rehash",
    "word_items",
]


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_A = np.uint64(0xFF51AFD7ED558CCD)
MIX_B = np.uint64(0xC4CEB9FE1A85EC53)
ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
STRIP = 4096  # shingles that datasketch permutes at once: 4 MB at 260 permutations


def mix(x: Hashes) -> Hashes:
    """Return fmix64 of every element."""
    x = (x ^ (x >> np.uint64(33))) * MIX_A
    x = (x ^ (x >> np.uint64(33))) * MIX_B
    return x ^ (x >> np.uint64(33))


def _word_bounds(data: Bytes, offsets: Integers) -> tuple[Integers, Integers]:
    """Return the first byte of every word, and the byte after its last; words end where their document ends."""
    size = int(offsets[-1])
    inside = np.zeros(size + 2, bool)
    inside[1:-1] = data[:size] > WHITESPACE
    edge = np.zeros(size + 1, bool)
    edge[offsets] = True
    starts = inside[1:] & (~inside[:-1] | edge)
    ends = inside[:-1] & (~inside[1:] | edge)
    return np.flatnonzero(starts), np.flatnonzero(ends)


def _load_words(data: Bytes, positions: Integers) -> Hashes:
    words: Hashes = data[positions[:, None] + np.arange(8)].view("<u8")
    return words[:, 0]


def word_items(data: Bytes, offsets: Integers) -> tuple[Hashes, Integers]:
    starts, ends = _word_bounds(data, offsets)
    h = (ends - starts).astype(np.uint64) * GOLDEN
    position = starts.copy()
    active = np.flatnonzero(ends - position > 8)
    while active.size:
        mixed = (h[active] ^ _load_words(data, position[active])) * MIX_A
        h[active] = mixed ^ (mixed >> np.uint64(32))
        position[active] += 8
        active = active[ends[active] - position[active] > 8]
    rest = ALL_ONES >> (64 - 8 * (ends - position)).astype(np.uint64)
    h = (h ^ (_load_words(data, position) & rest)) * MIX_A
    return h ^ (h >> np.uint64(32)), np.searchsorted(starts, offsets).astype(np.int64)


def character_items(data: Bytes, offsets: Integers) -> tuple[Hashes, Integers]:
    text = data[: offsets[-1]]
    code_points = np.frombuffer(text.tobytes().decode().encode("utf-32-le"), "<u4").astype(np.uint64)
    before = np.zeros(text.size + 1, np.int64)
    np.cumsum((text & 0xC0) != 0x80, out=before[1:])
    h = (code_points + np.uint64(1)) * MIX_A
    return h ^ (h >> np.uint64(32)), before[offsets]


def ngrams(items: Hashes, offsets: Integers, length: int, out_offsets: Integers) -> Hashes:
    counts = np.diff(out_offsets)
    first = np.repeat(offsets[:-1] - out_offsets[:-1], counts) + np.arange(out_offsets[-1])
    end = np.repeat(offsets[1:], counts)
    h = np.zeros(first.size, np.uint64)
    for i in range(length):
        there = first + i < end  # the only n-gram of a short document has fewer items
        h[there] = h[there] * GOLDEN + items[first[there] + i]
    return mix(h)


def collapse(data: Bytes, offsets: Integers) -> tuple[Bytes, Integers]:
    size = int(offsets[-1])
    starts, _ = _word_bounds(data, offsets)
    words = np.searchsorted(starts, offsets)
    follows = np.ones(starts.size, bool)  # a word with another one before it in its document
    follows[words[:-1][np.diff(words) > 0]] = False
    keep = data[:size] > WHITESPACE
    keep[starts[follows] - 1] = True
    before = np.zeros(size + 1, np.int64)
    np.cumsum(keep, out=before[1:])
    out = np.full(before[-1] + PADDING, WHITESPACE, np.uint8)
    out[: before[-1]] = np.maximum(data[:size][keep], WHITESPACE)
    return out, before[offsets]


def minhash(hashes: Hashes, offsets: Integers, a: Signatures, b: Signatures) -> Signatures:
    signatures = np.empty((offsets.size - 1, a.size), np.uint32)
    upper = (hashes >> np.uint64(32)).astype(np.uint32)
    for d in range(offsets.size - 1):
        sketch = MinHash(num_perm=a.size, hashfunc=int, permutations=(a, b), scheme="affine32")
        for start in range(offsets[d], offsets[d + 1], STRIP):
            sketch.update_batch(upper[start : min(start + STRIP, offsets[d + 1])])
        signatures[d] = sketch.hashvalues
    return signatures


def minhash_legacy(hashes: Hashes, offsets: Integers, a: Hashes, b: Hashes) -> Signatures:
    signatures = np.empty((offsets.size - 1, a.size), np.uint32)
    upper = hashes >> np.uint64(32)
    for d in range(offsets.size - 1):
        sketch = MinHash(num_perm=a.size, hashfunc=int, permutations=(a, b), scheme="legacy")
        for start in range(offsets[d], offsets[d + 1], STRIP):
            sketch.update_batch(upper[start : min(start + STRIP, offsets[d + 1])])
        signatures[d] = sketch.hashvalues.astype(np.uint32)
    return signatures
