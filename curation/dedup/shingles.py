"""Texts as sequences, or sets, of hashed n-grams.

What a word is stands in `normalise`. A hash is a polynomial over the n items in 64 bits, finalised by fmix64; among
1.8 million distinct word 5-grams there was no collision.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from curation.dedup.kernels import Hashes, Integers, chosen
from curation.dedup.normalise import lower, normalise

Unit = Literal["word", "character"]
SET_CAP = 65_536  # hashes of a set that are kept for exact comparison: 512 KiB, about 65,000 distinct words of a book


@dataclass(frozen=True, slots=True)
class Shingles:
    """Shingle hashes of many documents end to end, in order of appearance, repeats included.

    Document d has hashes[offsets[d]:offsets[d + 1]].
    """

    hashes: Hashes
    offsets: Integers

    @property
    def counts(self) -> Integers:
        """Shingles of each document, int64[documents]; 0 where it has no words."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class ShingleSets:
    """Sorted distinct shingle hashes of many documents end to end, and which of the sets are capped.

    A capped set holds the smallest hashes of the document only: a sample chosen by the hash, so that two capped
    documents can still be compared.
    """

    hashes: Hashes
    offsets: Integers
    capped: NDArray[np.bool_]


def shingle(texts: pa.Array, *, unit: Unit = "word", length: int = 5) -> Shingles:
    """Return the shingles of every text: each run of `length` words (or code points) of the normalised text.

    A text with fewer items than `length` has one shingle of all of them; one without any has none. In scripts that
    are written without spaces a "word" is a whole sentence, so that only `unit="character"` finds near-duplicates.
    Memory is up to 8 bytes per two bytes of text on top of the text: feed batches of a few MiB.

    Raises:
        pa.ArrowInvalid: a text is not UTF-8.
    """
    kernels = chosen()
    if unit == "word":
        items, offsets = kernels.word_items(*lower(texts))
    else:
        items, offsets = kernels.character_items(*normalise(texts))
    out_offsets = np.zeros(len(offsets), np.int64)
    np.cumsum(_shingle_counts(np.diff(offsets), length), out=out_offsets[1:])
    return Shingles(kernels.ngrams(items, offsets, length, out_offsets), out_offsets)


def shingle_sets(texts: pa.Array, *, unit: Unit = "word", length: int = 5, cap: int = SET_CAP) -> ShingleSets:
    """Return the set of shingles of every text, sorted, at most the `cap` smallest hashes of each."""
    return sets_of(shingle(texts, unit=unit, length=length), cap=cap)


def sets_of(shingles: Shingles, *, cap: int = SET_CAP) -> ShingleSets:
    """Return the sets of shingles already hashed."""
    hashes, offsets = _sort_each(shingles)
    is_first = np.ones(hashes.size, bool)
    is_first[1:] = hashes[1:] != hashes[:-1]
    is_first[offsets[:-1][np.diff(offsets) > 0]] = True
    before = np.zeros(hashes.size + 1, np.int64)  # distinct hashes, of any document, before each place
    np.cumsum(is_first, out=before[1:])
    sizes = np.diff(before[offsets])
    capped = sizes > cap
    if capped.any():
        place = before[:-1] - np.repeat(before[offsets[:-1]], np.diff(offsets))
        is_first &= place < cap
    set_offsets = np.zeros(len(offsets), np.int64)
    np.cumsum(np.minimum(sizes, cap), out=set_offsets[1:])
    return ShingleSets(hashes[is_first], set_offsets, capped)


def _shingle_counts(items: Integers, length: int) -> Integers:
    return np.where(items >= length, items - length + 1, np.minimum(items, 1))


def _sort_each(shingles: Shingles) -> tuple[Hashes, Integers]:
    """Sort the hashes of each document; numpy's vectorised sort, called per document, beats a compiled loop."""
    hashes = shingles.hashes.copy()
    bounds = shingles.offsets.tolist()
    for start, end in pairwise(bounds):
        hashes[start:end].sort()
    return hashes, shingles.offsets
