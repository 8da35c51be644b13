"""Whether a pair is byte for byte what its sidecar says, and where the first wrong byte lies.

An end-of-document token stands at the end of each document and nowhere else, so the tokens alone say what the index
must be: it is written again from them and compared. Where the two disagree, the index is to blame if it contradicts
itself too (a length and the pointers say the same thing twice), else the tokens.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from curation.shards.layout import HEADER, MAX_SEQUENCE_TOKENS, TokenDtype, dtype_for, field_at, index_chunks
from curation.shards.sidecar import PairSidecar

Open = Callable[[], BinaryIO]
_CHUNK_BYTES = 1 << 22  # a multiple of every token size


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a pair; `offset` is the first byte of `file` that shows it, where one can be named."""

    pair: str
    file: Literal["bin", "idx", "json"]
    offset: int | None
    what: str

    def __str__(self) -> str:
        """Return the problem as one line."""
        place = "" if self.offset is None else f", byte {self.offset}"
        return f"{self.pair}.{self.file}{place}: {self.what}"


def verify_pair(open_bin: Open, open_idx: Open, expected: PairSidecar) -> list[Problem]:
    """Return what is wrong with a pair: nothing, if it is exactly what the sidecar says.

    Reads the `.bin` once and forwards; memory is 16 bytes per document. A changed token that is in the vocabulary
    shows in the sha256 only: nothing else says which it was.
    """
    dtype = dtype_for(expected.largest_id)
    tokens = _scan(open_bin, dtype, expected)
    return [
        *_sidecar_problems(expected, dtype, tokens),
        *_token_problems(expected, dtype, tokens),
        *_index_problems(expected, dtype, tokens, open_idx),
    ]


@dataclass(frozen=True, slots=True)
class _Tokens:
    """What one reading of a `.bin` found: the token after each end-of-document, the first id that is none."""

    bytes: int
    sha256: str
    ends: NDArray[np.int64]
    unknown_id: int | None


