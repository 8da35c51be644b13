"""dedup: exact duplicates first, then near-duplicates by exact Jaccard within candidate components, in rank order.

What crosses the network is narrow: per document its content hash and rank; per band 16 packed bytes; per candidate
document its bands and shingle hashes (the one exception the design allows, its bytes told in the manifest).
"""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation import commits, ledger
from curation.commits import Manifest
from curation.dedup import tasks
from curation.dedup.bands import collision_probability
from curation.dedup.components import UnionFind
from curation.dedup.tasks import BLOBS, CANDIDATES, HASHED, LINKED, STAGE, ResolveTask, ShardTask
from curation.dedup.verdicts import JudgeTask, judge_shard
from curation.judging import judge_commit
from curation.parts import Part, part_from_json
from curation.scratch import delete_scratch, read_scratch, write_scratch
from curation.shards_table import Shard
from jobs.job import Job, run_stage
from jobs.spark import collect, in_batches, run_shards, shard_rows

_ROWS_PER_PART = 4_000_000  # band rows sorted by one task: about 256 MB while it sorts
# Fewer rows than these are not worth one more task of a shuffle, however many cores wait.
_BAND_ROWS_A_TASK = 500_000
_HASHES_A_TASK = 250_000
_CANDIDATES_A_TASK = 10_000  # about 4 kB each
_GENERATION_STEP = 1 << 12  # more than there can be sources
_NO_SHARD = -1  # where a walk says how often it did not compare

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Firsts:
    """A task body that also needs the shards' first doc_ids; picklable, unlike a closure over the job."""

    body: Callable[[Iterable[pa.RecordBatch], Ints], Iterator[pa.RecordBatch]]
    firsts: Ints

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.body(batches, self.firsts)


def run(job: Job) -> Manifest:
    """Judge every document that filter keeps, and commit verdicts and compared pairs at once."""
    shards = job.shards()
    firsts = np.array([shard.first_doc_id for shard in shards], np.int64)
    scans = _scans(job, shards)
    exact = _by_shard(job, _exact(job, scans, firsts), "exact", len(scans))
    scans = [task.with_exact(exact.get(number)) for number, task in enumerate(scans)]
    with_candidates, numbers = _components(job, scans, firsts)
    near = _near(job, with_candidates, numbers["candidates"], firsts)
    links = _by_shard(job, near, "near", len(scans))
    numbers["overflowed"] = _overflowed(job, links.pop(_NO_SHARD, None))
    final = _by_shard(job, _resolve(job, exact, links, firsts), "final", len(scans))
    parts = _verdicts(job, scans, final, links)
    scratch = [*exact.values(), *links.values(), *final.values(), *(task.candidates for task in with_candidates)]
    lines = ledger.judged(job.root, STAGE, [p for p in parts if p.table == "verdicts"], job.source_names)
    ledger.check_guard(STAGE, lines, job.recipe.max_removed.get(STAGE))
    commit = judge_commit(STAGE, job.inputs.digest, job.key(STAGE), parts, shards)
    manifest = job.finish(STAGE, [commits.put_commit(job.root, commit)], _notes(job, numbers))
    delete_scratch(job.root, scratch)
    return manifest


def _scans(job: Job, shards: Sequence[Shard]) -> list[ShardTask]:
    settings = job.recipe.dedup
    assert settings is not None
    signals, signatures, received = (
        {p.facts["shard"]: p for p in job.manifest(stage).parts(table)}
        for stage, table in (("signals", "signals"), ("signatures", "signatures"), ("filter", "verdicts"))
    )
    quality = {p.facts["shard"]: p for p in job.manifest("quality").parts()} if "quality" in job.stages else {}
    position = {source.name: place for place, source in enumerate(job.recipe.source)}
    references = {source.name for source in job.recipe.source if source.role == "reference"}
    documents = sum(shard.documents for shard in shards)
    rows = documents * settings.bands
    parts = max(math.ceil(rows / _ROWS_PER_PART), _width(job, rows, _BAND_ROWS_A_TASK))
    return [
        ShardTask(
            job.root,
            shard,
            0 if shard.source in references else 1 + shard.generation * _GENERATION_STEP + position[shard.source],
            signals[shard.shard],
            signatures[shard.shard],
            quality.get(shard.shard),
            received.get(shard.shard),
            settings,
            parts,
        )
        for shard in shards
    ]


