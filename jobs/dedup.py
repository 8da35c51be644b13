"""dedup: exact duplicates first, then near-duplicates by exact Jaccard within candidate components, in rank order.

What crosses the network is narrow: per document its content hash and rank; per band 16 packed bytes; per candidate
document its bands and shingle hashes (the one exception the design allows, its bytes told in the manifest).
"""

import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation import commits, ledger
from curation.commits import Manifest
from curation.dedup import tasks
from curation.dedup.bands import collision_probability
from curation.dedup.generations import NOTE, Settled, decided_note, settled
from curation.dedup.greedy import SPILL_BYTES
from curation.dedup.guards import check_largest_cluster, largest_cluster
from curation.dedup.room import Room
from curation.dedup.rows import CANDIDATES, HASHED, LINKED, Places
from curation.dedup.tasks import STAGE, ResolveTask, ShardTask, rank_order
from curation.dedup.verdicts import JudgeTask, judge_shard
from curation.judging import judge_commit
from curation.parts import Part, part_from_json
from curation.scratch import delete_scratch, read_scratch, write_scratch
from curation.shards_table import Shard
from jobs.dedup_components import Placed, candidates, width_of
from jobs.job import Job, run_stage
from jobs.spark import collect, in_batches, run_shards, shard_rows

_ROWS_PER_PART = 4_000_000  # band rows sorted by one task: about 256 MB while it sorts
# Fewer rows than these are not worth one more task of a shuffle, however many cores wait.
_BAND_ROWS_A_TASK = 500_000
_HASHES_A_TASK = 250_000
_CANDIDATES_A_TASK = 10_000  # about 4 kB each
_NO_SHARD = -1  # where a walk says how often it did not compare

Ints = npt.NDArray[np.int64]


def run(job: Job) -> Manifest:
    """Judge every document that filter keeps, and commit verdicts and compared pairs at once.

    What an earlier run in this folder has decided stands, where nothing changed that decides about it.
    """
    shards = job.shards()
    scans, standing, note = _with_settled(job, _scans(job, shards))
    places = Places(
        np.array([shard.first_doc_id for shard in shards], np.int64),
        np.array([task.is_settled for task in scans], bool),
    )
    exact = _by_shard(job, _exact(job, scans, places), "exact", len(scans))
    scans = [task.with_exact(exact.get(number)) for number, task in enumerate(scans)]
    with_candidates, numbers = candidates(job, scans, places)
    near = _near(job, with_candidates, numbers["candidates"], places)
    links = _by_shard(job, near, "near", len(scans))
    numbers["overflowed"] = _overflowed(job, links.pop(_NO_SHARD, None))
    numbers["settled_shards"] = len(standing.shards)
    final = _by_shard(job, _resolve(job, scans, exact, links, places), "final", len(scans))
    shared = [*standing.verdicts.values(), *standing.pairs.values()]
    parts = [*shared, *_verdicts(job, scans, final, links)]
    scratch = [*exact.values(), *links.values(), *final.values(), *(task.candidates for task in with_candidates)]
    numbers["largest_cluster"] = _check_guards(job, [part for part in parts if part.table == "verdicts"])
    commit = judge_commit(STAGE, job.inputs.digest, job.key(STAGE), parts, shards)
    done = commits.put_commit(job.root, commit, {part.file for part in shared})
    manifest = job.finish(STAGE, [done], {**_notes(job, numbers), NOTE: note})
    delete_scratch(job.root, scratch)
    return manifest


def _with_settled(job: Job, scans: Sequence[ShardTask]) -> tuple[list[ShardTask], Settled, dict[str, Any]]:
    """Return the tasks, knowing what is settled, and what this run notes for later ones."""
    declared, settings = job.stages[STAGE], job.recipe.dedup
    assert settings is not None
    rule = [declared.version, declared.libraries, {**declared.parameters, "order": None}]
    note = decided_note(scans, [source.name for source in job.recipe.source], rule)
    if settings.removal != "greedy":  # a later document can join two connected components
        return list(scans), Settled(), note
    standing = settled(job.root, note)
    marked = [
        replace(task, is_settled=True, earlier=standing.verdicts.get(task.shard.shard))
        if task.shard.shard in standing.shards
        else task
        for task in scans
    ]
    return marked, standing, note


def _check_guards(job: Job, verdicts: Sequence[Part]) -> int:
    """Stop the run if it removes too much of a source, or has too large a cluster; return the size of the largest."""
    settings = job.recipe.dedup
    assert settings is not None
    lines = ledger.judged(job.root, STAGE, verdicts, job.source_names)
    ledger.check_guard(STAGE, lines, job.recipe.max_removed.get(STAGE))
    doc_id, size = largest_cluster(job.root, verdicts)
    received = sum(line.received.units for line in lines.values())
    check_largest_cluster(doc_id, size, received, settings.max_cluster_share)
    return size


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
    parts = max(math.ceil(rows / _ROWS_PER_PART), width_of(job, rows, _BAND_ROWS_A_TASK))
    return [
        ShardTask(
            job.root,
            shard,
            rank_order(shard.generation, None if shard.source in references else position[shard.source]),
            signals[shard.shard],
            signatures[shard.shard],
            quality.get(shard.shard),
            received.get(shard.shard),
            settings,
            parts,
        )
        for shard in shards
    ]


def _exact(job: Job, scans: Sequence[ShardTask], places: Places) -> Any:
    documents = sum(task.shard.documents for task in scans)
    width = width_of(job, documents, _HASHES_A_TASK)
    rows = shard_rows(job.spark, tasks.hashed_rows, scans, HASHED).repartition(width, "hash_a")
    ordered = rows.sortWithinPartitions("hash_a", "hash_b", "sort_order", "survivor", "sort_key")
    return ordered.mapInArrow(in_batches(Placed(tasks.exact_links, places)), LINKED)


def _near(job: Job, scans: Sequence[ShardTask], count: int, places: Places) -> Any:
    settings = job.recipe.dedup
    width = width_of(job, count, _CANDIDATES_A_TASK)
    rows = shard_rows(job.spark, tasks.candidate_rows, scans, CANDIDATES).repartition(width, "component")
    ordered = rows.sortWithinPartitions("component", "sort_order", "survivor", "sort_key")
    return ordered.mapInArrow(in_batches(Placed(_Near(settings), places)), LINKED)


def _resolve(
    job: Job, scans: Sequence[ShardTask], exact: Mapping[int, str], near: Mapping[int, str], places: Places
) -> Any:
    """Bring near drops together with the exact copies of what they drop; count what each kept document stands for."""
    numbers = sorted({*exact, *near})
    payloads = [
        ResolveTask(job.root, exact.get(number), near.get(number), places, scans[number].earlier) for number in numbers
    ]
    return shard_rows(job.spark, tasks.resolved, payloads, LINKED)


def _by_shard(job: Job, links: Any, label: str, shards: int) -> dict[int, str]:
    """Write links to one scratch file per shard and return shard number -> file."""
    ordered = links.repartition(width_of(job, shards, 1), "shard").sortWithinPartitions(
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
        if not task.is_reference and not task.is_settled
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
class _Near:
    settings: Any

    def __call__(self, batches: Iterable[pa.RecordBatch], places: Places) -> Iterator[pa.RecordBatch]:
        local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]  # of an executor: where it may fill a disk
        room = Room(SPILL_BYTES, local if os.path.isdir(local) else None)
        return tasks.near_links(self.settings, batches, places, room)


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
