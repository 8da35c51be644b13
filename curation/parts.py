"""Parts: the immutable files that tables consist of. Written under a fresh name, described by what is in them.

A part exists for others only once a commit names it. Rows are grouped by bytes, so that a reader holds one
group and not one file. Every read verifies the checksums of the pages it reads, the number of rows and the schema;
a changed byte that no read can notice (unused fields of headers and footer) is for the sha256 of `verify`.
"""

import contextlib
import hashlib
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from curation import storage
from curation.digests import TableDigest
from curation.errors import InfrastructureError, IntegrityError
from schemas.tables import TABLES

GROUP_BYTES = 8 << 20  # of Arrow data; larger groups cost a reader memory, smaller ones cost compression
READ_ROWS = 1024
_PLAIN_COLUMNS = {"text", "metadata", "bands", "content_hash", "text_digest", "doc_id", "doc_key", "url", "title"}


@dataclass(frozen=True)
class Part:
    """What a commit says about one file."""

    table: str
    file: str  # relative to the work folder
    rows: int
    bytes: int
    sha256: str
    digest: str
    facts: Mapping[str, Any] = field(default_factory=dict)  # e.g. the shard, its first and last doc_id

    def to_json(self) -> dict[str, Any]:
        """Return plain data; the inverse of `part_from_json`."""
        return {**asdict(self), "facts": dict(self.facts)}


def part_from_json(value: Mapping[str, Any]) -> Part:
    """Return the part that a commit describes."""
    return Part(**value)


def fresh_file(stage: str, table: str, label: str, suffix: str = "") -> str:
    """Return a name, relative to the work folder, that nobody else uses."""
    return f"{stage}/parts/{label}-{table}-{uuid.uuid4().hex}{suffix}"


class PartWriter:
    """Writes one part: `with PartWriter(...) as writer: writer.write(batch)`, then `writer.part(facts)`.

    Nothing remains if the block ends with an error. Row groups hold `GROUP_BYTES` at most, or one
    row that is larger; the writer holds one of them.
    """

    def __init__(self, root: str, stage: str, table: str, label: str) -> None:
        self.table, self.rows = table, 0
        self.file = fresh_file(stage, table, label, ".parquet")
        self._root, self._schema, self._digest = root, TABLES[table], TableDigest()
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self._sink = HashingSink(stack.enter_context(storage.create(storage.join(self._root, self.file))))
            self._writer = stack.enter_context(_parquet_writer(self._sink, self._schema))
            self._stack = stack.pop_all()
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows; the batch must have the table's columns, in order."""
        if batch.num_rows == 0:
            return
        batch = batch.cast(self._schema) if batch.schema != self._schema else batch
        self._digest.add(batch)
        self.rows += batch.num_rows
        rows_of_a_group = max(1, batch.num_rows * GROUP_BYTES // max(batch.nbytes, 1))
        for start in range(0, batch.num_rows, rows_of_a_group):
            self._hold(batch.slice(start, rows_of_a_group))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with self._stack:
            self._flush()

    def part(self, facts: Mapping[str, Any] | None = None) -> Part:
        """Describe the finished file."""
        return Part(
            self.table,
            self.file,
            self.rows,
            self._sink.size,
            self._sink.sha256.hexdigest(),
            self._digest.hex,
            facts or {},
        )

    def _hold(self, batch: pa.RecordBatch) -> None:
        if self._held_bytes + batch.nbytes > GROUP_BYTES:
            self._flush()
        self._held.append(batch)
        self._held_bytes += batch.nbytes

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held), row_group_size=self.rows)
            self._held, self._held_bytes = [], 0