def _exact(job: Job, scans: Sequence[ShardTask], firsts: Ints) -> Any:
    documents = sum(task.shard.documents for task in scans)
    width = _width(job, documents, _HASHES_A_TASK)
    rows = shard_rows(job.spark, tasks.hashed_rows, scans, HASHED).repartition(width, "hash_a")
    ordered = rows.sortWithinPartitions("hash_a", "hash_b", "sort_order", "survivor", "sort_key")
    return ordered.mapInArrow(in_batches(_Firsts(tasks.exact_links, firsts)), LINKED)


def _components(job: Job, scans: Sequence[ShardTask], firsts: Ints) -> tuple[list[ShardTask], dict[str, int]]:
    """Return the tasks of shards with candidates, each with its list of (doc_id, component)."""
    width = _width(job, scans[0].parts if scans else 1, 1)
    blobs = shard_rows(job.spark, tasks.band_rows, scans, BLOBS).repartition(width, "part")
    edges = blobs.sortWithinPartitions("part").mapInArrow(
        in_batches(_Rooted(tasks.edges_of, job.root)), "file string, rows long, buckets long, largest long"
    )
    forest = UnionFind()
    numbers = {"band_rows": 0, "buckets": 0, "largest_bucket": 0}
    files = [(row["file"], row["rows"], row["buckets"], row["largest"]) for row in collect(edges)]
    for name, rows, buckets, largest in sorted(files):
        numbers["band_rows"] += rows
        numbers["buckets"] += buckets
        numbers["largest_bucket"] = max(numbers["largest_bucket"], largest)
        if name:
            table = read_scratch(job.root, name)
            forest.feed(table["doc_id"].to_numpy(), table["first"].to_numpy())
    delete_scratch(job.root, [name for name, *_ in files if name])
    ids, labels = forest.labels()
    numbers["candidates"] = len(ids)
    sizes = np.unique(labels, return_counts=True)[1]
    numbers["components"], numbers["largest_component"] = len(sizes), int(sizes.max(initial=0))
    return _with_candidates(job, scans, firsts, ids, labels), numbers


def _with_candidates(job: Job, scans: Sequence[ShardTask], firsts: Ints, ids: Ints, labels: Ints) -> list[ShardTask]:
    edges: Any = np.searchsorted(ids, np.r_[firsts, np.iinfo(np.int64).max])
    found = []
    for number, task in enumerate(scans):
        here = slice(int(edges[number]), int(edges[number + 1]))
        if here.stop > here.start:
            rows = pa.record_batch({"doc_id": pa.array(ids[here]), "component": pa.array(labels[here])})
            name = write_scratch(job.root, STAGE, f"{task.shard.shard}-candidates", [rows])
            found.append(replace(task, candidates=name))
    return found


def _near(job: Job, scans: Sequence[ShardTask], candidates: int, firsts: Ints) -> Any:
    settings = job.recipe.dedup
    width = _width(job, candidates, _CANDIDATES_A_TASK)
    rows = shard_rows(job.spark, tasks.candidate_rows, scans, CANDIDATES).repartition(width, "component")
    ordered = rows.sortWithinPartitions("component", "sort_order", "survivor", "sort_key")
    return ordered.mapInArrow(in_batches(_Firsts(_Near(settings), firsts)), LINKED)


