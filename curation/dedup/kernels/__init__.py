"""Which kernels run: numba's where it is installed, else numpy, datasketch and the interpreter. The bytes are equal.

This is the only place that asks. Nothing of numba is imported before the first kernel is wanted (0.3 s), so that
commands which only read can import the packages above for nothing.

numba's cache of machine code notices a change in the file of a function, and in no other. So each compiled file
stands alone: it calls no compiled function of another one, and has its own copy of the constants it uses.
"""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from curation.dedup.kernels.layout import Batch, Buckets, State

Bytes = NDArray[np.uint8]
Hashes = NDArray[np.uint64]
Signatures = NDArray[np.uint32]
Integers = NDArray[np.int64]
Nodes = NDArray[np.int32]
Flags = NDArray[np.uint8]
F = TypeVar("F", bound=Callable[..., object])

PADDING = 72  # bytes a text kernel may read past the last document: one 64-byte block and one 8-byte word
WHITESPACE = 0x20  # every byte up to this one separates words


class Kernels(Protocol):
    """What both implementations offer. Texts are bytes end to end, document d being data[offsets[d]:offsets[d + 1]]."""

    def collapse(self, data: Bytes, offsets: Integers, /) -> tuple[Bytes, Integers]:
        """Return the texts with each run of whitespace as one space and none at either end, and `PADDING` after."""

    def word_items(self, data: Bytes, offsets: Integers, /) -> tuple[Hashes, Integers]:
        """Return one hash per word, in order, and the offsets of the documents in them; data is padded."""

    def character_items(self, data: Bytes, offsets: Integers, /) -> tuple[Hashes, Integers]:
        """Return one hash per code point, in order, and the offsets of the documents in them."""

    def ngrams(self, items: Hashes, offsets: Integers, length: int, out_offsets: Integers, /) -> Hashes:
        """Return the hashes of `length` neighbouring items, out_offsets[d + 1] - out_offsets[d] of them for d."""

    def minhash(self, hashes: Hashes, offsets: Integers, a: Signatures, b: Signatures, /) -> Signatures:
        """Return uint32[documents, permutations], datasketch's affine32 on the upper halves of the hashes."""

    def minhash_legacy(self, hashes: Hashes, offsets: Integers, a: Hashes, b: Hashes, /) -> Signatures:
        """Return uint32[documents, permutations], datasketch 1.x's scheme on the upper halves of the hashes."""

    def link(self, a: Integers, b: Integers, ids: Integers, parents: Nodes, slots: Nodes, used: int, /) -> int:
        """Join the components of a[i] and b[i]; return how many nodes there are now."""

    def place(self, ids: Integers, slots: Nodes, /) -> None:
        """Fill the empty table `slots` with the nodes whose ids are given."""

    def flatten(self, parents: Nodes, /) -> None:
        """Let every node point at its root."""

    def greedy_walk(self, batch: "Batch", start: int, state: "State", /) -> int:
        """Decide rows from `start` on by the greedy rule; return the first one that found no room."""

    def component_walk(self, batch: "Batch", start: int, state: "State", /) -> int:
        """Join rows from `start` on by verified pairs; return the first one that found no room."""

    def close_component(self, state: "State", /) -> None:
        """Decide the members of the open component by the component rule and forget them."""

    def rehash(self, old: "Buckets", new: "Buckets", buckets: int, /) -> None:
        """Copy the lists of `old` into the larger empty table of `new`."""


def has_numba() -> bool:
    """Say whether loops are compiled here, without importing the compiler."""
    return find_spec("numba") is not None


@cache
def chosen() -> Kernels:
    """Return the kernels of this process."""
    if has_numba():
        from curation.dedup.kernels import compiled

        return compiled
    from curation.dedup.kernels import plain

    return plain


def loop(function: F) -> F:
    """Compile a function written in numba's subset of Python at its first call, or leave it as it is without numba."""
    return _compile(function, no_cfunc_wrapper=True)


def inner_loop(function: F) -> F:
    """Like `loop`, for functions that only loops call: without the entry from Python, half of the compile time."""
    return _compile(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def _compile(function: F, **options: Any) -> F:
    """Hand a function to numba, with a cache beside the module or in the user's cache folder.

    Where neither can be written (a container with a read-only image and no home), numba refuses at this point; then
    each process compiles for itself.
    """
    if not has_numba():
        return function
    import numba

    njit: Any = numba.njit
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        return cast(F, njit(cache=True, **options)(function))
    except RuntimeError:
        return cast(F, njit(**options)(function))
