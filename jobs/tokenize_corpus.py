"""tokenize: the corpus becomes Megatron .bin/.idx pairs, published with shards.json and blend.json."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from curation import commits, storage
from curation.commits import Commit, Manifest, commit_from_json
from curation.digests import value_digest
from curation.shards import blend
from curation.shards.pairs import Group, PairTask, groups, write_pairs
from curation.shards.sidecar import PairSidecar, Shards
from curation.stages import item_key
from jobs.job import Job, run_stage
from jobs.spark import run_shards

_FILES = {"bin": ".bin", "idx": ".idx"}


def run(job: Job) -> Manifest:
    """Tokenise every group of corpus shards that is new, publish all pairs, and put the manifest."""
    found = _groups(job)
    keys = {group.item: _key(job, group) for group in found}
    done = commits.read_commits(job.root, "tokenize", keys)
    tasks = [_task(job, group, keys[group.item]) for group in found if group.item not in done]
    if tasks:
        done |= {commit.item: commit for commit in map(commit_from_json, run_shards(job.spark, _tokenize, tasks))}
    ordered = [done[group.item] for group in found]
    publish(job, ordered)
    return job.finish("tokenize", ordered, {"shards": shards_folder(job)})


def republish(job: Job) -> None:
    """Write the papers of committed pairs again: weights and other values of the recipe may have changed since."""
    publish(job, job.manifest("tokenize").commits)


def shards_folder(job: Job) -> str:
    """Return the folder of this run's pairs, relative to the work folder: a name for their content."""
    return f"shards/{value_digest([job.key('tokenize'), job.inputs.digest])[:16]}"


def publish(job: Job, done: Sequence[Commit]) -> None:
    """Make the committed pairs stand under their names in one folder, with sidecars, shards.json and blend.json."""
    folder = storage.join(job.root, shards_folder(job))
    sidecars = []
    for part in (part for commit in done for part in commit.parts if part.table in _FILES):
        storage.copy(storage.join(job.root, part.file), storage.join(folder, part.facts["pair"] + _FILES[part.table]))
        if part.table == "bin":
            sidecars.append(PairSidecar.model_validate({**part.facts["sidecar"], "recipe": job.recipe_digest}))
    for sidecar in sidecars:
        storage.replace(storage.join(folder, f"{sidecar.name}.json"), _json(sidecar))
    if sidecars:
        head = sidecars[0]
        entries = tuple(sidecar.entry() for sidecar in sidecars)
        shards = Shards(tokenizer=head.tokenizer, dtype=head.dtype, eod=head.eod, pairs=entries)
        storage.replace(storage.join(folder, "shards.json"), _json(shards))
        storage.replace(storage.join(folder, "blend.json"), _json(_blend(job, shards)))


def _blend(job: Job, shards: Shards) -> blend.Blend:
    train = [pair for pair in shards.pairs if pair.split == "train"]
    weights = {source.name: source.weight for source in job.recipe.source if source.weight is not None}
    if not weights:
        weights = {name: float(tokens) for name, tokens in blend.source_tokens(train).items()}
    return blend.plan(weights, train, sum(pair.tokens for pair in train))


def _groups(job: Job) -> list[Group]:
    shards = {shard.shard: shard for shard in job.shards()}
    parts = [part for part in job.manifest("assemble").parts("corpus") if part.rows]
    rows = [(part, shards[part.facts["shard"]]) for part in parts]
    sized = [(part, shard.generation, shard.text_bytes) for part, shard in rows]
    return groups(sized, job.recipe.tokens.target_pair_mib << 20)


def _key(job: Job, group: Group) -> str:
    return item_key(job.stages["tokenize"], [part.digest for part in group.parts], group.item)


def _task(job: Job, group: Group, key: str) -> PairTask:
    tokens = job.recipe.tokens
    return PairTask(job.root, group, key, tokens.tokenizer, job.input_root, job.recipe.seed, tokens.validation_fraction)


def _tokenize(task: PairTask) -> Mapping[str, Any]:
    standing = commits.read_commit(task.root, "tokenize", task.group.item, task.key)
    commit = standing or commits.put_commit(task.root, write_pairs(task))
    return commit.to_json()


def _json(model: Any) -> bytes:
    return json.dumps(model.model_dump(mode="json"), indent=1, sort_keys=True).encode() + b"\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run this stage as a program."""
    return run_stage("tokenize_corpus", __doc__ or "", argv, run)


if __name__ == "__main__":
    from jobs.tokenize_corpus import main as imported  # tasks are pickled by the name of this module, not as __main__

    sys.exit(imported())
