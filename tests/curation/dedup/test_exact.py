"""Equal content hashes are equal words, and so equal shingles."""

import pyarrow as pa
from dedup_texts import SEPARATORS, as_slice, batches, words_of
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_128_digest

from curation.dedup.exact import content_hash
from curation.dedup.shingles import shingle, shingle_sets


@settings(deadline=None)
@given(batches, st.booleans())
def test_the_hash_is_xxh3_of_the_words_joined_by_spaces(texts, large):
    hashes = content_hash(as_slice(texts, large))
    assert hashes.type == pa.binary(16)
    assert hashes.to_pylist() == [xxh3_128_digest(" ".join(words_of(text)).encode()) for text in texts]


@settings(deadline=None)
@given(st.lists(st.text(min_size=1, max_size=6), max_size=12), st.randoms(use_true_random=False), st.booleans())
def test_equal_content_hashes_imply_equal_shingles(words, random, upper):
    one = " ".join(words)
    other = random.choice(SEPARATORS).join(words) + random.choice(SEPARATORS)
    texts = pa.array([one, other.upper() if upper else other])
    hashes = content_hash(texts).to_pylist()
    for unit in ("word", "character"):
        shingles, sets = shingle(texts, unit=unit, length=3), shingle_sets(texts, unit=unit, length=3)
        first, second = (shingles.hashes[shingles.offsets[d] : shingles.offsets[d + 1]].tolist() for d in (0, 1))
        assert (hashes[0] != hashes[1]) or (first == second)
        if hashes[0] == hashes[1]:
            assert sets.hashes[: sets.offsets[1]].tolist() == sets.hashes[sets.offsets[1] :].tolist()
    if not upper:
        assert hashes[0] == hashes[1]


def test_texts_without_words_share_the_hash_of_nothing():
    assert set(content_hash(pa.array(["", " \n", "\x00"])).to_pylist()) == {xxh3_128_digest(b"")}
