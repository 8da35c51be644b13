"""The bytes of an `.idx` file, in one place for who writes, reads and checks them.

A pair is a `.bin` with the tokens of all sequences back to back, and an `.idx` that says where each one lies. All
numbers are little-endian. With S sequences and D = documents + 1:

    0       9    magic                     34        4*S  tokens of each sequence, int32
    9       8    version, uint64 = 1       34 + 4*S  8*S  byte offset of each sequence in `.bin`, int64
    17      1    dtype code                34 + 12*S 8*D  documents as sequence numbers, int64: first 0, last S
    18      8    S, uint64
    26      8    D, uint64

We write one sequence per document, so D = S + 1 and document d is sequence d.
"""

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"MMIDIDX\x00\x00"
VERSION = 1
HEADER = struct.Struct("<9sQBQQ")
DTYPE_CODES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float64", 7: "float32", 8: "uint16"}
MAX_SEQUENCE_TOKENS = 2**31 - 1  # lengths are int32
_UINT16_IDS = 2**16
_CHUNK_SEQUENCES = 1 << 17  # 1 MiB of int64 at a time

TokenDtype = np.dtype[Any]


def dtype_for(largest_id: int) -> TokenDtype:
    """Return uint16 where every id of the vocabulary fits into it, else int32.

    Megatron's own writer goes to int32 from 65,500 tokens on, but its fast loader does not look at the dtype code:
    it infers uint16 up to a vocabulary of 65,536. Readers that do look accept either, so only this rule suits all.
    """
    return np.dtype("<u2") if largest_id < _UINT16_IDS else np.dtype("<i4")


def dtype_code(dtype: TokenDtype) -> int:
    """Return the code byte of a dtype that `dtype_for` chose."""
    return next(code for code, name in DTYPE_CODES.items() if name == dtype.name)


def index_size(sequences: int, documents: int) -> int:
    """Return the bytes of an `.idx` with so many sequences and documents."""
    return HEADER.size + 12 * sequences + 8 * (documents + 1)


def index_chunks(dtype: TokenDtype, lengths: NDArray[np.int32]) -> Iterator[bytes]:
    """Yield the `.idx` of a pair whose document d is sequence d with `lengths[d]` tokens, about 1 MiB at a time."""
    sequences = len(lengths)
    yield HEADER.pack(MAGIC, VERSION, dtype_code(dtype), sequences, sequences + 1)
    chunks = range(0, sequences, _CHUNK_SEQUENCES)
    for start in chunks:
        yield lengths[start : start + _CHUNK_SEQUENCES].astype("<i4").tobytes()
    offset = 0
    for start in chunks:
        ends = offset + np.cumsum(lengths[start : start + _CHUNK_SEQUENCES], dtype=np.int64) * dtype.itemsize
        yield np.concatenate(([offset], ends[:-1])).astype("<i8").tobytes()
        offset = int(ends[-1])
    for start in range(0, sequences + 1, _CHUNK_SEQUENCES):
        yield np.arange(start, min(start + _CHUNK_SEQUENCES, sequences + 1), dtype="<i8").tobytes()


def field_at(offset: int, sequences: int) -> str:
    """Name what byte `offset` of an `.idx` with so many sequences says, as in "length of sequence 3"."""
    for end, name in (
        (9, "magic"),
        (17, "version"),
        (18, "dtype code"),
        (26, "sequence count"),
        (34, "document count"),
    ):
        if offset < end:
            return name
    parts = (
        ("length of sequence", 4, sequences),
        ("pointer of sequence", 8, sequences),
        ("document index", 8, sequences + 1),
    )
    offset -= HEADER.size
    for name, width, count in parts:
        if offset < width * count:
            return f"{name} {offset // width}"
        offset -= width * count
    return "end of file"
