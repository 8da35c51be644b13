"""Whether one committed file is what its commit says: its bytes, its rows, and the laws that rows of its table obey.

A file is read twice, once as bytes and once as rows, so that a problem is named by what it is: a file that changed
on its way, or rows that never were what the commit says.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from curation import storage
from curation.digests import TableDigest, text_digests
from curation.parts import READ_ROWS, Part
from schemas.tables import TABLES

Ints = npt.NDArray[np.int64]

# Tables with one row a document, and those whose rows of a document stand together; both in order of doc_id.
_ONE_ROW = {"documents", "signals", "quality", "signatures", "verdicts"}
_TOGETHER = {"matches", "cuts", "corpus", "token_documents"}


@dataclass(frozen=True)
class PartCheck:
    """What was found in one file: rows that could be read, and what is wrong, each line naming the file."""

    rows: int
    problems: tuple[str, ...]


def check_part(root: str, part: Part) -> PartCheck:
    """Check one file against its commit. Never raises for what the file holds; memory is one row group."""
    url = storage.join(root, part.file)
    try:
        problems = _byte_problems(url, part)
    except FileNotFoundError:
        return PartCheck(0, (f"{part.file}: is missing",))
    rows = 0
    if part.table in TABLES:
        walk = _Walk(part)
        problems += walk.problems_in(url)
        rows = walk.rows
    return PartCheck(rows, tuple(f"{part.file}: {problem}" for problem in problems))


def _byte_problems(url: str, part: Part) -> list[str]:
    size = storage.size(url)
    if size != part.bytes:
        return [f"has {size:,} bytes, committed were {part.bytes:,}"]
    if storage.sha256(url) != part.sha256:
        return ["its bytes changed: the sha256 is not the committed one"]
    return []


class _Walk:
    """One reading of a table's rows, in order."""

    def __init__(self, part: Part) -> None:
        self.rows = 0
        self._part, self._digest, self._last_id = part, TableDigest(), -1
        self._first_id: int | None = None
        self._text_bytes = 0
        self._problems: list[str] = []
        self._broken_laws: dict[str, list[int]] = {}  # law -> first document that breaks it, how many do

    def problems_in(self, url: str) -> list[str]:
        """Return what is wrong with the rows."""
        try:
            for batch in _batches(url, self._note_schema):
                self._add(batch)
        except (pa.ArrowException, OSError) as error:
            self._problems.append(f"cannot be read after row {self.rows:,} ({type(error).__name__})")
            return self._problems
        self._compare("rows", self.rows, self._part.rows)
        if self._digest.hex != self._part.digest:
            self._problems.append(f"its rows changed: digest {self._digest.hex}, committed was {self._part.digest}")
        self._check_facts()
        return self._problems

    def _note_schema(self, schema: pa.Schema) -> bool:
        fits: bool = schema.equals(TABLES[self._part.table], check_metadata=False)
        if not fits:
            self._problems.append(f"its columns are not those of the table {self._part.table}")
        return fits

    def _add(self, batch: pa.RecordBatch) -> None:
        self._digest.add(batch)
        if self._part.table in _ONE_ROW | _TOGETHER:
            self._check_order(batch["doc_id"].to_numpy())
        if self._part.table == "documents":
            self._check_texts(batch)
        if self._part.table == "corpus":
            spans = pc.subtract(batch["end"], batch["start"])
            self._hold(
                "its text is not end - start bytes", batch["doc_id"].to_numpy(), _differ(spans, _text_lengths(batch))
            )
        self.rows += batch.num_rows

    def _check_order(self, doc_ids: Ints) -> None:
        if self._first_id is None:
            self._first_id = int(doc_ids[0])
        steps = np.diff(doc_ids, prepend=self._last_id)
        self._hold("doc_id is out of order or doubled", doc_ids, steps < (1 if self._part.table in _ONE_ROW else 0))
        self._last_id = int(doc_ids[-1])

    def _check_texts(self, batch: pa.RecordBatch) -> None:
        doc_ids, lengths = batch["doc_id"].to_numpy(), _text_lengths(batch)
        self._hold("text_digest is not its text's", doc_ids, _differ(text_digests(batch["text"]), batch["text_digest"]))
        self._hold("text_bytes is not its text's length", doc_ids, _differ(lengths, batch["text_bytes"]))
        for name in ("shard", "source"):
            self._hold(f"{name} is not its file's", doc_ids, _differ(batch[name], self._part.facts[name]))
        self._text_bytes += pc.sum(lengths).as_py()

    def _hold(self, law: str, doc_ids: Ints, broken: npt.NDArray[np.bool_]) -> None:
        rows = np.flatnonzero(broken)
        if rows.size:
            self._broken_laws.setdefault(law, [int(doc_ids[rows[0]]), 0])[1] += rows.size

    def _check_facts(self) -> None:
        for law, (first, count) in self._broken_laws.items():
            self._problems.append(f"document {first}: {law}" + (f", and {count - 1:,} more" if count > 1 else ""))
        if self._part.table != "documents":
            return
        found = {"first_doc_id": self._first_id, "last_doc_id": self._last_id, "text_bytes": self._text_bytes}
        for name, value in found.items():
            self._compare(name, value, self._part.facts[name])

    def _compare(self, name: str, found: object, committed: object) -> None:
        if found != committed:
            self._problems.append(f"{name}: found {found}, committed {committed}")


def _batches(url: str, fits: Callable[[pa.Schema], bool]) -> Iterator[pa.RecordBatch]:
    """Yield a file's rows in order with page checksums verified; none if its columns do not fit."""
    with (
        storage.open_read(url) as stream,
        pq.ParquetFile(stream, buffer_size=1 << 20, page_checksum_verification=True) as file,
    ):
        if not fits(file.schema_arrow):
            return
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, use_threads=False)
            yield from table.combine_chunks().to_batches(max_chunksize=READ_ROWS)


def _text_lengths(batch: pa.RecordBatch) -> pa.Array:
    return pc.binary_length(batch["text"])


def _differ(a: pa.Array, b: Any) -> npt.NDArray[np.bool_]:
    differ: npt.NDArray[np.bool_] = pc.not_equal(a, b).to_numpy(zero_copy_only=False)
    return differ
