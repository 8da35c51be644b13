"""numpy's `RandomState.shuffle`, draw for draw, faster on arrays that no cache holds.

Megatron's order of training is that shuffle, so it must be equal bit for bit. What bounds it is memory: each step swaps
with a random element. Places are drawn here some hundred ahead, without a branch that depends on a draw, so that the
processor waits for many elements at a time instead of one after the other.
"""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

FROM_ELEMENTS = 1 << 22  # below, numpy is done before the kernel is compiled
_MOST_ELEMENTS = 1 << 32  # numpy draws 64 bits above
_AHEAD = 256
_WORDS, _MIDDLE = 624, 397  # of MT19937
_UPPER, _LOWER, _TWIST = 0x80000000, 0x7FFFFFFF, 0x9908B0DF


def shuffle(values: NDArray[Any], state: np.random.RandomState) -> None:
    """Permute a contiguous array in place, and leave the state as `state.shuffle(values)` does."""
    if not FROM_ELEMENTS <= len(values) <= _MOST_ELEMENTS or not find_spec("numba"):
        state.shuffle(values)
        return
    name, key, position, *rest = state.get_state(legacy=True)
    words = np.array(key, np.uint32)
    position = _compiled()(values, words, position)
    state.set_state((name, words, position, *rest))


@cache
def _compiled() -> Callable[..., Any]:
    import numba

    compile_: Callable[..., Any] = numba.njit(nogil=True)
    twist, temper = compile_(_twist), compile_(_temper)

    def run(values: NDArray[Any], words: NDArray[np.uint32], position: int) -> int:
        places, drawn = np.empty(_AHEAD + 1, np.int64), np.empty(_WORDS, np.int64)
        temper(words, drawn)
        last = len(values) - 1
        mask = 1
        while mask < last:
            mask = 2 * mask + 1
        while last > 0:
            while mask >> 1 >= last:
                mask >>= 1
            count = min(_AHEAD, last - (mask >> 1))  # as far as one mask goes
            found = 0
            while found < count:
                if position == _WORDS:
                    twist(words)
                    temper(words, drawn)
                    position = 0
                places[found] = drawn[position] & mask
                found += places[found] <= last - found  # a draw that is too large is drawn again
                position += 1
            for step in range(count):
                place = places[step]
                values[last - step], values[place] = values[place], values[last - step]
            last -= count
        return position

    compiled: Callable[..., Any] = compile_(run)
    return compiled


def _twist(words: NDArray[np.uint32]) -> None:
    for at in range(_WORDS):
        both = (np.int64(words[at]) & _UPPER) | (np.int64(words[(at + 1) % _WORDS]) & _LOWER)
        words[at] = np.int64(words[(at + _MIDDLE) % _WORDS]) ^ (both >> 1) ^ ((both & 1) * _TWIST)


def _temper(words: NDArray[np.uint32], drawn: NDArray[np.int64]) -> None:
    for at in range(_WORDS):
        value = np.int64(words[at])
        value ^= value >> 11
        value ^= (value << 7) & 0x9D2C5680
        value ^= (value << 15) & 0xEFC60000
        drawn[at] = value ^ (value >> 18)
