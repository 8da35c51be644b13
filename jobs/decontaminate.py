"""decontaminate: cut benchmark text out of documents, drop what is left in crumbs; every edit is a row of `cuts`."""

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from curation import commits, ledger, storage
from curation.commits import Manifest
from curation.decontamination.cuts import CutRule, Judgement, judge
from curation.decontamination.frequency import document_counts, merge_counts, set_aside
from curation.decontamination.index import Index
from curation.decontamination.kernels import Hashes
from curation.decontamination.summary import Phrases, summary
from curation.decontamination.tally import add, cells, counters
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
    counted = run_shards(job.spark, _count, tasks)
    phrases = _phrases(job, tasks, [partial(_read_counts, job.root, name) for name in counted])
    delete_scratch(job.root, counted)
    common = {p.generation: _hand_out(job, p) for p in phrases}
    judged = run_shards(job.spark, _judge, [replace(task, spared=common[task.shard.generation]) for task in tasks])
    parts = [part_from_json(part) for found in judged for part in found["parts"]]
    lines = ledger.judged(job.root, _STAGE, [p for p in parts if p.table == "verdicts"], job.source_names)
    ledger.check_guard(_STAGE, lines, job.recipe.max_removed.get(_STAGE))
    commit = judge_commit(_STAGE, job.inputs.digest, job.key(_STAGE), parts, shards)
    tallies = [(t.shard.source, f["cells"], f["counters"]) for t, f in zip(tasks, judged, strict=True) if f["parts"]]
    notes = {"contamination": summary(tallies, phrases, load_index(index_url(job)))}
    manifest = job.finish(_STAGE, [commits.put_commit(job.root, commit)], notes)
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
    rule = CutRule(settings.min_piece_characters, settings.max_pieces, settings.removal)
    index = index_url(job)
    return [
        _Task(job.root, shard, signals[shard.shard], matches[shard.shard], received[shard.shard], index, rule)
        for shard in shards
        if shard.shard in received
    ]


def _phrases(job: Job, tasks: Sequence[_Task], counts: Sequence[Callable[[], pa.Table]]) -> list[Phrases]:
    """Return, by generation, which n-grams are too common to be a leak, from what reads each task's counts.

    Documents of earlier generations and its own count, later ones do not, so that new files never change what was
    cut from old ones. The driver holds four numbers per benchmark n-gram that was found.
    """
    settings = job.recipe.decontamination
    assert settings is not None
    found = []
    total = merge_counts([])
    for generation in sorted({task.shard.generation for task in tasks}):
        own = [read() for read, task in zip(counts, tasks, strict=True) if task.shard.generation == generation]
        total = merge_counts([total, *own])
        ngrams = set_aside(total, settings.common, settings.mode == "paper", settings.spare_from_documents)
        found.append(Phrases(generation, ngrams, total))
    return found


def _hand_out(job: Job, phrases: Phrases) -> str | None:
    rows = pa.record_batch({"ngram": pa.array(phrases.ngrams, pa.uint64())})
    return write_scratch(job.root, _STAGE, f"common-{phrases.generation}", [rows])


def _count(task: _Task) -> str | None:
    return write_scratch(task.root, _STAGE, f"{task.shard.shard}-counts", _counts(task).combine_chunks().to_batches())


def _read_counts(root: str, name: str | None) -> pa.Table:
    return merge_counts([read_scratch(root, name)] if name else [])


def _counts(task: _Task) -> pa.Table:
    return document_counts(_received_matches(task, passed_on(task.root, task.received)), load_index(task.index))


def _received_matches(task: _Task, received: Any) -> pa.Table:
    matches = read_table(task.root, task.matches)
    return matches.filter(pa.array(np.isin(matches["doc_id"].to_numpy(), received)))


def _judge(task: _Task) -> dict[str, Any]:
    """Write a shard's verdicts and cuts, and return the parts with what was counted in their rows."""
    common = read_scratch(task.root, task.spared)["ngram"].to_numpy() if task.spared else np.empty(0, np.uint64)
    judged = _judgement(task, common)
    if judged is None:
        return {"parts": []}
    found, matches = judged
    facts = facts_of(task.shard)
    tables = {"verdicts": found.verdicts, "cuts": found.cuts}
    parts = [
        write_part(task.root, _STAGE, name, task.shard.shard, table.to_batches(), facts)
        for name, table in tables.items()
    ]
    counted = {"cells": cells(matches, found, load_index(task.index), common), "counters": counters(found.verdicts)}
    return {"parts": [part.to_json() for part in parts], **counted}


def _judgement(task: _Task, common: Hashes) -> tuple[Judgement, pa.Table] | None:
    """Return a shard's judgement and the matches it rests on; None if the shard received no document."""
    kept = passed_on(task.root, task.received)
    if not len(kept):
        return None
    documents = read_table(task.root, task.signals, ["doc_id", "text_bytes", "characters"])
    documents = documents.take(pa.array(np.searchsorted(documents["doc_id"].to_numpy(), kept)))
    matches = _received_matches(task, kept)
    return judge(matches, documents, load_index(task.index), common, task.rule), matches


def preview(job: Job) -> dict[str, int] | None:
    """Return the paper's counters as a run would give them, from committed narrow tables and writing nothing.

    None if what it reads is not committed yet.
    """
    if any(job.committed(stage) is None for stage in ("ingest", "signals", *job.stages[_STAGE].inputs)):
        return None
    tasks = _tasks(job, job.shards())
    common = {p.generation: p.ngrams for p in _phrases(job, tasks, [partial(_counts, task) for task in tasks])}
    judged = (_judgement(task, common[task.shard.generation]) for task in tasks)
    total: dict[str, int] = {}
    for counted in (counters(found[0].verdicts) for found in judged if found):
        total = add(total, counted)
    return total


@functools.lru_cache(maxsize=1)
def load_index(url: str) -> Index:
    """Return the benchmark index, loaded once per process."""
    return Index.from_bytes(storage.read_bytes(url))


def main(argv: Sequence[str] | None = None) -> int:
    """Run this stage as a program."""
    return run_stage(_STAGE, __doc__ or "", argv, run)


if __name__ == "__main__":
    from jobs.decontaminate import main as imported  # tasks are pickled by the name of this module, not as __main__

    sys.exit(imported())
