"""From links to verdicts: a document is kept with the number it stands for, or dropped with what it resembles."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from curation.dedup.rows import ACCEPTED, CAPPED, CAPPED_DETAIL, COUNT, DROP, NEAR, PAIR, REFERENCE, spread
from curation.dedup.tasks import STAGE, ShardTask, received
from curation.judging import facts_of, verdict_part
from curation.parts import Part, read_table, write_part
from curation.reasons import Drop
from curation.scratch import read_scratch
from schemas.tables import PAIRS

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class JudgeTask:
    """One shard with the links that concern its documents; all shards' first doc_ids and generations, in order."""

    scan: ShardTask
    final: str | None  # scratch: drops of its documents, and what its kept documents stand for
    near: str | None  # scratch: the pairs compared
    firsts: tuple[int, ...]
    generations: tuple[int, ...]


def judge_shard(task: JudgeTask) -> list[Part]:
    """Write the shard's verdicts and compared pairs, and return the parts; none for a shard that received nothing."""
    ids = received(task.scan)
    if not len(ids):
        return []
    root, shard = task.scan.root, task.scan.shard
    parts = [verdict_part(root, shard, STAGE, _columns(task, ids))]
    pairs = _pairs(task)
    if pairs is not None:
        parts.append(write_part(root, STAGE, "pairs", shard.shard, [pairs], facts_of(shard)))
    return parts


def _columns(task: JudgeTask, ids: Ints) -> dict[str, Any]:
    sizes = read_table(task.scan.root, task.scan.signals, ["doc_id", "text_bytes"])
    at = np.searchsorted(sizes["doc_id"].to_numpy(), ids)
    links = _links(task.scan.root, task.final)
    drops, counts = (links.filter(pc.equal(links["kind"], kind)) for kind in (DROP, COUNT))
    columns = _kept(task, ids, counts)
    rows = np.searchsorted(ids, drops["doc_id"].to_numpy())
    flags = drops["flags"].to_numpy()
    columns["fate"][rows] = "drop"
    columns["reason"][rows] = [_reason(int(flag)).value for flag in flags]
    columns["detail"][rows] = np.where(flags & CAPPED != 0, CAPPED_DETAIL, "")
    columns["value"][rows] = drops["jaccard_ppm"].to_numpy()
    threshold = np.where(flags & NEAR != 0, task.scan.settings.threshold_ppm, 1_000_000)
    nothing = np.ones(len(ids), bool)
    nothing[rows] = False
    numbers = {"threshold": _filled(ids, rows, threshold), "other": _filled(ids, rows, drops["other"].to_numpy())}
    words = {name: pa.array(columns[name], pa.string()) for name in ("fate", "reason", "detail")}
    masked = {name: pa.array(column, pa.int64(), mask=nothing) for name, column in numbers.items()}
    return {
        "doc_id": ids,
        "text_bytes": sizes["text_bytes"].to_numpy()[at],
        **words,
        **masked,
        "value": columns["value"],
    }


def _kept(task: JudgeTask, ids: Ints, counts: pa.Table) -> dict[str, Any]:
    """Return the columns as if all were kept: value counts whom a document stands for, itself included."""
    kept, copies = counts["doc_id"].to_numpy(), counts["other"].to_numpy()
    firsts, generations = np.array(task.firsts), np.array(task.generations)
    same = generations[spread(firsts, copies)] == task.scan.shard.generation
    stands_for = np.ones(len(ids), np.int64)
    np.add.at(stands_for, np.searchsorted(ids, kept[same]), 1)
    words = {name: np.full(len(ids), word, object) for name, word in (("fate", "keep"), ("reason", ""))}
    return {**words, "detail": np.full(len(ids), "cluster_size", object), "value": stands_for}


def _reason(flags: int) -> Drop:
    if flags & REFERENCE:
        return Drop.REFERENCE_DUPLICATE
    return Drop.NEAR_DUPLICATE if flags & NEAR else Drop.EXACT_DUPLICATE


def _pairs(task: JudgeTask) -> pa.RecordBatch | None:
    links = _links(task.scan.root, task.near)
    pairs = links.filter(pc.equal(links["kind"], PAIR)).combine_chunks()
    if not pairs.num_rows:
        return None
    accepted = pa.array(pairs["flags"].to_numpy() & ACCEPTED != 0)
    jaccard = pairs["jaccard_ppm"].combine_chunks().cast(pa.int32())
    columns = [pairs["doc_id"].combine_chunks(), pairs["other"].combine_chunks(), jaccard, accepted]
    return pa.RecordBatch.from_arrays(columns, schema=PAIRS)


def _links(root: str, name: str | None) -> pa.Table:
    if name is None:
        return pa.table(
            {column: pa.array([], pa.int64()) for column in ("kind", "doc_id", "other", "jaccard_ppm", "flags")}
        )
    return read_scratch(root, name)


def _filled(ids: Ints, rows: Ints, values: Any) -> Ints:
    column = np.zeros(len(ids), np.int64)
    column[rows] = values
    return column
