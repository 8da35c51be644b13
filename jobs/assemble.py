"""assemble: apply verdicts and cuts, shard by shard, and write the curated corpus."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from curation import commits
from curation.assemble import AssembleTask, assemble_shard
from curation.commits import Manifest, commit_from_json
from curation.parts import Part
from curation.shards_table import Shard
from curation.stages import Item, item_key
from jobs.job import Job, run_stage
from jobs.spark import run_shards

Parts = Mapping[str, Part]


def items(job: Job) -> list[Item]:
    """Return the shards that are written. Raises RecipeError before every judge is committed."""
    return [Item(shard.shard, task.key, shard.text_bytes) for shard, task in _tasks(job)]


def run(job: Job) -> Manifest:
    """Assemble every shard whose documents, verdicts or cuts are new. Reference sources have no corpus."""
    tasks = {shard.shard: task for shard, task in _tasks(job)}
    keys = {item: task.key for item, task in tasks.items()}
    done = commits.read_commits(job.root, "assemble", keys)
    todo = sorted((task for item, task in tasks.items() if item not in done), key=lambda task: -task.shard.text_bytes)
    if todo:
        done |= {commit.item: commit for commit in map(commit_from_json, run_shards(job.spark, _assemble, todo))}
    return job.finish("assemble", [done[item] for item in tasks])


def _tasks(job: Job) -> list[tuple[Shard, AssembleTask]]:
    signals = _by_shard(job.manifest("signals"), "signals")
    quality = _by_shard(job.manifest("quality"), "quality") if "quality" in job.stages else {}
    judges = {judge: job.manifest(judge) for judge in job.stages.judges}
    verdicts = _by_shard(judges[job.stages.judges[-1]], "verdicts")
    clusters = _by_shard(judges["dedup"], "verdicts") if "dedup" in judges else {}
    cuts = _by_shard(judges["decontaminate"], "cuts") if "decontaminate" in judges else {}
    emitted = {source.name for source in job.recipe.source if source.role == "train"}
    shards = [shard for shard in job.shards() if shard.source in emitted]
    return [(shard, _task(job, shard, (signals, quality, verdicts, clusters, cuts))) for shard in shards]


def _task(job: Job, shard: Shard, tables: Sequence[Parts]) -> AssembleTask:
    """The key names the content of every narrow part, so that a shard whose verdicts did not change is not redone."""
    parts = [table.get(shard.shard) for table in tables]
    key = item_key(job.stages["assemble"], [shard.key], [part.digest if part else None for part in parts])
    signals, quality, verdicts, clusters, cuts = parts
    assert signals is not None
    return AssembleTask(job.root, shard, key, signals, quality, verdicts, clusters, cuts)


def _by_shard(manifest: Manifest, table: str) -> Parts:
    return {part.facts["shard"]: part for part in manifest.parts(table)}


def _assemble(task: AssembleTask) -> Mapping[str, Any]:
    standing = commits.read_commit(task.root, "assemble", task.shard.shard, task.key)
    commit = standing or commits.put_commit(task.root, assemble_shard(task))
    return commit.to_json()


def main(argv: Sequence[str] | None = None) -> int:
    """Run this stage as a program."""
    return run_stage("assemble", __doc__ or "", argv, run)


if __name__ == "__main__":
    from jobs.assemble import main as imported  # tasks are pickled by the name of this module, not as __main__

    sys.exit(imported())
