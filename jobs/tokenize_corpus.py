"""tokenize: the corpus becomes Megatron .bin/.idx pairs, published with shards.json, and blend.json over them.

The blend is no part of the stage: weights change no token, so it is put once, at the end of every run.
"""

import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from curation import commits, storage
from curation.commits import Commit, Manifest, commit_from_json
from curation.digests import value_digest
from curation.shards import blend
from curation.shards.grouping import groups
from curation.shards.pairs import Group, PairTask, write_pairs
from curation.shards.shuffling import ROWS, SORTED_BY, SpreadTask, token_rows, written
from curation.shards.sidecar import PairSidecar, Shards
from curation.stages import Item, item_key
from jobs.job import Job, run_stage
from jobs.spark import collect, in_batches, run_shards, shard_rows

_FILES = {"bin": ".bin", "idx": ".idx"}


def items(job: Job) -> list[Item]:
    """Return the groups of corpus shards that become pairs. Raises RecipeError before assemble is committed."""
    return [Item(group.item, _key(job, group), sum(part.bytes for part in group.parts)) for group in _groups(job)]


def run(job: Job) -> Manifest:
    """Tokenise every group of corpus shards that is new, publish all pairs, and put the manifest."""
    found = _groups(job)
    keys = {group.item: _key(job, group) for group in found}
    done = commits.read_commits(job.root, "tokenize", keys)
    tasks = [_task(job, group, keys[group.item]) for group in found if group.item not in done]
    plain = [task for task in tasks if task.group.share is None]
    if plain:
        done |= {commit.item: commit for commit in map(commit_from_json, run_shards(job.spark, _tokenize, plain))}
    done |= _shuffle(job, [task for task in tasks if task.group.share is not None])
    ordered = [done[group.item] for group in found]
    publish(job, ordered)
    return job.finish("tokenize", ordered, {"shards": shards_folder(job), **_crossed(found, ordered)})


def republish(job: Job) -> None:
    """Write the sidecars of committed pairs again: the recipe's digest may have changed since."""
    publish(job, job.manifest("tokenize").commits)


def shards_folder(job: Job) -> str:
    """Return the folder of this run's pairs, relative to the work folder: a name for their content."""
    return f"shards/{value_digest([job.key('tokenize'), job.inputs.digest])[:16]}"


def publish(job: Job, done: Sequence[Commit]) -> None:
    """Make the committed pairs stand under their names in one folder, with sidecars and shards.json."""
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


def publish_blend(job: Job) -> blend.Blend | None:
    """Put blend.json and Megatron's arguments beside published pairs; return the blend, None if there are no pairs."""
    folder = storage.join(job.root, shards_folder(job))
    try:
        shards = Shards.model_validate_json(storage.read_bytes(storage.join(folder, "shards.json")))
    except (FileNotFoundError, ValidationError):
        return None  # no pairs, or a damaged paper, which `curate verify` names
    if not any(pair.split == "train" for pair in shards.pairs):
        return None  # a corpus so small that all of it is held out: there is nothing to blend
    planned = _blend(job, shards)
    arguments = json.dumps(blend.megatron_splits(planned), indent=1).encode() + b"\n"
    for name, data in (("blend.json", _json(planned)), ("megatron.json", arguments)):
        _put(storage.join(folder, name), data)
    return planned


def _put(url: str, data: bytes) -> None:
    if not storage.exists(url) or storage.read_bytes(url) != data:
        storage.replace(url, data)


def _blend(job: Job, shards: Shards) -> blend.Blend:
    weights = {source.name: source.weight for source in job.recipe.source if source.weight is not None}
    if not weights:
        weights = {name: float(tokens) for name, tokens in blend.source_tokens(shards.pairs).items()}
    train = [pair.tokens for pair in shards.pairs if pair.split == "train"]
    return blend.plan(weights, shards.pairs, job.recipe.tokens.training_tokens or sum(train))


