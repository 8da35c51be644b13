"""Sealing shards: the documents of one source, in doc_id order, closed when their text passes the limit.

Also the rows of what could not be used. Both belong to one unit of input files and are written by one task.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
from xxhash import xxh3_128_digest

from curation.digests import canonical_text
from curation.identity import Place, pack
from curation.parts import Part, PartWriter
from curation.registry import InputFile
from curation.shards_table import shard_name
from curation.sources.units import BadUnit, Record
from curation.stages import Unit
from curation.text.pipeline import DocumentText
from schemas.tables import DOCUMENTS, QUARANTINE

BATCH_BYTES = 2 << 20  # of text held as Python rows before they become an Arrow batch
BATCH_ROWS = 10_000  # of quarantine, likewise; a row takes about 1 KiB


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """The columns of one document that come from its content; all strings encode as UTF-8.

    `text` is in UTF-8 already; `about` is language_hint, url, title, timestamp and metadata, in the order of the table.
    """

    text: bytes
    text_digest: bytes
    about: tuple[str | None, ...]
    repairs: tuple[str, ...]


def document_row(record: Record, document: DocumentText) -> DocumentRow:
    """Return the row of a record's text. Raises UnicodeEncodeError if the text holds lone surrogates."""
    encoded = document.text.encode()
    names = (document.language_hint, record.url, record.title, record.timestamp)
    about = (*map(_encodable, names), _encodable(canonical_text(record.metadata)))
    return DocumentRow(encoded, xxh3_128_digest(encoded), about, document.repairs)


def _encodable(value: str | None) -> str | None:
    """Return a string about a document with lone surrogates replaced: JSON may hold them, tables may not."""
    return value if value is None or value.isascii() else value.encode("utf-8", "replace").decode()


class ShardWriter:
    """Writes one source's documents of one unit into as many shards as they need; `parts` describes those sealed."""

    def __init__(self, root: str, source: str, number: int, unit: Unit, shard_mib: int) -> None:
        self.parts: list[Part] = []
        self._root, self._source, self._number, self._unit = root, source, number, unit
        self._seal_bytes = shard_mib << 20
        self._open: _OpenShard | None = None

    def __enter__(self) -> Self:
        return self

    def add(self, file: InputFile, key: int, record: Record, document: DocumentRow) -> None:
        """Append one document."""
        if self._open is None:
            name = shard_name(self._number, self._unit.files[0].file, len(self.parts))
            self._open = _OpenShard(self._root, name)
        doc_id = pack(Place(self._number, file.file, record.ordinal))
        row = (
            doc_id,
            key,
            self._source,
            self._open.name,
            len(document.text),
            record.raw_bytes,
            *document.about,
            file.uri,
            record.member,
            record.offset,
            document.text_digest,
            record.damage or "",
            document.text,
        )
        self._open.add(row, doc_id, len(document.text))
        if self._open.text_bytes >= self._seal_bytes:
            self._seal()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open is not None and kind is not None:
            self._open.abandon(kind, error, trace)
        elif self._open is not None:
            self._seal()

    def _seal(self) -> None:
        if self._open is not None:
            about = {"source": self._source, "generation": self._unit.files[0].generation}
            self.parts.append(self._open.seal(about))
            self._open = None


class _OpenShard:
    """A shard that still takes rows."""

    def __init__(self, root: str, name: str) -> None:
        self.name, self.text_bytes = name, 0
        self._ids: tuple[int, int] | None = None
        self._rows: list[tuple[Any, ...]] = []
        self._held_bytes = 0
        self._stack = contextlib.ExitStack()
        self._writer = self._stack.enter_context(PartWriter(root, "ingest", "documents", name))

    def add(self, row: tuple[Any, ...], doc_id: int, text_bytes: int) -> None:
        self._ids = (self._ids[0] if self._ids else doc_id, doc_id)
        self._rows.append(row)
        self.text_bytes += text_bytes
        self._held_bytes += text_bytes
        if self._held_bytes >= BATCH_BYTES:
            self._flush()

    def seal(self, about: dict[str, Any]) -> Part:
        self._flush()
        self._stack.close()
        first, last = self._ids or (0, 0)
        ids = {"first_doc_id": first, "last_doc_id": last}
        return self._writer.part({"shard": self.name, **about, **ids, "text_bytes": self.text_bytes})

    def abandon(self, kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, trace)

    def _flush(self) -> None:
        if self._rows:
            self._writer.write(_batch(self._rows, DOCUMENTS))
        self._rows, self._held_bytes = [], 0


class QuarantineWriter:
    """Writes the quarantine rows of one unit: none as a rule, millions where a file is nothing but noise."""

    def __init__(self, root: str, unit: Unit) -> None:
        self.parts: list[Part] = []
        self._root, self._unit = root, unit
        self._rows: list[tuple[Any, ...]] = []
        self._stack = contextlib.ExitStack()
        self._writer: PartWriter | None = None

    def __enter__(self) -> Self:
        return self

    def add(self, source: str, file: InputFile, unit: BadUnit) -> None:
        """Append one unit that could not be used."""
        place = (source, file.file, unit.ordinal, file.uri, unit.member, unit.offset)
        self._rows.append((*place, "ingest", unit.error, unit.detail, unit.raw_bytes, unit.sha256))
        if len(self._rows) == BATCH_ROWS:
            self._flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with self._stack:
            self._flush()
        if self._writer is not None:
            self.parts.append(self._writer.part())

    def _flush(self) -> None:
        if not self._rows:
            return
        if self._writer is None:
            self._writer = self._stack.enter_context(PartWriter(self._root, "ingest", "quarantine", self._unit.item))
        self._writer.write(_batch(self._rows, QUARANTINE))
        self._rows = []


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [
        _texts(column) if about.name == "text" else pa.array(column, about.type)
        for column, about in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _texts(encoded: Sequence[bytes]) -> pa.Array:
    """Return texts in UTF-8 as an array, in one copy."""
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)
