"""Verdicts and cuts become the corpus: one shard's documents in, its pieces out, merged by position.

All tables of a shard are sorted by doc_id, so nothing is joined: the last judge's verdicts say who stays, the cuts
say what goes, and the text is read once, a row group at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.commits import Commit
from curation.parts import Part, PartWriter, read_batches, read_table
from curation.shards_table import Shard
from schemas.tables import CORPUS

Ints = npt.NDArray[np.int64]
_COPIED = ("doc_id", "doc_key", "source", "url", "title", "timestamp", "metadata")


@dataclass(frozen=True)
class AssembleTask:
    """One shard and the narrow parts that say what becomes of it; `verdicts` are the last judge's."""

    root: str
    shard: Shard
    key: str
    signals: Part
    quality: Part | None
    verdicts: Part | None
    clusters: Part | None  # dedup's verdicts
    cuts: Part | None


@dataclass(frozen=True)
class _Fates:
    """Who stays: doc_ids ascending, and for each how many documents it stands for."""

    doc_ids: Ints
    cluster_sizes: Ints
    cuts: dict[int, list[tuple[int, int]]]


def assemble_shard(task: AssembleTask) -> Commit:
    """Write the corpus part of one shard and return its commit; a shard of which nothing stays has an empty part."""
    fates = _fates(task)
    languages = read_table(task.root, task.signals, ["language"])["language"]
    scores = read_table(task.root, task.quality, ["quality_ppm"])["quality_ppm"] if task.quality else None
    done = 0
    with PartWriter(task.root, "assemble", "corpus", task.shard.shard) as writer:
        for batch in read_batches(task.root, task.shard.part, [*_COPIED, "text_bytes", "text"]):
            here = slice(done, done + batch.num_rows)
            score = scores.slice(done, batch.num_rows) if scores is not None else pa.nulls(batch.num_rows, pa.int32())
            about = {"language": languages.slice(done, batch.num_rows), "quality_ppm": score}
            writer.write(_pieces(batch, about, fates))
            done = here.stop
    part = writer.part({"shard": task.shard.shard, "source": task.shard.source})
    return Commit("assemble", task.shard.shard, task.key, (part,))


def _fates(task: AssembleTask) -> _Fates:
    if task.verdicts is None:
        return _Fates(np.empty(0, np.int64), np.empty(0, np.int64), {})
    verdicts = read_table(task.root, task.verdicts, ["doc_id", "fate"])
    stays = np.isin(verdicts["fate"].to_numpy(), ["keep", "split"])
    doc_ids = verdicts["doc_id"].to_numpy()[stays]
    cuts: dict[int, list[tuple[int, int]]] = {}
    if task.cuts is not None:
        rows = read_table(task.root, task.cuts, ["doc_id", "start", "end"])
        for doc_id, start, end in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            cuts.setdefault(doc_id, []).append((start, end))
    return _Fates(doc_ids, _cluster_sizes(task, doc_ids), cuts)


def _cluster_sizes(task: AssembleTask, doc_ids: Ints) -> Ints:
    sizes = np.ones(len(doc_ids), np.int64)
    if task.clusters is not None:
        rows = read_table(task.root, task.clusters, ["doc_id", "value"])
        at = np.searchsorted(rows["doc_id"].to_numpy(), doc_ids)
        sizes = rows["value"].fill_null(1).to_numpy()[at]
    return sizes


def _pieces(batch: pa.RecordBatch, about: dict[str, Any], fates: _Fates) -> pa.RecordBatch:
    ids = batch["doc_id"].to_numpy()
    rows = np.flatnonzero(np.isin(ids, fates.doc_ids, assume_unique=True))
    sizes = fates.cluster_sizes[np.searchsorted(fates.doc_ids, ids[rows])]
    spans = [_kept(fates.cuts.get(int(ids[row]), ()), batch["text_bytes"][int(row)].as_py()) for row in rows]
    counts = np.array([len(kept) for kept in spans], np.int64)
    take = pa.array(np.repeat(rows, counts))
    flat = [span for kept in spans for span in kept]
    columns = {name: batch[name].take(take) for name in _COPIED}
    columns |= {name: _one(column).take(take) for name, column in about.items()}
    columns["piece"] = pa.array([number for kept in spans for number in range(len(kept))], pa.int32())
    columns["start"] = pa.array([start for start, _ in flat], pa.int64())
    columns["end"] = pa.array([end for _, end in flat], pa.int64())
    columns["cluster_size"] = pa.array(np.repeat(sizes, counts))
    columns["text"] = _texts(batch, take, flat, any(cut in fates.cuts for cut in ids[rows].tolist()))
    return pa.RecordBatch.from_arrays([columns[name] for name in CORPUS.names], schema=CORPUS)


def _kept(cuts: Sequence[tuple[int, int]], text_bytes: int) -> list[tuple[int, int]]:
    """Return the spans between the cuts, which are disjoint and ascending."""
    edges = [0, *(edge for cut in cuts for edge in cut), text_bytes]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a]


def _texts(batch: pa.RecordBatch, take: pa.Array, spans: Sequence[tuple[int, int]], is_cut: bool) -> pa.Array:
    texts = batch["text"].take(take)
    if not is_cut:
        return texts
    slices = [text.as_buffer().to_pybytes()[a:b] for text, (a, b) in zip(texts, spans, strict=True)]
    return pa.array(slices, pa.large_binary()).cast(pa.large_string())


def _one(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
