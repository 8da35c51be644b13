"""The rows that deduplication sends through the engine: their columns, kinds and flags.

The engine does not cast, so that a batch must have exactly the types of its schema.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]

HASHED = "hash_a long, hash_b long, sort_order long, survivor long, sort_key long, doc_id long"
LINKED = "shard int, kind int, doc_id long, other long, jaccard_ppm long, flags int"
BLOBS = "part int, rows binary"
EDGES = "file string, edges long, rows long, buckets long, largest long"
CANDIDATES = (
    "component long, sort_order long, survivor long, sort_key long, doc_id long, flags int, bands binary, hashes binary"
)

DROP, PAIR, COUNT, COPY = 0, 1, 2, 3  # kinds of links; DROP and PAIR lie with their document, the others with the kept
NEAR, REFERENCE, CAPPED, ACCEPTED, SETTLED = 1, 2, 4, 8, 16  # flags of links, and of candidates
CAPPED_DETAIL = "capped"  # of a verdict whose similarity was measured on the smallest hashes of a longer text


@dataclass(frozen=True)
class Places:
    """The first doc_id of every shard, ascending, and which of the shards are settled."""

    firsts: Ints
    settled: npt.NDArray[np.bool_]

    def shards_of(self, doc_ids: Ints) -> npt.NDArray[np.int32]:
        """Return the number of the shard that each doc_id lies in."""
        return spread(self.firsts, doc_ids)

    def are_settled(self, doc_ids: Ints) -> npt.NDArray[np.bool_]:
        """Return which documents an earlier run has decided."""
        found: npt.NDArray[np.bool_] = self.settled[self.shards_of(doc_ids)]
        return found


def spread(firsts: Ints, doc_ids: Ints) -> npt.NDArray[np.int32]:
    """Return the number of the shard that each doc_id lies in; `firsts` are the shards' first doc_ids, ascending."""
    numbers: npt.NDArray[np.int32] = (np.searchsorted(firsts, doc_ids, "right") - 1).astype(np.int32)
    return numbers


def link_batch(kind: int, ids: Any, others: Any, jaccard_ppm: Any, flags: Any, places: Places) -> pa.RecordBatch:
    """Return links of one kind, each with the shard of its document."""
    return batch_of([places.shards_of(ids), np.full(len(ids), kind), ids, others, jaccard_ppm, flags], LINKED)


_KINDS = {"long": pa.int64(), "int": pa.int32(), "binary": pa.binary(), "string": pa.string()}


def batch_of(columns: Sequence[Any], schema: str) -> pa.RecordBatch:
    """Return a batch with exactly the types of a DDL schema: the engine does not cast."""
    fields = [pa.field(name, _KINDS[kind]) for name, kind in (column.split() for column in schema.split(", "))]
    arrays = [
        column
        if isinstance(column, pa.Array)
        else pa.array(np.asarray(column) if f.type != pa.binary() else column, f.type)
        for column, f in zip(columns, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
