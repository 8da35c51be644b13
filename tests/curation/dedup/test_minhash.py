"""Signatures are datasketch's, bit for bit."""

import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from datasketch import MinHash

from curation.dedup.minhash import affine32, legacy, permutations_of, signatures
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


@pytest.mark.parametrize("scheme", ["affine32", "legacy"])
@pytest.mark.parametrize("unit", ["word", "character"])
def test_with_sha1_they_are_those_of_datasketch_on_texts_as_it_is_used(scheme, unit):
    texts = [*TEXTS, *every_script(10_000 - len(TEXTS))]
    ours = signatures(shingle(pa.array(texts), unit=unit, hash="sha1"), permutations_of(scheme, 20, 1))
    for text, signature in zip(texts, ours, strict=True):
        sketch = MinHash(num_perm=20, seed=1, scheme=scheme)
        items = [word for word in re.split(r"[\x00-\x20]+", text.lower()) if word]
        items, glue = (items, " ") if unit == "word" else (list(" ".join(items)), "")
        grams = {glue.join(items[i : i + 5]).encode() for i in range(max(1, len(items) - 4))} if items else set()
        if grams:
            sketch.update_batch(sorted(grams))
        assert sketch.hashvalues.tolist() == signature.tolist()


def test_legacy_permutations_fold_as_the_remainder_does():
    random = np.random.default_rng(7)
    hashes = random.integers(0, 2**64, 500, np.uint64)
    offsets = np.array([0, 1, 2, 40, 500, 500])
    theirs = MinHash(num_perm=64, seed=3, scheme="legacy").permutations
    assert (np.stack(legacy(64, 3)) == theirs).all()
    ours = signatures(Shingles(hashes, offsets), legacy(64, 3))
    for (start, end), signature in zip(pairwise(offsets), ours, strict=True):
        sketch = MinHash(num_perm=64, seed=3, scheme="legacy", hashfunc=int)
        if end > start:
            sketch.update_batch(hashes[start:end] >> np.uint64(32))
        assert sketch.hashvalues.tolist() == signature.tolist()


def every_script(count):
    """Texts of 0 to 23 words in letters of many scripts."""
    random = np.random.default_rng(3)
    firsts = [0x61, 0x3B1, 0x430, 0x5D0, 0x627, 0x905, 0xE01, 0x10D0, 0x3042, 0x4E00, 0xAC00, 0x1F600]
    for _ in range(count):
        first = firsts[random.integers(len(firsts))]
        lengths = random.integers(1, 8, random.integers(0, 24))
        yield " ".join("".join(chr(first + x) for x in random.integers(0, 20, length)) for length in lengths)