def _groups(job: Job) -> list[Group]:
    shards = {shard.shard: shard for shard in job.shards()}
    parts = job.manifest("assemble").parts("corpus")
    sized = [(part, shards[part.facts["shard"]]) for part in parts]
    target = job.recipe.tokens.target_pair_mib
    shuffled = [source.name for source in job.recipe.source if source.shuffle]
    rows = [(part, shard.generation, shard.text_bytes) for part, shard in sized]
    return groups(rows, None if target is None else target << 20, shuffled)


def _key(job: Job, group: Group) -> str:
    """What a group's tokens depend on: not how the other groups were cut, nor which other sources are shuffled."""
    stage = job.stages["tokenize"]
    own = {name: value for name, value in stage.parameters.items() if name not in ("target_pair_mib", "shuffle")}
    name = group.item if group.share is None else [group.item, *group.share]
    return item_key(replace(stage, parameters=own), [part.digest for part in group.parts], name)


def _shuffle(job: Job, tasks: Sequence[PairTask]) -> dict[str, Commit]:
    """Write the pairs of shuffled sources: their token ids cross Spark's shuffle, sorted by place."""
    if not tasks:
        return {}
    numbered = dict(enumerate(tasks))
    frame = shard_rows(job.spark, token_rows, _spread(tasks), ROWS).repartition(max(job.partitions, len(tasks)), "pair")
    ordered = frame.sortWithinPartitions(*SORTED_BY)
    rows = collect(ordered.mapInArrow(in_batches(_Write(job.root, numbered)), "commit string"))
    found = {commit.item: commit for commit in (commit_from_json(json.loads(row["commit"])) for row in rows)}
    for task in tasks:
        if task.group.item not in found:  # a share that no document falls into
            nothing = Commit("tokenize", task.group.item, task.key, (), {"shuffled_bytes": 0})
            found[task.group.item] = commits.put_commit(job.root, nothing)
    return found


def _spread(tasks: Sequence[PairTask]) -> list[SpreadTask]:
    spread = []
    first = 0
    for parts, members in itertools.groupby(tasks, lambda task: task.group.parts):
        pairs = tuple(members)
        spread += [SpreadTask(part, first, pairs) for part in parts]
        first += len(pairs)
    return spread


@dataclass(frozen=True)
class _Write:
    root: str
    tasks: Mapping[int, PairTask]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for commit in written(self.tasks, batches):
            told = json.dumps(commits.put_commit(self.root, commit).to_json())
            yield pa.record_batch([pa.array([told])], ["commit"])


def _crossed(found: Sequence[Group], done: Sequence[Commit]) -> dict[str, dict[str, int]]:
    """Return the bytes of each shuffled source that crossed Spark's shuffle."""
    sums: dict[str, int] = {}
    for group, commit in zip(found, done, strict=True):
        if group.share is not None:
            sums[group.source] = sums.get(group.source, 0) + commit.counts["shuffled_bytes"]
    return {"shuffled_bytes": sums} if sums else {}


def _task(job: Job, group: Group, key: str) -> PairTask:
    tokens = job.recipe.tokens
    return PairTask(job.root, group, key, tokens.tokenizer, job.input_root, job.recipe.seed, tokens.validation_fraction)


def _tokenize(task: PairTask) -> Mapping[str, Any]:
    standing = commits.read_commit(task.root, "tokenize", task.group.item, task.key)
    commit = standing or commits.put_commit(task.root, write_pairs(task))
    return commit.to_json()


def _run_alone(job: Job) -> Manifest:
    manifest = run(job)
    publish_blend(job)
    return manifest


def _json(model: Any) -> bytes:
    return json.dumps(model.model_dump(mode="json"), indent=1, sort_keys=True).encode() + b"\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run this stage as a program."""
    return run_stage("tokenize_corpus", __doc__ or "", argv, _run_alone)


if __name__ == "__main__":
    from jobs.tokenize_corpus import main as imported  # tasks are pickled by the name of this module, not as __main__

    sys.exit(imported())
