"""annotate: one scan of text for everything local to a document: signals, quality, signatures, matches."""

import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

from curation import commits, storage
from curation.annotate import PARTS, ScanTask, scan
from curation.commits import Manifest, commit_from_json
from curation.decontamination import benchmarks, examples, index
from curation.shards_table import Shard
from curation.stages import Item, item_key
from jobs.job import Job, run_stage
from jobs.quality_model import model_key
from jobs.spark import run_shards

Keys = Mapping[str, Mapping[str, str]]  # part -> shard -> key of the item


def items(job: Job, part: str) -> list[Item]:
    """Return the shards that one part measures. Raises RecipeError before ingest is committed."""
    return [Item(shard.shard, _key(job, part, shard), shard.text_bytes) for shard in job.shards()]


def run(job: Job) -> dict[str, Manifest]:
    """Compute the parts that are stale, shard by shard, and return the manifests of all parts of this recipe."""
    parts = [part for part in PARTS if part in job.stages]
    shards = job.shards()
    keys = {part: {item.name: item.key for item in items(job, part)} for part in parts}
    done = {part: commits.read_commits(job.root, part, keys[part]) for part in parts}
    tasks = [task for shard in shards if (task := _task(job, shard, keys, done)).stale]
    for result in run_shards(job.spark, _scan, sorted(tasks, key=lambda task: -task.shard.text_bytes)) if tasks else []:
        for commit in map(commit_from_json, result):
            done[commit.stage][commit.item] = commit
    return {part: job.finish(part, [done[part][shard.shard] for shard in shards]) for part in parts}


def _key(job: Job, part: str, shard: Shard) -> str:
    upstream = [shard.key, model_key(job)] if part == "quality" else [shard.key]
    return item_key(job.stages[part], upstream, shard.shard)


def _task(job: Job, shard: Shard, keys: Keys, done: Mapping[str, Mapping[str, Any]]) -> ScanTask:
    stale = {part: keys[part][shard.shard] for part in keys if shard.shard not in done[part]}
    model = _model_url(job) if "quality" in stale else None
    table = index_url(job) if "matches" in stale else None
    recipe = job.recipe
    lid = storage.resolve(job.input_root, recipe.language.model) if recipe.language.model else None
    tokenizer = recipe.tokens.tokenizer if recipe.tokens.count_exactly else None
    return ScanTask(job.root, shard, stale, recipe.dedup, model, table, recipe.language, lid, tokenizer, job.input_root)


def _model_url(job: Job) -> str:
    return storage.join(job.root, job.manifest("quality_model").parts("model")[0].file)


def index_url(job: Job) -> str:
    """Return where the benchmark index of this recipe stands; it is built once, by whoever needs it first."""
    url = examples.index_url(job.root, job.key("matches"))
    settings = job.recipe.decontamination
    if settings is not None and not storage.exists(url):
        opened = partial(_open_asset, job.input_root)
        found = [benchmarks.read(benchmark, opened, settings.mode) for benchmark in settings.benchmarks]
        read = list(itertools.chain.from_iterable(found))
        examples.write_examples(job.root, job.key("matches"), read)
        storage.put_if_absent(url, index.build(read, settings.mode).to_bytes())
    return url


def _open_asset(input_root: str, path: str) -> BinaryIO:
    return storage.open_raw(storage.resolve(input_root, path))


def _scan(task: ScanTask) -> list[Mapping[str, Any]]:
    standing = {part: commits.read_commit(task.root, part, task.shard.shard, key) for part, key in task.stale.items()}
    stale = {part: key for part, key in task.stale.items() if standing[part] is None}
    made = scan(replace(task, stale=stale)) if stale else []
    return [commit.to_json() for commit in (*made, *(c for c in standing.values() if c is not None))]


def _run_all(job: Job) -> Manifest:
    return list(run(job).values())[-1]


def main(argv: Sequence[str] | None = None) -> int:
    """Run this stage as a program."""
    return run_stage("annotate", __doc__ or "", argv, _run_all)


if __name__ == "__main__":
    from jobs.annotate import main as imported  # tasks are pickled by the name of this module, not as __main__

    sys.exit(imported())
