"""Pairs as arrays: nothing is copied, nothing is read before it is asked for, and no file stays open.

Python's own memory maps keep a file descriptor each, two for a pair, so that a blend of 500 pairs would meet the usual
limit of 1,024. Arrow's map outlives its file: a `PairReader` holds none. What remains is the kernel's limit of 65,530
maps per process, good for 32,000 pairs.
"""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from curation.errors import IntegrityError
from curation.shards.layout import DTYPE_CODES, HEADER, MAGIC, VERSION, TokenDtype, index_size


class PairReader:
    """A `.bin`/`.idx` pair, of ours or of Megatron's builder; every array is a read-only view of the mapped files.

    Attributes:
        dtype: of the tokens, from the code byte of the `.idx`.
        lengths: int32[sequences], tokens of each sequence.
        pointers: int64[sequences], byte offset of each sequence in the `.bin`.
        document_index: int64[documents + 1], first sequence of each document, and the end.
    """

    dtype: TokenDtype
    lengths: NDArray[np.int32]
    pointers: NDArray[np.int64]
    document_index: NDArray[np.int64]

    def __init__(self, prefix: str | os.PathLike[str]) -> None:
        """Map `prefix`.bin and `prefix`.idx and compare their sizes with what the index says.

        Raises:
            IntegrityError: the index is not one, or the files are shorter or longer than it says.
            FileNotFoundError: one of the two is missing.
        """
        self.prefix = os.fspath(prefix)
        self._bin, index = _map(Path(f"{self.prefix}.bin")), _map(Path(f"{self.prefix}.idx"))
        name, sequences, document_ends = self._header(index)
        self.dtype = np.dtype(name).newbyteorder("<")
        offset = HEADER.size
        self.lengths = np.frombuffer(index, "<i4", sequences, offset)
        self.pointers = np.frombuffer(index, "<i8", sequences, offset + 4 * sequences)
        self.document_index = np.frombuffer(index, "<i8", document_ends, offset + 12 * sequences)
        if sequences and self._end(sequences - 1) != self._bin.size:
            raise self._broken(f"the .bin has {self._bin.size} bytes, its index {self._end(sequences - 1)}")
        if self.document_index[-1] != sequences:
            raise self._broken(f"its last document ends at sequence {self.document_index[-1]} of {sequences}")

    def __len__(self) -> int:
        """Return the number of sequences."""
        return len(self.lengths)

    def __getitem__(self, sequence: int) -> NDArray[np.integer]:
        """Return the tokens of a sequence, end-of-document included; a negative number counts from the end."""
        return np.frombuffer(self._bin, self.dtype, int(self.lengths[sequence]), int(self.pointers[sequence]))

    def get(self, sequence: int, offset: int, length: int) -> NDArray[np.integer]:
        """Return `length` tokens of a sequence from its token `offset` on.

        Raises:
            IndexError: the sequence has no such tokens.
        """
        return self[sequence][_within(offset, length, int(self.lengths[sequence]))]

    @property
    def tokens(self) -> NDArray[np.integer]:
        """All tokens of the `.bin` as one array."""
        return np.frombuffer(self._bin, self.dtype)

    @property
    def documents(self) -> int:
        """How many documents the pair holds."""
        return len(self.document_index) - 1

    def _end(self, sequence: int) -> int:
        return int(self.pointers[sequence]) + int(self.lengths[sequence]) * self.dtype.itemsize

    def _header(self, index: pa.Buffer) -> tuple[str, int, int]:
        if index.size < HEADER.size:
            raise self._broken(f"the .idx has {index.size} bytes, less than its header")
        magic, version, code, sequences, document_ends = HEADER.unpack(index.slice(0, HEADER.size).to_pybytes())
        if magic != MAGIC or version != VERSION or code not in DTYPE_CODES:
            raise self._broken("the .idx does not begin as version 1 of Megatron's index does")
        if not document_ends or index.size != index_size(sequences, document_ends - 1):
            raise self._broken(f"the .idx has {index.size} bytes, which {sequences} sequences do not fill")
        return DTYPE_CODES[code], sequences, document_ends

    def _broken(self, problem: str) -> IntegrityError:
        return IntegrityError(f"{self.prefix}: {problem}; the pair is damaged or half written: run `curate verify`")


def _map(path: Path) -> pa.Buffer:
    if not path.stat().st_size:  # an empty file cannot be mapped
        return pa.py_buffer(b"")
    with pa.memory_map(os.fspath(path)) as file:
        return file.read_buffer()


def _within(offset: int, length: int, tokens: int) -> slice:
    if not 0 <= offset <= offset + length <= tokens:
        raise IndexError(f"tokens {offset} to {offset + length} of a sequence of {tokens}")
    return slice(offset, offset + length)
