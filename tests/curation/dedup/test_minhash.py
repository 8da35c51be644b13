"""Signatures are datasketch's, bit for bit."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from datasketch import MinHash

from curation.dedup.minhash import affine32, signatures
from curation.dedup.shingles import Shingles, shingle

TEXTS = [
    "",
    "one",
    "two words",
    "Ein Satz mit genau sieben kurzen Wörtern",
    "日本語 の 文章 は ここ に あり ます",
    " ".join(f"w{i}" for i in range(1, 4000)),
    *(" ".join(f"t{i * j % 97}" for i in range(j)) for j in range(1, 60)),
]


def oracle(shingles, permutations, seed):
    upper = (shingles.hashes >> np.uint64(32)).astype(np.uint32)
    for start, end in pairwise(shingles.offsets):
        sketch = MinHash(num_perm=permutations, seed=seed, hashfunc=int)
        sketch.update_batch(upper[start:end])
        yield sketch.hashvalues


@pytest.mark.parametrize(("permutations", "seed"), [(260, 1), (1, 1), (2, 7), (3, 7), (129, 42)])
def test_signatures_are_those_of_datasketch(permutations, seed):
    shingles = shingle(pa.array(TEXTS))
    ours = signatures(shingles, affine32(permutations, seed))
    assert ours.dtype == np.uint32
    assert (ours == np.stack(list(oracle(shingles, permutations, seed)))).all()


def test_datasketch_draws_the_same_permutations():
    theirs = MinHash(num_perm=260, seed=1).permutations
    assert (np.stack(affine32(260, 1)) == theirs).all()


def test_a_document_without_shingles_has_the_largest_signature():
    assert (signatures(shingle(pa.array([""])), affine32(8)) == 0xFFFFFFFF).all()


def test_every_kind_of_hash_is_signed_like_datasketch_signs_it():
    random = np.random.default_rng(5)
    hashes = random.integers(0, 2**64, 1000, np.uint64)
    hashes[:2] = 0, 2**64 - 1
    offsets = np.array([0, 1, 2, 18, 34, 1000, 1000])
    shingles = Shingles(hashes, offsets)
    assert (signatures(shingles, affine32(64)) == np.stack(list(oracle(shingles, 64, 1)))).all()


def test_equal_minima_estimate_the_jaccard_similarity():
    words = [f"w{i}" for i in range(2000)]
    shingles = shingle(pa.array([" ".join(words[:1500]), " ".join(words[500:])]), length=1)
    first, second = signatures(shingles, affine32(1024))
    assert abs((first == second).mean() - 0.5) < 4 * (0.25 / 1024) ** 0.5