def _scan(open_bin: Open, dtype: TokenDtype, expected: PairSidecar) -> _Tokens:
    digest, size, unknown_id = sha256(), 0, None
    ends: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    for chunk in _chunks(open_bin):
        digest.update(chunk)
        ids = np.frombuffer(chunk, dtype, len(chunk) // dtype.itemsize)
        first = size // dtype.itemsize
        ends.append(np.flatnonzero(ids == expected.eod) + first + 1)
        if unknown_id is None and ids.size and not 0 <= int(ids.min()) <= int(ids.max()) <= expected.largest_id:
            unknown_id = first + int(np.flatnonzero((ids < 0) | (ids > expected.largest_id))[0])
        size += len(chunk)
    return _Tokens(size, digest.hexdigest(), np.concatenate(ends), unknown_id)


def _sidecar_problems(expected: PairSidecar, dtype: TokenDtype, tokens: _Tokens) -> Iterator[Problem]:
    if expected.dtype != dtype.name:
        yield Problem(expected.name, "json", None, f"dtype {expected.dtype}, for this vocabulary it is {dtype.name}")
    found = {"tokens": tokens.bytes // dtype.itemsize, "sequences": len(tokens.ends), "documents": len(tokens.ends)}
    for name, count in found.items():
        if getattr(expected, name) != count:
            yield Problem(expected.name, "json", None, f"{getattr(expected, name)} {name}, the .bin has {count}")


def _token_problems(expected: PairSidecar, dtype: TokenDtype, tokens: _Tokens) -> Iterator[Problem]:
    if tokens.bytes != expected.bytes:
        first = min(tokens.bytes, expected.bytes)
        yield Problem(expected.name, "bin", first, f"{tokens.bytes} bytes, the sidecar says {expected.bytes}")
    if tokens.unknown_id is not None:
        yield Problem(expected.name, "bin", tokens.unknown_id * dtype.itemsize, "a token id outside the vocabulary")
    last = tokens.bytes // dtype.itemsize
    if last and (not tokens.ends.size or tokens.ends[-1] != last):
        yield Problem(expected.name, "bin", (last - 1) * dtype.itemsize, "the last token is not end-of-document")
    if tokens.sha256 != expected.sha256_bin:
        yield Problem(expected.name, "bin", None, "sha256 is not the sidecar's")


def _index_problems(expected: PairSidecar, dtype: TokenDtype, tokens: _Tokens, open_idx: Open) -> Iterator[Problem]:
    lengths = np.diff(tokens.ends, prepend=0)
    if lengths.size and lengths.max() > MAX_SEQUENCE_TOKENS:
        yield Problem(expected.name, "bin", None, "a document has more tokens than an int32 length can say")
    else:
        offset = _first_difference(open_idx, index_chunks(dtype, lengths.astype(np.int32)))
        stated = None if offset is None else _consistent_lengths(open_idx, dtype, expected)
        if stated is not None:
            yield _contradiction(expected, dtype, tokens.ends, np.cumsum(stated, dtype=np.int64))
        elif offset is not None:
            yield Problem(expected.name, "idx", offset, f"{field_at(offset, len(lengths))} is not what the .bin says")
    if _digest(open_idx) != expected.sha256_idx:
        yield Problem(expected.name, "idx", None, "sha256 is not the sidecar's")


def _contradiction(
    expected: PairSidecar, dtype: TokenDtype, found: NDArray[np.int64], stated: NDArray[np.int64]
) -> Problem:
    """Return where the ends of documents that a `.bin` has first differ from those that its index states."""
    common = min(len(found), len(stated))
    differ = np.flatnonzero(found[:common] != stated[:common])
    document = int(differ[0]) if differ.size else common
    early = document == len(stated) or (document < len(found) and found[document] < stated[document])
    end = int(found[document] if early else stated[document])
    what = "end-of-document, where none is due" if early else f"document {document} does not end with end-of-document"
    return Problem(expected.name, "bin", (end - 1) * dtype.itemsize, what)


def _consistent_lengths(open_idx: Open, dtype: TokenDtype, expected: PairSidecar) -> NDArray[np.int32] | None:
    """Return the lengths that an index states, if they fit the sidecar and the rest of the index follows from them."""
    sequences = expected.sequences
    with closing(open_idx()) as stream:
        header = _read(stream, HEADER.size)
        if len(header) < HEADER.size or HEADER.unpack(header)[3] != sequences:
            return None
        lengths = np.frombuffer(_read(stream, 4 * sequences), np.uint8)
    if lengths.size != 4 * sequences or np.any(lengths.view("<i4") < 1):
        return None
    stated: NDArray[np.int32] = lengths.view("<i4")
    if stated.sum(dtype=np.int64) != expected.tokens:
        return None
    return stated if _first_difference(open_idx, index_chunks(dtype, stated)) is None else None


def _first_difference(open_file: Open, expected: Iterable[bytes]) -> int | None:
    """Return the first byte at which a file is not the expected bytes, its end among them."""
    offset = 0
    with closing(open_file()) as stream:
        for chunk in expected:
            found = _read(stream, len(chunk))
            if found != chunk:
                common = np.frombuffer(found, np.uint8) != np.frombuffer(chunk, np.uint8)[: len(found)]
                return offset + (int(np.argmax(common)) if common.any() else len(found))
            offset += len(chunk)
        return offset if stream.read(1) else None


def _digest(open_file: Open) -> str:
    digest = sha256()
    for chunk in _chunks(open_file):
        digest.update(chunk)
    return digest.hexdigest()


def _chunks(open_file: Open) -> Iterator[bytes]:
    with closing(open_file()) as stream:
        while chunk := _read(stream, _CHUNK_BYTES):
            yield chunk


def _read(stream: BinaryIO, size: int) -> bytes:
    """Return the next `size` bytes, fewer only at the end; a single read of a remote stream may give less."""
    parts = []
    while size and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
