"""Documents in, one Megatron pair out: `.bin` as they come, `.idx` at the end, nothing read back or merged.

Memory is one batch plus four bytes per document, and the streams are only ever written forwards, so they may be
uploads. The same documents give the same bytes whatever the batches are.
"""

from array import array
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

import numpy as np

from curation.errors import CurationError, DataBudgetError, IntegrityError
from curation.shards.layout import MAX_SEQUENCE_TOKENS, TokenDtype, dtype_for, index_chunks
from curation.shards.tokenizer import Encoded


class DocumentTooLong(DataBudgetError):
    """A document with more tokens than the int32 length of a sequence can say."""


class EmptyPair(CurationError):
    """A pair without documents, which Megatron could not open: it maps the `.bin`, and an empty file has no map."""


class WriteStream(Protocol):
    """What a pair is written to: a buffered binary stream, which takes all bytes it is given."""

    def write(self, data: bytes | memoryview, /) -> object:
        """Take all of `data`."""


@dataclass(frozen=True, slots=True)
class PairCounts:
    """What went into a pair: `tokens` with the ends of documents, `bytes` of the `.bin`, sha256 of both in hex."""

    sequences: int
    documents: int
    tokens: int
    bytes: int
    sha256_bin: str
    sha256_idx: str


class PairWriter:
    """Writes documents to an open pair of streams, which stay open: who opened them closes them."""

    def __init__(self, bin_stream: WriteStream, idx_stream: WriteStream, *, largest_id: int, eod: int) -> None:
        self.dtype = dtype_for(largest_id)
        self._bin, self._idx = bin_stream, idx_stream
        self._largest_id, self._eod = largest_id, eod
        self._lengths = array("i")
        self._tokens = 0
        self._sha256_bin = sha256()

    def write(self, documents: Encoded) -> None:
        """Append documents in their order, each followed by the end-of-document token.

        Nothing is written of a batch that is refused.

        Raises:
            DocumentTooLong: a document has 2^31 - 1 tokens or more.
            IntegrityError: an id is not in the vocabulary, or end-of-document lies inside a document.
        """
        lengths = np.diff(documents.offsets) + 1
        self._check(documents, lengths)
        data = self._with_ends(documents).data.cast("B")
        self._sha256_bin.update(data)
        self._bin.write(data)
        self._lengths.frombytes(lengths.astype(np.int32).tobytes())
        self._tokens += int(lengths.sum())

    def _with_ends(self, documents: Encoded) -> np.ndarray[tuple[int], TokenDtype]:
        """Return the ids in the pair's dtype with end-of-document after each document, faster than np.insert."""
        tokens = np.empty(len(documents.ids) + len(documents), self.dtype)
        ends = documents.offsets[1:] + np.arange(len(documents))
        is_text = np.ones(len(tokens), bool)
        is_text[ends] = False
        tokens[is_text] = documents.ids
        tokens[ends] = self._eod
        return tokens

    def finish(self) -> PairCounts:
        """Write the `.idx` and return what the pair holds.

        Raises:
            EmptyPair: no document was written.
        """
        if not self._lengths:
            raise EmptyPair("a pair needs at least one document; write no pair for a source or split without any")
        sha256_idx = sha256()
        for chunk in index_chunks(self.dtype, np.frombuffer(self._lengths, np.int32)):
            sha256_idx.update(chunk)
            self._idx.write(chunk)
        return PairCounts(
            sequences=len(self._lengths),
            documents=len(self._lengths),
            tokens=self._tokens,
            bytes=self._tokens * self.dtype.itemsize,
            sha256_bin=self._sha256_bin.hexdigest(),
            sha256_idx=sha256_idx.hexdigest(),
        )

    def _check(self, documents: Encoded, lengths: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        too_long = np.flatnonzero(lengths > MAX_SEQUENCE_TOKENS)
        if too_long.size:
            document = len(self._lengths) + int(too_long[0])
            raise DocumentTooLong(
                f"document {document} of the pair has {lengths[too_long[0]] - 1} tokens; a sequence holds "
                f"{MAX_SEQUENCE_TOKENS - 1} and its end: lower max_document_mib in the recipe, or split the document"
            )
        if documents.ids.size and int(documents.ids.max()) > self._largest_id:
            raise IntegrityError(
                f"a token id of {documents.ids.max()} is larger than the vocabulary's largest, {self._largest_id}; "
                "the documents were encoded with another tokenizer"
            )
        if np.any(documents.ids == self._eod):
            raise IntegrityError(
                f"end-of-document, id {self._eod}, lies inside a document; encode text with curation.shards.tokenizer, "
                "which never makes it of text"
            )