def _resolve(job: Job, exact: Mapping[int, str], near: Mapping[int, str], firsts: Ints) -> Any:
    """Bring near drops together with the exact copies of what they drop; count what each kept document stands for."""
    numbers = sorted({*exact, *near})
    payloads = [ResolveTask(job.root, exact.get(number), near.get(number), firsts) for number in numbers]
    return shard_rows(job.spark, tasks.resolved, payloads, LINKED)


def _width(job: Job, rows: int, rows_a_task: int) -> int:
    """Return the partitions of a shuffle: no more than its rows are worth."""
    return min(job.partitions, max(1, math.ceil(rows / rows_a_task)))


def _by_shard(job: Job, links: Any, label: str, shards: int) -> dict[int, str]:
    """Write links to one scratch file per shard and return shard number -> file."""
    ordered = links.repartition(_width(job, shards, 1), "shard").sortWithinPartitions(
        "shard", "kind", "doc_id", "other"
    )
    rows = ordered.mapInArrow(in_batches(_Labelled(job.root, label)), "shard int, file string")
    return {row["shard"]: row["file"] for row in sorted(collect(rows), key=lambda row: int(row["shard"]))}


def _overflowed(job: Job, name: str | None) -> int:
    """Return how often a band held more kept members than a document was compared with."""
    if name is None:
        return 0
    total = int(pa.compute.sum(read_scratch(job.root, name)["other"]).as_py())
    delete_scratch(job.root, [name])
    return total


def _verdicts(job: Job, scans: Sequence[ShardTask], final: Mapping[int, str], near: Mapping[int, str]) -> list[Part]:
    generations = [task.shard.generation for task in scans]
    firsts = [task.shard.first_doc_id for task in scans]
    judged = [
        JudgeTask(task, final.get(number), near.get(number), tuple(firsts), tuple(generations))
        for number, task in enumerate(scans)
        if not task.is_reference
    ]
    return [part_from_json(part) for parts in run_shards(job.spark, _judge, judged) for part in parts]


def _judge(task: JudgeTask) -> list[Mapping[str, Any]]:
    return [part.to_json() for part in judge_shard(task)]


def _notes(job: Job, numbers: Mapping[str, int]) -> dict[str, Any]:
    settings = job.recipe.dedup
    assert settings is not None
    curve = {
        f"{tenth / 20:.2f}": round(collision_probability(tenth / 20, settings.bands, settings.rows), 6)
        for tenth in range(1, 21)
    }
    return {"numbers": dict(numbers), "collision_curve": curve}


@dataclass(frozen=True)
class _Rooted:
    body: Callable[[str, Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    root: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.body(self.root, batches)


@dataclass(frozen=True)
class _Near:
    settings: Any

    def __call__(self, batches: Iterable[pa.RecordBatch], firsts: Ints) -> Iterator[pa.RecordBatch]:
        return tasks.near_links(self.settings, batches, firsts)


@dataclass(frozen=True)
class _Labelled:
    """Write the rows of each shard, which come together, to a scratch file."""

    root: str
    label: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number, held = -1, list[pa.RecordBatch]()
        for batch in batches:
            shards = batch["shard"].to_numpy()
            for start, stop in _runs(shards):
                if shards[start] != number and held:
                    yield self._write(number, held)
                    held = []
                number = int(shards[start])
                held.append(batch.slice(start, stop - start))
        if held:
            yield self._write(number, held)

    def _write(self, number: int, held: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        name = write_scratch(self.root, STAGE, f"{number}-{self.label}", held)
        return pa.record_batch([pa.array([number], pa.int32()), pa.array([name])], ["shard", "file"])


def _runs(values: Any) -> Iterator[tuple[int, int]]:
    if len(values):
        starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
        yield from zip(starts.tolist(), np.r_[starts[1:], len(values)].tolist(), strict=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run this stage as a program."""
    return run_stage(STAGE, __doc__ or "", argv, run)


if __name__ == "__main__":
    from jobs.dedup import main as imported  # tasks are pickled by the name of this module, not as __main__

    sys.exit(imported())
