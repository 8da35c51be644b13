"""The kernels that numba compiles for the processor at hand.

Two habits of numba shape the loops. A loop over a slice (`for j in range(part.size): part[j]`) is vectorised, the
same loop over absolute positions is not, because of the test for negative indices: 7 times slower. And an operation
on two uint32 gives uint64, so that every intermediate is cast back.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from curation.dedup.kernels import Bytes, Hashes, Integers, Signatures, inner_loop, loop
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

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio as a 64-bit fraction
MIX_A = np.uint64(0xFF51AFD7ED558CCD)  # MurmurHash3's finalisers, of 64 bits and of 32 as datasketch has it
MIX_B = np.uint64(0xC4CEB9FE1A85EC53)
MIX32_A = np.uint32(0x85EBCA6B)
MIX32_B = np.uint32(0xC2B2AE35)
ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
NO_MINIMUM = np.uint32(0xFFFFFFFF)  # over no shingles, as in datasketch
BLOCK = 64  # bytes tested for whitespace at once
PRIME = np.uint64((1 << 61) - 1)  # of datasketch 1.x
LOWER_HALF = np.uint64(0xFFFFFFFF)
WHITESPACE = 0x20
PADDING = 72


def _address(context: Any, builder: Any, signature: Any, arguments: Any, pointee: Any) -> Any:
    """Emit the address of element arguments[1] of the byte array arguments[0], as a pointer to `pointee`."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), pointee.as_pointer())


def _emit_load_word(_context: Any, data: Any, position: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature, arguments, ir.IntType(64)), align=1)

    return types.uint64(data, position), generate


def _emit_whitespace_mask(_context: Any, data: Any, position: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), BLOCK)
        block = builder.load(_address(context, builder, signature, arguments, vector), align=1)
        is_space = builder.icmp_unsigned("<=", block, ir.Constant(vector, [WHITESPACE] * BLOCK))
        return builder.bitcast(is_space, ir.IntType(64))

    return types.uint64(data, position), generate


