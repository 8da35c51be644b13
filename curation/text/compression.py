"""How small a text becomes when repeated passages are replaced by references: the size of an LZ4 block, not the block.

The parse is LZ4's greedy one with a table of 4,096 recent places, written out here so that the number depends on no
library's version. Real LZ4 differs by a few percent because it skips ahead where nothing repeats.
"""

import numpy as np

from curation.text.compiled import Int64, UInt8, compiled

_TABLE_BITS = 12
_SHORTEST = 4  # bytes of a match
_REACH = 65_535
_TAIL = 12  # LZ4 starts no match in the last 12 bytes and leaves the last 5 as they are
_HASH = np.uint64(2654435761)


def compressed_bytes(data: UInt8, offsets: Int64) -> Int64:
    """Return the bytes of each of n texts after compression."""
    sizes = np.zeros(len(offsets) - 1, np.int64)
    if len(sizes):
        _measure(data, offsets, sizes)
    return sizes


@compiled
def _measure(data: UInt8, offsets: Int64, sizes: Int64) -> None:
    table = np.empty(1 << _TABLE_BITS, np.int64)
    for row in range(len(sizes)):
        table[:] = -1
        sizes[row] = _size(data, offsets[row], offsets[row + 1], table)


@compiled
def _size(data: UInt8, start: int, end: int, table: Int64) -> int:
    size, at, literals_from = 0, start, start
    while at < end - _TAIL:
        word = np.uint64(int(data[at]) | int(data[at + 1]) << 8 | int(data[at + 2]) << 16 | int(data[at + 3]) << 24)
        slot = np.int64((word * _HASH & np.uint64(0xFFFFFFFF)) >> np.uint64(32 - _TABLE_BITS))
        before = table[slot]
        table[slot] = at
        length = 0
        if before >= 0 and at - before <= _REACH:
            while at + length < end - 5 and data[before + length] == data[at + length]:
                length += 1
        if length < _SHORTEST:
            at += 1
            continue
        # a token, the literals, a distance of two bytes, and what of the lengths the token cannot hold
        size += 3 + at - literals_from + _more(at - literals_from) + _more(length - _SHORTEST)
        at += length
        literals_from = at
    rest = end - literals_from
    return size + (1 + rest + _more(rest) if end > start else 0)


@compiled
def _more(length: int) -> int:
    return 0 if length < 15 else 1 + (length - 15) // 255
