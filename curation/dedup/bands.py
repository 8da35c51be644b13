"""Bands of a signature as bucket keys.

A key is 8 bytes with the number of its band mixed in, so that all bands share one key space. Rows (key, doc_id)
travel as packed bytes, 16 each, so that the engine moves few large values and never touches a row.
"""

import numpy as np

from curation.dedup.kernels import Hashes, Integers, Signatures

NO_BUCKET = np.uint64(0)  # the key of a document without shingles; no other key has this value
_NO_MINIMUM = np.uint32(0xFFFFFFFF)
ROW = np.dtype([("key", "<u8"), ("doc_id", "<i8")])
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A, _MIX_B = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


def band_keys(signatures: Signatures, bands: int, rows: int) -> Hashes:
    """Return uint64[documents, bands], one key for each run of `rows` minima; `NO_BUCKET` where there are no shingles.

    Different runs of minima share a key by accident with a chance of about 2**-64.

    Raises:
        ValueError: signatures are not bands × rows long.
    """
    documents, permutations = signatures.shape
    if permutations != bands * rows:
        raise ValueError(f"a signature of {permutations} values cannot be cut into {bands} bands of {rows} rows")
    runs = signatures.reshape(documents, bands, rows)
    weights = _mix(np.arange(1, rows + 1, dtype=np.uint64) * _GOLDEN) | np.uint64(1)
    keys = np.tile(np.arange(1, bands + 1, dtype=np.uint64) * _GOLDEN, (documents, 1))
    for row in range(rows):  # a random linear form over 32-bit values is as good as any hash, and vectorises
        keys += runs[:, :, row] * weights[row]
    keys = np.maximum(_mix(keys), np.uint64(1))
    keys[(signatures == _NO_MINIMUM).all(axis=1)] = NO_BUCKET
    return keys


def collision_probability(jaccard: float, bands: int, rows: int) -> float:
    """Return the chance that two documents of this similarity share at least one bucket."""
    return float(1 - (1 - jaccard**rows) ** bands)


def pack(keys: Hashes, doc_ids: Integers, parts: int) -> list[tuple[int, bytes]]:
    """Return (part, rows) for every part that has rows; equal keys go to the same part whoever packs them.

    `keys` is uint64[documents, bands]. A row is the key and the doc_id, little-endian. Documents without shingles
    have none.
    """
    rows = np.empty(keys.size, ROW)
    rows["key"] = keys.ravel()
    rows["doc_id"] = np.repeat(doc_ids, keys.shape[1])
    rows = rows[rows["key"] != NO_BUCKET]
    part = (rows["key"] >> np.uint64(32)) % np.uint64(parts)
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(np.bincount(part.astype(np.int64), minlength=parts))
    rows = rows[order]
    return [
        (number, rows[start:end].tobytes())
        for number, (start, end) in enumerate(zip(np.r_[0, ends[:-1]], ends, strict=True))
        if end > start
    ]


def _mix(x: Hashes) -> Hashes:
    x = (x ^ (x >> np.uint64(33))) * _MIX_A
    x = (x ^ (x >> np.uint64(33))) * _MIX_B
    return x ^ (x >> np.uint64(33))
