"""Digests that do not depend on order: of a table's rows, and of plain data.

A table's digest is the sum, modulo 2**64 in each of two lanes, of one hash per row: the same for any order of
rows, any batching and any number of parts, and the digest of a whole is the sum of its parts' digests. A row's
hash covers every column, nulls included, except the text itself, for which its 16-byte digest stands.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh3_128_digest

Lanes = npt.NDArray[np.uint64]  # shape (2, rows)

_MASK = (1 << 64) - 1
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))  # splitmix64's multipliers
_SEEDS = np.array([[0x243F6A8885A308D3], [0x13198A2E03707344]], np.uint64)  # digits of pi, one per lane
_NULL = np.uint64(0x452821E638D01377)

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)  # made once: rows need many


class TableDigest:
    """The running digest of a table: add batches in any order, read `hex`."""

    def __init__(self, total: str = "0" * 32) -> None:
        self._lanes = [int(total[:16], 16), int(total[16:], 16)]

    def add(self, batch: pa.RecordBatch) -> None:
        """Count in every row of a batch."""
        for lane, hashes in enumerate(row_hashes(batch)):
            self._lanes[lane] = (self._lanes[lane] + int(hashes.sum(dtype=np.uint64))) & _MASK

    @property
    def hex(self) -> str:
        """32 hex digits."""
        return f"{self._lanes[0]:016x}{self._lanes[1]:016x}"


def sum_digests(digests: Iterable[str]) -> str:
    """Return the digest of a table from those of its disjoint parts."""
    lanes = [0, 0]
    for digest in digests:
        lanes = [(lane + int(part, 16)) & _MASK for lane, part in zip(lanes, (digest[:16], digest[16:]), strict=True)]
    return f"{lanes[0]:016x}{lanes[1]:016x}"


def row_hashes(batch: pa.RecordBatch) -> Lanes:
    """Return two independent 64-bit hashes per row. Column order matters, column names do not."""
    rows = np.broadcast_to(_SEEDS, (2, batch.num_rows)).copy()
    skip_text = "text_digest" in batch.schema.names
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if not (skip_text and name == "text"):
            rows = _mix(rows * _ODD ^ _column_lanes(column))
    return rows


def value_digest(value: Any) -> str:
    """Return 32 hex digits of plain data (what JSON can say), whatever the order of its keys."""
    return hashlib.sha256(canonical_json(value)).hexdigest()[:32]


def canonical_json(value: Any) -> bytes:
    """Return `canonical_text` in UTF-8."""
    return canonical_text(value).encode()


def canonical_text(value: Any) -> str:
    """Return the one JSON spelling of plain data: sorted keys, no spaces, characters as they are."""
    return _CANONICAL.encode(value)


def text_digests(texts: pa.Array) -> pa.Array:
    """Return the xxh3_128 of each text's UTF-8 bytes as fixed_size_binary(16)."""
    return pa.array([xxh3_128_digest(text) for text in _values_as_bytes(texts)], pa.binary(16))


def _column_lanes(column: pa.Array) -> Lanes:
    kind = column.type
    whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    lanes = _integer_lanes(column) if whole else _bytes_lanes(column)
    if column.null_count:
        lanes[:, np.asarray(column.is_null())] = _NULL
    return lanes


def _integer_lanes(column: pa.Array) -> Lanes:
    filled = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
    numbers = filled.to_numpy(zero_copy_only=False).astype(np.int64 if filled.type != pa.uint64() else np.uint64)
    return _mix(numbers.view(np.uint64) + _SEEDS)


def _bytes_lanes(column: pa.Array) -> Lanes:
    """Hash each distinct value once: most string columns repeat a few words."""
    encoded = pc.dictionary_encode(column, null_encoding="mask")
    distinct = b"".join(xxh3_128_digest(value) for value in _values_as_bytes(encoded.dictionary))
    lanes = np.frombuffer(distinct, ">u8").reshape(-1, 2).T.astype(np.uint64)  # a digest is high half, low half
    indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return lanes[:, indices] if distinct else np.zeros((2, len(column)), np.uint64)


def _values_as_bytes(column: pa.Array) -> Iterator[Any]:
    if pa.types.is_fixed_size_binary(column.type):
        return iter(column.to_pylist())
    binary = column.cast(pa.large_binary())
    ends = np.frombuffer(binary.buffers()[1], np.int64, len(binary) + 1, binary.offset * 8)
    data = memoryview(binary.buffers()[2] or b"")
    return (data[ends[row] : ends[row + 1]] for row in range(len(binary)))


def _mix(rows: Lanes) -> Lanes:
    rows = (rows ^ (rows >> np.uint64(30))) * _MIX[0]
    rows = (rows ^ (rows >> np.uint64(27))) * _MIX[1]
    return rows ^ (rows >> np.uint64(31))