class HashingSink:
    """The file object a writer sees: passes bytes on, knows their number and sha256."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.sha256, self.size, self.closed = stream, hashlib.sha256(), 0, False

    def write(self, data: Any) -> int:
        """Pass bytes on."""
        view = memoryview(data)
        self._stream.write(view)
        self.sha256.update(view)
        self.size += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self.size

    def flush(self) -> None:
        """Do nothing: durability comes when the stream below is closed."""

    def close(self) -> None:
        """Stop writing; the stream below belongs to whoever opened it."""
        self.closed = True

    def writable(self) -> bool:
        """Return True."""
        return True

    readable = seekable = lambda self: False


def write_part(
    root: str,
    stage: str,
    table: str,
    label: str,
    batches: Sequence[pa.RecordBatch],
    facts: Mapping[str, Any] | None = None,
) -> Part:
    """Write a whole part from batches in memory."""
    with PartWriter(root, stage, table, label) as writer:
        for batch in batches:
            writer.write(batch)
    return writer.part(facts)


def write_file(
    root: str, stage: str, table: str, label: str, path: Path, facts: Mapping[str, Any] | None = None
) -> Part:
    """Store a local file that is no table (a model) under a fresh name; its digest is the head of its sha256."""
    name = fresh_file(stage, table, label)
    with storage.create(storage.join(root, name)) as stream, path.open("rb") as source:
        sink = HashingSink(stream)
        shutil.copyfileobj(source, sink, 1 << 20)
    sha256 = sink.sha256.hexdigest()
    return Part(table, name, 0, sink.size, sha256, sha256[:32], facts or {})


def read_batches(
    root: str,
    part: Part,
    columns: Sequence[str] | None = None,
    rows: int = READ_ROWS,
    groups: Sequence[int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield a part's rows in order, in batches of at most `rows`, holding one row group.

    Raises:
        IntegrityError: the file is missing, or is not what was committed as far as this read can tell.
        InfrastructureError: the store fails.
    """
    with open_part(root, part) as file:
        for group in range(file.num_row_groups) if groups is None else groups:
            with _damage_named(part):
                table = file.read_row_group(group, columns=columns, use_threads=False)
            yield from table.combine_chunks().to_batches(max_chunksize=rows)


def read_table(root: str, part: Part, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a whole narrow part. Raises IntegrityError as `read_batches` does."""
    with open_part(root, part) as file, _damage_named(part):
        return file.read(columns=columns, use_threads=False)


@contextlib.contextmanager
def open_part(root: str, part: Part) -> Iterator[pq.ParquetFile]:
    """Open a part for reading; its rows and columns must be what was committed, and so must pages read in the block."""
    with _damage_named(part):
        stream = storage.open_read(storage.join(root, part.file))
    with stream, _damage_named(part):
        yield _checked(part, stream)


def _checked(part: Part, stream: Any) -> pq.ParquetFile:
    try:
        file = pq.ParquetFile(stream, buffer_size=1 << 20, page_checksum_verification=True)
        schema = file.schema_arrow
    except ValueError as error:  # a name in the footer that is not UTF-8 any more
        raise IntegrityError(_changed(part, f"it cannot be read ({type(error).__name__})")) from None
    if file.metadata.num_rows != part.rows:
        raise IntegrityError(_changed(part, f"it holds {file.metadata.num_rows} rows, committed were {part.rows}"))
    if not schema.equals(TABLES[part.table]):
        raise IntegrityError(_changed(part, f"its columns are not those of {part.table}"))
    return file


@contextlib.contextmanager
def _damage_named(part: Part) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise IntegrityError(_changed(part, "it is missing")) from error
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None or "AWS Error" in str(error):  # what Arrow finds wrong has neither
            raise InfrastructureError(f"{part.file}: the store failed while it was read; run again") from error
        raise IntegrityError(_changed(part, f"it cannot be read ({type(error).__name__})")) from None


def _changed(part: Part, what: str) -> str:
    return (
        f"{part.file}: a committed file changed: {what}. Nothing that reads it can be trusted; "
        "`curate verify` lists all such files; restore it, or remove its stage's folder and run again"
    )


@contextlib.contextmanager
def _parquet_writer(sink: HashingSink, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    dictionary = [f.name for f in schema if f.name not in _PLAIN_COLUMNS and pa.types.is_string(f.type)]
    statistics = [f.name for f in schema if pa.types.is_integer(f.type)]
    with pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=dictionary,
        write_statistics=statistics,
        write_page_checksum=True,
        store_schema=True,
    ) as writer:
        yield writer
