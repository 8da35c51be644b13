"""Which kernels run: numba's where it is installed, else numpy's. They give the same bytes, 20 to 60 times slower.

This is the only place of the package that asks. As in `curation.dedup.kernels`, nothing of numba is imported before a
kernel is wanted, and the compiled file stands alone, since numba's cache notices no change in another file.
"""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from curation.dedup.kernels import has_numba

if TYPE_CHECKING:
    from curation.decontamination.index import Index

Bytes = NDArray[np.uint8]
Codes = NDArray[np.uint32]
Hashes = NDArray[np.uint64]
Offsets = NDArray[np.int64]
Flags = NDArray[np.bool_]

# What a fold table says about a code point, where it is not simply the folded code point.
SEPARATOR = 0
IGNORED = 0x110000
DEPENDS = 0x110001  # what it folds to depends on its neighbours
EITHER = 0x110002  # ignored, and a separator in a second reading
EXPANSION = 0x110003  # and upwards: index of a folded sequence


class FoldTable(NamedTuple):
    """What each code point of Unicode contributes to words."""

    codes: Codes
    expansions: Codes  # folded sequences, one after another; 0 ends a word
    expansion_offsets: Offsets


class Kernels(Protocol):
    """What both implementations offer. Text i is data[offsets[i]:offsets[i + 1]], words likewise."""

    def split(
        self, data: Bytes, offsets: Offsets, fold: FoldTable, /
    ) -> tuple[Hashes, Offsets, Offsets, Offsets, Bytes]:
        """Return hash, first byte and end of every word, the offsets of the texts in them, and a flag for each text.

        A text whose folding depends on neighbours gets flag 1 and no words; one with two readings gets flag 2.
        """

    def split_codes(self, codes: Codes, starts: Offsets, ends: Offsets, /) -> tuple[Hashes, Offsets, Offsets]:
        """Return the words of one folded text, given the original bytes of each folded code."""

    def ngrams(self, hashes: Hashes, offsets: Offsets, counts: Offsets, /) -> tuple[Hashes, Hashes, Offsets]:
        """Return hash, hash of the last 8 words, and words of every n-gram: counts[i] of them for text i."""

    def lookup(self, index: "Index", /) -> object:
        """Return what `search` reads, made from an index once."""

    def search(self, hashes: Hashes, offsets: Offsets, lookup: object, /) -> Offsets:
        """Return int64[3, hits] of text, number of the first word, and position in the index; in any order."""

    def cuts(self, data: Bytes, offsets: Offsets, rows: Offsets, starts: Offsets, ends: Offsets, /) -> Offsets:
        """Return int64[4, hits]: where each hit's cut begins and ends, in bytes and then in code points."""

    def resuming(self, doc_ids: Offsets, starts: Offsets, ends: Offsets, /) -> Flags:
        """Tell which hits remain if each one hides those that begin within it."""


@cache
def chosen() -> Kernels:
    """Return the kernels of this process."""
    if has_numba():
        from curation.decontamination.kernels import compiled

        return compiled
    from curation.decontamination.kernels import plain

    return plain
