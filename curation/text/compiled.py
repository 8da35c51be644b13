"""What the text kernels share: how they are compiled, how UTF-8 is decoded, what kind a code point is."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from curation.dedup.kernels import has_numba

Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]

BULLETS = "•‣◦▪●■-–*"
TERMINALS = ".?!\"'…”’»。！？"  # C4: . ? ! and quotation marks; the same in typographic and full-width form

SPACE, LETTER, LINE_END, BULLET, TERMINAL = 1, 2, 4, 8, 16
# Two million entries, not 0x110000: four bytes hold 21 bits, so that damaged UTF-8 cannot read beyond the table.
_CODE_POINTS = 1 << 21
_FNV_OFFSET, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """Compile on the first call (seconds) and keep the machine code on disk; a process that finds it loads it (0.5 s).

    The kept code of a function does not notice that a function it calls in another module has changed, so a kernel
    calls none but those of its own module and of this one, which stay as they are.

    Without numba the interpreter runs the same lines to the same numbers, two hundred times slower.
    """
    if not has_numba():
        return np.errstate(over="ignore")(function)  # hashes are meant to wrap
    from numba import njit

    try:
        return cast(_F, njit(cache=True, nogil=True)(function))
    except RuntimeError:  # no folder can hold the machine code: each process compiles for itself
        return cast(_F, njit(nogil=True)(function))


@cache
def kinds() -> UInt8:
    """Return the bits SPACE to TERMINAL of every code point (2 MiB, built once in 0.1 s)."""
    points = list(map(chr, range(0x110000)))
    found = np.zeros(_CODE_POINTS, np.uint8)
    found[: len(points)] |= SPACE * np.fromiter(map(str.isspace, points), np.uint8)
    found[: len(points)] |= LETTER * np.fromiter(map(str.isalpha, points), np.uint8)
    found[[ord("\n"), ord("\r")]] |= LINE_END
    found[[ord(bullet) for bullet in BULLETS]] |= BULLET
    found[[ord(mark) for mark in TERMINALS]] |= TERMINAL
    return found


@compiled
def decode(data: UInt8, at: int, end: int) -> tuple[int, int]:
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


@compiled
def enter(data: UInt8, spans: Int64, table: Int64, span: int) -> int:
    """Enter a span of bytes into an open-addressing table of spans; return the span of the same bytes, old or this."""
    first, behind = spans[span, 0], spans[span, 1]
    slot = np.int64(fnv(data, first, behind) & np.uint64(len(table) - 1))
    while table[slot] >= 0:
        known = table[slot]
        if same(data, first, behind, spans[known, 0], spans[known, 1]):
            return int(known)
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = span
    return span


@compiled
def fnv(data: UInt8, first: int, behind: int) -> np.uint64:
    """FNV-1a; the high half is folded in because the table looks at the low bits."""
    value = _FNV_OFFSET
    for at in range(first, behind):
        value = (value ^ np.uint64(data[at])) * _FNV_PRIME
    return value ^ (value >> np.uint64(32))


@compiled
def same(data: UInt8, first: int, behind: int, other_first: int, other_behind: int) -> bool:
    """Return whether two spans hold the same bytes."""
    if behind - first != other_behind - other_first:
        return False
    alike, length = 0, behind - first
    while alike < length and data[first + alike] == data[other_first + alike]:
        alike += 1
    return alike == length


@compiled
def buckets(entries: int) -> int:
    """Return a power of two of at least twice the entries."""
    size = 2
    while size < 2 * entries:
        size *= 2
    return size
