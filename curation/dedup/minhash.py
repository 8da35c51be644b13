"""MinHash signatures, equal bit for bit to those of datasketch 2.0 (scheme affine32) or 1.x (scheme legacy).

datasketch's hash function is, for us, the identity on the upper 32 bits of a shingle's hash. It mixes that number
(MurmurHash3's fmix32), applies a * x + b modulo 2**32 with a odd for every permutation, and keeps the minima. The
legacy scheme does not mix, and permutes modulo 2**61 - 1; its products wrap at 2**64, which must be as it was.
"""

from typing import Literal, NamedTuple

import numpy as np

from curation.dedup.kernels import Hashes, Signatures, chosen
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


class LegacyPermutations(NamedTuple):
    """The multipliers and increments of datasketch 1.x, uint64 each, below 2**61 - 1."""

    a: Hashes
    b: Hashes


def legacy(permutations: int, seed: int = 1) -> LegacyPermutations:
    """Return the permutations that datasketch 1.x draws for MinHash(num_perm=permutations, seed=seed)."""
    random, prime = np.random.RandomState(seed), (1 << 61) - 1
    drawn = [
        (random.randint(1, prime, dtype=np.uint64), random.randint(0, prime, dtype=np.uint64))
        for _ in range(permutations)
    ]
    pairs = np.array(drawn, np.uint64).reshape(permutations, 2)
    return LegacyPermutations(pairs[:, 0].copy(), pairs[:, 1].copy())


def permutations_of(
    scheme: Literal["affine32", "legacy"], permutations: int, seed: int
) -> Permutations | LegacyPermutations:
    """Return the permutations of a scheme."""
    return legacy(permutations, seed) if scheme == "legacy" else affine32(permutations, seed)


def signatures(shingles: Shingles, permutations: Permutations | LegacyPermutations) -> Signatures:
    """Return uint32[documents, permutations]; a document without shingles has 0xFFFFFFFF everywhere.

    Repeated shingles change nothing, a minimum being what it is.
    """
    if isinstance(permutations, LegacyPermutations):
        return chosen().minhash_legacy(shingles.hashes, shingles.offsets, permutations.a, permutations.b)
    return chosen().minhash(shingles.hashes, shingles.offsets, permutations.a, permutations.b)
