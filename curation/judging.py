"""What judges share: a shard's narrow columns side by side, verdict parts, and the one commit of a judge.

A judge writes one verdict for each document it receives. Its verdicts are sorted by doc_id and cut at shard
boundaries, so that later stages merge by position; it commits once, when all shards are judged.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.commits import Commit
from curation.parts import Part, read_table, write_part
from curation.shards_table import Shard
from schemas.tables import VERDICTS

Ints = npt.NDArray[np.int64]
PASSED_ON = ("keep", "split")


def verdict_part(root: str, shard: Shard, stage: str, columns: Mapping[str, Any]) -> Part:
    """Write one shard's verdicts of a stage; columns that are not given are null, `stage` is filled in."""
    rows = len(columns["doc_id"])
    given = {"stage": pa.array([stage] * rows, pa.string()), **columns}
    arrays = [given[f.name] if f.name in given else pa.nulls(rows, f.type) for f in VERDICTS]
    batch = pa.RecordBatch.from_arrays([_as(a, f.type) for a, f in zip(arrays, VERDICTS, strict=True)], schema=VERDICTS)
    return write_part(root, stage, "verdicts", shard.shard, [batch], facts_of(shard))


def facts_of(shard: Shard) -> dict[str, str]:
    """Return what every part that belongs to a shard says of it."""
    return {"shard": shard.shard, "source": shard.source}


def passed_on(root: str, verdicts: Part | None) -> Ints:
    """Return the doc_ids that a judge passed on from one shard, ascending."""
    if verdicts is None:
        return np.empty(0, np.int64)
    table = read_table(root, verdicts, ["doc_id", "fate"])
    ids: Ints = table["doc_id"].to_numpy()
    return ids[np.isin(table["fate"].to_numpy(), PASSED_ON)]


def judge_commit(stage: str, inputs: str, key: str, parts: Sequence[Part], shards: Sequence[Shard]) -> Commit:
    """Return a judge's commit for one set of inputs; it names the shards that received no document."""
    ordered = sorted((part for part in parts if part.rows), key=lambda part: (part.facts["shard"], part.table))
    judged = {part.facts["shard"] for part in ordered if part.table == "verdicts"}
    empty = [shard.shard for shard in shards if shard.shard not in judged]
    return Commit(stage, inputs[:16], key, tuple(ordered), {"empty_shards": empty})


def _as(column: Any, kind: pa.DataType) -> pa.Array:
    array = column if isinstance(column, pa.Array) else pa.array(column)
    return array.cast(kind) if array.type != kind else array