def _emit_lowest_bit(_context: Any, word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


# Three instructions that Python has no words for: the eight bytes at any position as a little-endian number; a number
# whose bit i says whether the byte i places on separates words; the place of the lowest bit of a number above zero.
_load_word = cast(Callable[[Bytes, int], np.uint64], intrinsic(_emit_load_word))
_whitespace_mask = cast(Callable[[Bytes, int], np.uint64], intrinsic(_emit_whitespace_mask))
_lowest_bit = cast(Callable[[np.uint64], int], intrinsic(_emit_lowest_bit))


@inner_loop
def _mix(x: np.uint64) -> np.uint64:
    x = (x ^ (x >> np.uint64(33))) * MIX_A
    x = (x ^ (x >> np.uint64(33))) * MIX_B
    return x ^ (x >> np.uint64(33))


@inner_loop
def _mix32(x: np.uint32) -> np.uint32:
    x = np.uint32(np.uint32(x ^ (x >> np.uint32(16))) * MIX32_A)
    x = np.uint32(np.uint32(x ^ (x >> np.uint32(13))) * MIX32_B)
    return np.uint32(x ^ (x >> np.uint32(16)))


@inner_loop
def _word_hash(data: Bytes, start: int, end: int) -> np.uint64:
    """Hash the bytes of a word, eight at a time; the last one to eight bytes are read with what follows them masked."""
    h = np.uint64(end - start) * GOLDEN
    while end - start > 8:
        h = (h ^ _load_word(data, start)) * MIX_A
        h ^= h >> np.uint64(32)
        start += 8
    h = (h ^ (_load_word(data, start) & (ALL_ONES >> np.uint64(64 - 8 * (end - start))))) * MIX_A
    return h ^ (h >> np.uint64(32))


@inner_loop
def _document_words(data: Bytes, start: int, end: int, items: Hashes, used: int) -> int:
    """Append the word hashes of one document; the changes between space and word are found 64 bytes at a time."""
    word = -1
    before = np.uint64(1)
    for block in range(start, end, BLOCK):
        space = _whitespace_mask(data, block)
        if end - block < BLOCK:
            space |= ALL_ONES << np.uint64(end - block)
        changes = space ^ ((space << np.uint64(1)) | before)
        before = space >> np.uint64(63)
        while changes != np.uint64(0):
            position = block + _lowest_bit(changes)
            changes &= changes - np.uint64(1)
            if word < 0:
                word = position
            else:
                items[used] = _word_hash(data, word, position)
                used += 1
                word = -1
    if word >= 0:
        items[used] = _word_hash(data, word, end)
        used += 1
    return used


@loop
def word_items(data: Bytes, offsets: Integers) -> tuple[Hashes, Integers]:
    documents = offsets.size - 1
    items = np.empty(offsets[-1] // 2 + documents, np.uint64)  # a word and its separator take two bytes
    item_offsets = np.zeros(documents + 1, np.int64)
    for d in range(documents):
        item_offsets[d + 1] = _document_words(data, offsets[d], offsets[d + 1], items, item_offsets[d])
    return items[: item_offsets[-1]], item_offsets


@inner_loop
def _code_point(data: Bytes, i: int) -> tuple[np.int64, int]:
    """Return the code point that starts at byte i, and its number of bytes; the text is valid UTF-8."""
    first = np.int64(data[i])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | np.int64(data[i + 1]) & 0x3F, 2
    middle = np.int64(data[i + 1]) & 0x3F
    if first < 0xF0:
        return (first & 0x0F) << 12 | middle << 6 | np.int64(data[i + 2]) & 0x3F, 3
    tail = (np.int64(data[i + 2]) & 0x3F) << 6 | np.int64(data[i + 3]) & 0x3F
    return (first & 0x07) << 18 | middle << 12 | tail, 4


@loop
def character_items(data: Bytes, offsets: Integers) -> tuple[Hashes, Integers]:
    documents = offsets.size - 1
    items = np.empty(offsets[-1], np.uint64)
    item_offsets = np.zeros(documents + 1, np.int64)
    used = 0
    for d in range(documents):
        i = offsets[d]
        while i < offsets[d + 1]:
            code_point, width = _code_point(data, i)
            h = np.uint64(code_point + 1) * MIX_A
            items[used] = h ^ (h >> np.uint64(32))
            used += 1
            i += width
        item_offsets[d + 1] = used
    return items[:used], item_offsets


@loop
def ngrams(items: Hashes, offsets: Integers, length: int, out_offsets: Integers) -> Hashes:
    out = np.empty(out_offsets[-1], np.uint64)
    leaving = np.uint64(1)  # the power of the item that drops out of the window
    for _ in range(length):
        leaving *= GOLDEN
    for d in range(offsets.size - 1):
        part = items[offsets[d] : offsets[d + 1]]
        grams = out[out_offsets[d] : out_offsets[d + 1]]
        h = np.uint64(0)
        for i in range(part.size):
            h = h * GOLDEN + part[i]
            if i >= length:
                h -= part[i - length] * leaving
            if i + 1 >= length:
                grams[i + 1 - length] = _mix(h)
        if 0 < part.size < length:
            grams[0] = _mix(h)
    return out


@loop
def collapse(data: Bytes, offsets: Integers) -> tuple[Bytes, Integers]:
    out = np.empty(offsets[-1] + PADDING, np.uint8)
    out_offsets = np.zeros(offsets.size, np.int64)
    used = np.int64(0)
    for d in range(offsets.size - 1):
        after_space = np.int64(1)  # so that a document does not begin with one
        for byte in data[offsets[d] : offsets[d + 1]]:  # without a branch: whitespace is hard to foresee
            is_space = np.int64(byte <= WHITESPACE)
            out[used] = max(byte, np.uint8(WHITESPACE))
            used += 1 - (is_space & after_space)
            after_space = is_space
        used -= after_space & np.int64(used > out_offsets[d])
        out_offsets[d + 1] = used
    out[used : used + PADDING] = WHITESPACE
    return out[: used + PADDING], out_offsets


@inner_loop
def _minima(part: Signatures, a: Signatures, b: Signatures, signature: Signatures) -> None:
    """Fill one signature, four permutations in one pass over the shingles, so that a load feeds four chains."""
    last = a.size - 1
    for k in range(0, a.size, 4):
        k1, k2, k3 = min(k + 1, last), min(k + 2, last), min(k + 3, last)
        a0, a1, a2, a3 = a[k], a[k1], a[k2], a[k3]
        b0, b1, b2, b3 = b[k], b[k1], b[k2], b[k3]
        m0 = m1 = m2 = m3 = NO_MINIMUM
        for j in range(part.size):
            x = part[j]
            v0, v1 = np.uint32(a0 * x + b0), np.uint32(a1 * x + b1)
            v2, v3 = np.uint32(a2 * x + b2), np.uint32(a3 * x + b3)
            m0 = v0 if v0 < m0 else m0
            m1 = v1 if v1 < m1 else m1
            m2 = v2 if v2 < m2 else m2
            m3 = v3 if v3 < m3 else m3
        signature[k], signature[k1], signature[k2], signature[k3] = m0, m1, m2, m3


@loop
def minhash(hashes: Hashes, offsets: Integers, a: Signatures, b: Signatures) -> Signatures:
    documents = offsets.size - 1
    signatures = np.empty((documents, a.size), np.uint32)
    longest = 0
    for d in range(documents):
        longest = max(longest, offsets[d + 1] - offsets[d])
    mixed = np.empty(longest, np.uint32)
    for d in range(documents):
        part = hashes[offsets[d] : offsets[d + 1]]
        for j in range(part.size):
            mixed[j] = _mix32(np.uint32(part[j] >> np.uint64(32)))
        _minima(mixed[: part.size], a, b, signatures[d])
    return signatures


@inner_loop
def _legacy_minimum(part: Hashes, a: np.uint64, b: np.uint64) -> np.uint32:
    """Return the least (a * x + b) modulo 2**61 - 1, lower half; the remainder is folded, 8 times faster than `%`."""
    low = LOWER_HALF
    for j in range(part.size):
        value = a * part[j] + b
        value = (value & PRIME) + (value >> np.uint64(61))
        value = value - PRIME if value >= PRIME else value
        value &= LOWER_HALF
        low = value if value < low else low
    return np.uint32(low)


@loop
def minhash_legacy(hashes: Hashes, offsets: Integers, a: Hashes, b: Hashes) -> Signatures:
    documents = offsets.size - 1
    signatures = np.empty((documents, a.size), np.uint32)
    upper = hashes >> np.uint64(32)
    for d in range(documents):
        part = upper[offsets[d] : offsets[d + 1]]
        for k in range(a.size):
            signatures[d, k] = _legacy_minimum(part, a[k], b[k])
    return signatures
