"""MinHash signatures, equal bit for bit to those of datasketch 2.0 (scheme affine32).

datasketch's hash function is, for us, the identity on the upper 32 bits of a shingle's hash. It mixes that number
(MurmurHash3's fmix32), applies a * x + b modulo 2**32 with a odd for every permutation, and keeps the minima.
"""

from typing import NamedTuple

import numpy as np

from curation.dedup.kernels import Signatures, chosen
from curation.dedup.shingles import Shingles


class Permutations(NamedTuple):
    """The multipliers (odd) and increments of affine32, uint32 each."""

    a: Signatures
    b: Signatures


def affine32(permutations: int, seed: int = 1) -> Permutations:
    """Return the permutations that datasketch 2.0 draws for MinHash(num_perm=permutations, seed=seed)."""
    random = np.random.RandomState(seed)
    a = random.randint(0, 1 << 31, permutations, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return Permutations(a, random.randint(0, 1 << 32, permutations, dtype=np.uint32))


def signatures(shingles: Shingles, permutations: Permutations) -> Signatures:
    """Return uint32[documents, permutations]; a document without shingles has 0xFFFFFFFF everywhere.

    Repeated shingles change nothing, a minimum being what it is.
    """
    return chosen().minhash(shingles.hashes, shingles.offsets, permutations.a, permutations.b)
