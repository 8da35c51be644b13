"""Exact duplicates: equal texts after normalisation have equal hashes, and are found without comparing anything."""

from itertools import pairwise

import pyarrow as pa
from xxhash import xxh3_128_digest

from curation.dedup.normalise import normalise

DIGEST_BYTES = 16


def content_hash(texts: pa.Array) -> pa.FixedSizeBinaryArray:
    """Return xxh3_128 of every normalised text, 16 bytes each, big-endian as xxhash writes it.

    Two texts with the same hash have the same words in the same order, so the same shingles (a 128-bit collision
    aside). All texts without a word share the hash of nothing: the caller takes empty documents out first.

    Raises:
        pa.ArrowInvalid: a text is not UTF-8.
    """
    data, offsets = normalise(texts)
    view = data.data  # one call per document into xxhash, which has no call for many
    bounds = offsets.tolist()
    digests = b"".join([xxh3_128_digest(view[a:b]) for a, b in pairwise(bounds)])
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(DIGEST_BYTES), len(texts), [None, pa.py_buffer(digests)])
