"""decontaminate: cut benchmark text out of documents, drop what is left in crumbs; every edit is a row of `cuts`."""

import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from curation import commits, ledger, storage
from curation.commits import Manifest
from curation.decontamination.cuts import CutRule, judge
from curation.decontamination.frequency import document_counts, merge_counts, spared
from curation.decontamination.index import Index
from curation.judging import facts_of, judge_commit, passed_on
from curation.parts import Part, part_from_json, read_table, write_part
from curation.scratch import delete_scratch, read_scratch, write_scratch
from curation.shards_table import Shard
from jobs.annotate import index_url
from jobs.job import Job, run_stage
from jobs.spark import run_shards

_STAGE = "decontaminate"


@dataclass(frozen=True)
class _Task:
    root: str
    shard: Shard
    signals: Part
    matches: Part
    received: Part
    index: str
    rule: CutRule
    spared: str | None = None  # scratch: hashes that are common phrases at the shard's generation


def run(job: Job) -> Manifest:
    """Judge every document that the judge before keeps, and commit verdicts and cuts at once."""
    shards = job.shards()
    tasks = _tasks(job, shards)
    common = _common_phrases(job, tasks)
    judged = [replace(task, spared=common.get(task.shard.generation)) for task in tasks]
    parts = [part_from_json(part) for found in run_shards(job.spark, _judge, judged) for part in found]
    lines = ledger.judged(job.root, _STAGE, [p for p in parts if p.table == "verdicts"], job.source_names)
    ledger.check_guard(_STAGE, lines, job.recipe.max_removed.get(_STAGE))
    commit = judge_commit(_STAGE, job.inputs.digest, job.key(_STAGE), parts, shards)
    manifest = job.finish(_STAGE, [commits.put_commit(job.root, commit)], {"coverage": _coverage(job)})
    delete_scratch(job.root, common.values())
    return manifest


def _tasks(job: Job, shards: Sequence[Shard]) -> list[_Task]:
    settings = job.recipe.decontamination
    assert settings is not None
    before = job.stages.judges[job.stages.judges.index(_STAGE) - 1]
    signals, matches, received = (
        {p.facts["shard"]: p for p in job.manifest(stage).parts(table)}
        for stage, table in (("signals", "signals"), ("matches", "matches"), (before, "verdicts"))
    )
    rule = CutRule(settings.min_piece_characters, settings.max_pieces)
    index = index_url(job)
    return [
        _Task(job.root, shard, signals[shard.shard], matches[shard.shard], received[shard.shard], index, rule)
        for shard in shards
        if shard.shard in received
    ]


def _common_phrases(job: Job, tasks: Sequence[_Task]) -> dict[int, str | None]:
    """Return, by generation, where the hashes of n-grams stand that are too common to be a leak.

    Documents of earlier generations and its own count, later ones do not, so that new files never change what was
    cut from old ones. The driver holds one number per benchmark n-gram that was found.
    """
    settings = job.recipe.decontamination
    assert settings is not None
    files = run_shards(job.spark, _count, tasks)
    generations = sorted({task.shard.generation for task in tasks})
    found: dict[int, str | None] = {}
    total = merge_counts([])
    for generation in generations:
        own = [f for f, task in zip(files, tasks, strict=True) if f and task.shard.generation == generation]
        total = merge_counts([total, *(read_scratch(job.root, name) for name in own)])
        hashes = spared(total, settings.spare_from_documents)
        rows = pa.record_batch({"ngram": pa.array(hashes, pa.uint64())})
        found[generation] = write_scratch(job.root, _STAGE, f"common-{generation}", [rows])
    delete_scratch(job.root, files)
    return found


def _count(task: _Task) -> str | None:
    kept = passed_on(task.root, task.received)
    matches = read_table(task.root, task.matches)
    counts = document_counts(matches.filter(pa.array(np.isin(matches["doc_id"].to_numpy(), kept))))
    return write_scratch(task.root, _STAGE, f"{task.shard.shard}-counts", counts.combine_chunks().to_batches())


def _judge(task: _Task) -> list[Mapping[str, Any]]:
    kept = passed_on(task.root, task.received)
    if not len(kept):
        return []
    documents = read_table(task.root, task.signals, ["doc_id", "text_bytes", "characters"])
    documents = documents.take(pa.array(np.searchsorted(documents["doc_id"].to_numpy(), kept)))
    common = read_scratch(task.root, task.spared)["ngram"].to_numpy() if task.spared else np.empty(0, np.uint64)
    found = judge(read_table(task.root, task.matches), documents, load_index(task.index), common, task.rule)
    facts = facts_of(task.shard)
    tables = zip(("verdicts", "cuts"), found, strict=True)
    parts = [write_part(task.root, _STAGE, name, task.shard.shard, table.to_batches(), facts) for name, table in tables]
    return [part.to_json() for part in parts]


@functools.lru_cache(maxsize=1)
def load_index(url: str) -> Index:
    """Return the benchmark index, loaded once per process."""
    return Index.from_bytes(storage.read_bytes(url))


def _coverage(job: Job) -> list[dict[str, Any]]:
    """Per task: its examples, and how many of them are too short to be protected."""
    return [dict(row._asdict()) for row in load_index(index_url(job)).coverage]


def main(argv: Sequence[str] | None = None) -> int:
    """Run this stage as a program."""
    return run_stage(_STAGE, __doc__ or "", argv, run)


if __name__ == "__main__":
    from jobs.decontaminate import main as imported  # tasks are pickled by the name of this module, not as __main__

    sys.exit(imported())
