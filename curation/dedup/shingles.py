"""Texts as sequences, or sets, of hashed n-grams.

What a word is stands in `normalise`. A hash is a polynomial over the n items in 64 bits, finalised by fmix64; among
1.8 million distinct word 5-grams there was no collision. `sha1` hashes the bytes of each n-gram instead, its words
joined by single spaces, so that signatures can be compared with those that datasketch made elsewhere.
"""

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from curation.dedup.kernels import WHITESPACE, Hashes, Integers, chosen
from curation.dedup.normalise import lower, normalise
from curation.dedup.scripts import written_without_spaces

Unit = Literal["word", "character", "auto"]
Hash = Literal["rolling", "sha1"]
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


def shingle(texts: pa.Array, *, unit: Unit = "word", length: int = 5, hash: Hash = "rolling") -> Shingles:
    """Return the shingles of every text: each run of `length` words (or code points) of the normalised text.

    A text with fewer items than `length` has one shingle of all of them; one without any has none. In scripts that
    are written without spaces a "word" is a whole sentence, so that only `unit="character"` finds near-duplicates;
    "auto" takes code points for the texts that have most letters in such a script, and words for the others.
    Memory is up to 8 bytes per two bytes of text on top of the text: feed batches of a few MiB.

    Raises:
        pa.ArrowInvalid: a text is not UTF-8.
    """
    if unit == "auto":
        return _by_script(texts, length, hash)
    if hash == "sha1":
        return _sha1(texts, unit, length)
    kernels = chosen()
    if unit == "word":
        items, offsets = kernels.word_items(*lower(texts))
    else:
        items, offsets = kernels.character_items(*normalise(texts))
    out_offsets = np.zeros(len(offsets), np.int64)
    np.cumsum(_shingle_counts(np.diff(offsets), length), out=out_offsets[1:])
    return Shingles(kernels.ngrams(items, offsets, length, out_offsets), out_offsets)


def shingle_sets(
    texts: pa.Array, *, unit: Unit = "word", length: int = 5, hash: Hash = "rolling", cap: int = SET_CAP
) -> ShingleSets:
    """Return the set of shingles of every text, sorted, at most the `cap` smallest hashes of each."""
    return sets_of(shingle(texts, unit=unit, length=length, hash=hash), cap=cap)


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


def _by_script(texts: pa.Array, length: int, hash: Hash) -> Shingles:
    """Return code-point shingles of the texts written without spaces and word shingles of the others, in order."""
    bare = written_without_spaces(texts)
    if not bare.any() or bare.all():
        return shingle(texts, unit="character" if bare.any() else "word", length=length, hash=hash)
    halves = [
        shingle(texts.filter(pa.array(~bare)), unit="word", length=length, hash=hash),
        shingle(texts.filter(pa.array(bare)), unit="character", length=length, hash=hash),
    ]
    counts = np.empty(len(texts), np.int64)
    counts[~bare], counts[bare] = (half.counts for half in halves)
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    from_bare = np.repeat(bare, counts)
    hashes = np.empty(int(offsets[-1]), np.uint64)
    hashes[~from_bare], hashes[from_bare] = (half.hashes for half in halves)
    return Shingles(hashes, offsets)


def _sha1(texts: pa.Array, unit: Unit, length: int) -> Shingles:
    """Return the first eight bytes of every SHA-1, those that datasketch takes in the upper half."""
    data, offsets = normalise(texts)
    view, counts, digests = data.data, np.empty(len(texts), np.int64), list[bytes]()
    for d, (start, end) in enumerate(pairwise(offsets.tolist())):
        part = data[start:end]
        is_first = np.r_[True, part[:-1] == WHITESPACE] if unit == "word" else (part & 0xC0) != 0x80
        starts = np.flatnonzero(is_first)
        ends = np.r_[starts[1:] - (unit == "word"), part.size]
        counts[d] = _shingle_counts(np.array([starts.size if part.size else 0]), length)[0]
        last = np.minimum(np.arange(counts[d]) + length, starts.size) - 1
        bounds = zip((starts[: counts[d]] + start).tolist(), (ends[last] + start).tolist(), strict=True)
        digests += [hashlib.sha1(view[a:b], usedforsecurity=False).digest() for a, b in bounds]
    words = np.frombuffer(b"".join(digests), "<u4").reshape(-1, 5)
    out = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(counts, out=out[1:])
    return Shingles(words[:, 0].astype(np.uint64) << np.uint64(32) | words[:, 1], out)


def _shingle_counts(items: Integers, length: int) -> Integers:
    return np.where(items >= length, items - length + 1, np.minimum(items, 1))


def _sort_each(shingles: Shingles) -> tuple[Hashes, Integers]:
    """Sort the hashes of each document; numpy's vectorised sort, called per document, beats a compiled loop."""
    hashes = shingles.hashes.copy()
    bounds = shingles.offsets.tolist()
    for start, end in pairwise(bounds):
        hashes[start:end].sort()
    return hashes, shingles.offsets
