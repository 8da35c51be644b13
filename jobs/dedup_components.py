"""Which documents can influence each other: the connected components of all pairs that share a bucket.

Up to `driver_pairs` edges the driver finds them with union-find, which holds 20 to 40 bytes a candidate and nothing an
edge. Above that, Spark does in rounds of large-star and small-star (Kiveris et al., 2014), in constant memory anywhere.
The labels are the same: the smallest doc_id of each component.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.dedup import stars, tasks
from curation.dedup.components import UnionFind
from curation.dedup.rows import BLOBS, EDGES, Places
from curation.dedup.tasks import STAGE, ShardTask
from curation.errors import InfrastructureError
from curation.scratch import delete_scratch, stream_scratch, write_scratch
from jobs.job import Job
from jobs.spark import collect, in_batches, shard_rows

_EDGES_A_TASK = 1_000_000
_MAX_ROUNDS = 100  # a chain of 5,000 documents took 11; the number grows with the logarithm of the longest path
_SCRATCH = "file string, rows long, unfinished long"

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Placed:
    """A task body that also needs to know where the shards lie; picklable, unlike a closure over the job."""

    body: Callable[[Iterable[pa.RecordBatch], Places], Iterator[pa.RecordBatch]]
    places: Places

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.body(batches, self.places)


def width_of(job: Job, rows: int, rows_a_task: int) -> int:
    """Return the partitions of a shuffle: no more than its rows are worth."""
    return min(job.partitions, max(1, math.ceil(rows / rows_a_task)))


def candidates(job: Job, scans: Sequence[ShardTask], places: Places) -> tuple[list[ShardTask], dict[str, int]]:
    """Return the tasks of shards with candidates, each with its list of (doc_id, component), and what was counted."""
    settings = job.recipe.dedup
    assert settings is not None
    files, edges, numbers = _edges(job, scans, places)
    if edges <= settings.driver_pairs:
        forest = UnionFind()
        for batch in (batch for name in files for batch in stream_scratch(job.root, name)):
            forest.feed(batch["doc_id"].to_numpy(), batch["first"].to_numpy())
        delete_scratch(job.root, files)
        ids, labels = forest.labels()
        sizes = np.unique(labels, return_counts=True)[1]
        lists = _listed(job, scans, places, ids, labels)
        counts = (len(ids), len(sizes), int(sizes.max(initial=0)))
    else:
        lists, counts = _in_rounds(job, files, edges, places)
    numbers |= dict(zip(("candidates", "components", "largest_component"), counts, strict=True))
    found = [replace(scans[number], candidates=name) for number, name in sorted(lists.items())]
    return found, {**numbers, "edges": edges}


def _edges(job: Job, scans: Sequence[ShardTask], places: Places) -> tuple[list[str], int, dict[str, int]]:
    """Write the edges of all buckets to scratch, a spanning forest for each part of the bands."""
    width = width_of(job, scans[0].parts if scans else 1, 1)
    blobs = shard_rows(job.spark, tasks.band_rows, scans, BLOBS).repartition(width, "part")
    rows = collect(blobs.sortWithinPartitions("part").mapInArrow(in_batches(Placed(_Rooted(job.root), places)), EDGES))
    numbers = {
        "band_rows": sum(row["rows"] for row in rows),
        "buckets": sum(row["buckets"] for row in rows),
        "largest_bucket": max((row["largest"] for row in rows), default=0),
    }
    return sorted(row["file"] for row in rows if row["file"]), sum(row["edges"] for row in rows), numbers


def _listed(job: Job, scans: Sequence[ShardTask], places: Places, ids: Ints, labels: Ints) -> dict[int, str]:
    bounds: Any = np.searchsorted(ids, np.r_[places.firsts, np.iinfo(np.int64).max])
    found = {}
    for number, task in enumerate(scans):
        here = slice(int(bounds[number]), int(bounds[number + 1]))
        rows = pa.record_batch({"doc_id": pa.array(ids[here]), "component": pa.array(labels[here])})
        name = write_scratch(job.root, STAGE, f"{task.shard.shard}-candidates", [rows])
        if name is not None:
            found[number] = name
    return found


def _in_rounds(job: Job, files: list[str], edges: int, places: Places) -> tuple[dict[int, str], tuple[int, int, int]]:
    """Return the candidates of each shard, and how many candidates and components there are and the largest of them."""
    for _ in range(_MAX_ROUNDS):
        large, unfinished = _starred(job, files, edges, stars.both_ways, stars.large_star)
        if not unfinished:
            delete_scratch(job.root, large)
            return _labelled(job, files, edges, places)
        small, _ = _starred(job, large, edges, stars.downwards, stars.small_star)
        delete_scratch(job.root, [*files, *large])
        files = small
    raise InfrastructureError(
        f"connected components are not found after {_MAX_ROUNDS} rounds; nothing was committed. "
        "Set dedup.driver_pairs higher than the candidate pairs, and give the driver memory"
    )


def _starred(job: Job, files: Sequence[str], edges: int, turn: Any, star: Any) -> tuple[list[str], int]:
    """Run one half of a round over scratch files; return those it wrote, and how many nodes were not in a star yet."""
    reads = [_Read(job.root, name, turn) for name in files]
    rows = shard_rows(job.spark, _read, reads, "a long, b long").repartition(width_of(job, edges, _EDGES_A_TASK), "a")
    done = rows.sortWithinPartitions("a", "b").mapInArrow(in_batches(_Star(job.root, star)), _SCRATCH)
    written = collect(done)
    return sorted(row["file"] for row in written if row["file"]), sum(row["unfinished"] for row in written)


def _labelled(
    job: Job, files: Sequence[str], edges: int, places: Places
) -> tuple[dict[int, str], tuple[int, int, int]]:
    """Turn stars into lists of (doc_id, component), a file for each shard."""
    reads = [_Read(job.root, name, stars.labelled) for name in files]
    rows = shard_rows(job.spark, _read, reads, "a long, b long")
    count = _EDGES_A_TASK
    sizes = rows.repartition(width_of(job, edges, count), "b").sortWithinPartitions("b", "a")
    told = collect(sizes.mapInArrow(in_batches(stars.sizes), "candidates long, components long, largest long"))
    counts = (
        sum(row["candidates"] for row in told),
        sum(row["components"] for row in told),
        max((row["largest"] for row in told), default=0),
    )
    spread = rows.mapInArrow(in_batches(Placed(_with_shard, places)), "shard int, doc_id long, component long")
    ordered = spread.repartition(width_of(job, len(places.firsts), 1), "shard").sortWithinPartitions("shard", "doc_id")
    lists = collect(ordered.mapInArrow(in_batches(_Lists(job.root)), "shard int, file string"))
    delete_scratch(job.root, files)
    return {int(row["shard"]): row["file"] for row in lists}, counts


def _with_shard(batches: Iterable[pa.RecordBatch], places: Places) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        shards = pa.array(places.shards_of(batch["a"].to_numpy()), pa.int32())
        yield pa.record_batch([shards, batch["a"], batch["b"]], ["shard", "doc_id", "component"])


@dataclass(frozen=True)
class _Rooted:
    root: str

    def __call__(self, batches: Iterable[pa.RecordBatch], places: Places) -> Iterator[pa.RecordBatch]:
        return tasks.edges_of(self.root, batches, places)


@dataclass(frozen=True)
class _Read:
    root: str
    name: str
    turn: Callable[[Ints, Ints], stars.Edges]


def _read(task: _Read) -> Iterator[pa.RecordBatch]:
    for batch in stream_scratch(task.root, task.name):
        a, b = task.turn(batch["doc_id"].to_numpy(), batch["first"].to_numpy())
        yield pa.record_batch([pa.array(a), pa.array(b)], ["a", "b"])


@dataclass(frozen=True)
class _Star:
    """Write what a half round makes of its rows to a scratch file."""

    root: str
    star: Callable[[Iterable[stars.Edges], stars.Told], Iterator[stars.Edges]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        told = stars.Told()
        edges = self.star(((batch["a"].to_numpy(), batch["b"].to_numpy()) for batch in batches), told)
        rows = (pa.record_batch([pa.array(a), pa.array(b)], ["doc_id", "first"]) for a, b in edges)
        name = write_scratch(self.root, STAGE, "star", rows)
        yield pa.record_batch(
            [pa.array([name or ""]), pa.array([told.edges]), pa.array([told.unfinished])],
            ["file", "rows", "unfinished"],
        )


@dataclass(frozen=True)
class _Lists:
    """Write the rows of each shard, which come together, to a scratch file; distinct and sorted by doc_id."""

    root: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, rows in stars.by_first_column(batches):
            name = write_scratch(self.root, STAGE, f"{number}-candidates", rows)
            yield pa.record_batch([pa.array([number], pa.int32()), pa.array([name])], ["shard", "file"])
