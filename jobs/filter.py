"""filter: judge each document on its numbers by its source's profile, and say which rule it failed first."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from curation import commits, histograms, storage
from curation.commits import Manifest
from curation.errors import RecipeError
from curation.filtering import Evidence, judge
from curation.identity import coin, unpack
from curation.judging import judge_commit, verdict_part
from curation.latest import read_latest
from curation.ledger import ledger
from curation.pareto import expected_tokens, observe, solve_alpha
from curation.parts import Part, part_from_json, read_table, write_part
from curation.profiles import Pareto, Profile
from curation.reasons import Drop, Fate
from curation.recipe import Source
from curation.removal import removal_names
from curation.shards_table import Shard
from jobs.job import Job, run_stage
from jobs.spark import run_shards

_STAGE = "filter"
_BINS = 1_000  # of the score, for solving alpha
BYTES_PER_TOKEN = 4  # as tokens_estimated
SOLVED = (
    "alpha {alpha:g} for a goal of {goal_tokens:,} of {tokens:,} tokens after dedup: "
    "{expected_tokens:,} expected, {reached_tokens:,} reached"
)


@dataclass(frozen=True)
class _Task:
    root: str
    shard: Shard
    signals: Part
    quality: Part | None
    source: Source
    profile: Profile
    seed: int
    damaged_files: frozenset[int]
    removal_list: tuple[str, str] | None  # where it is, and its sha256
    largest_coin: float | None


def run(job: Job) -> Manifest:
    """Judge every shard and commit all verdicts at once."""
    shards = job.shards()
    tasks = _tasks(job, shards)
    solved = {name: _solve(job, name, own) for name, own in _to_solve(job, tasks).items()}
    tasks = [_with_alpha(task, solved) for task in tasks]
    judged = run_shards(job.spark, _judge, tasks)
    for name, solution in solved.items():
        solution |= {"reached_tokens": _reached(tasks, judged, name, solution)}
        job.log.say(f"filter: profile {name}: " + SOLVED.format(**solution))
    parts = [part_from_json(found["part"]) for found in judged]
    parts += _histograms(job, tasks, judged)
    commit = judge_commit(_STAGE, job.inputs.digest, job.key(_STAGE), parts, shards)
    notes = {"pareto": _pareto(tasks, judged), **({"alpha": solved} if solved else {})}
    return job.finish(_STAGE, [commits.put_commit(job.root, commit)], notes)


def _histograms(job: Job, tasks: Sequence[_Task], judged: Sequence[Any]) -> list[Part]:
    """Write the sums of what the shards counted, one part a source."""
    found = []
    for source in sorted({task.source.name for task in tasks if task.source.role != "reference"}):
        own = [(task, said) for task, said in zip(tasks, judged, strict=True) if task.source.name == source]
        batch = histograms.table(source, own[0][0].profile, [count for _, said in own for count in said["histograms"]])
        facts = {"shard": "", "source": source}
        found.append(write_part(job.root, _STAGE, "histograms", source, [batch], facts))
    return found


def _pareto(tasks: Sequence[_Task], judged: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """Return, by source with a Pareto filter: alpha, and what was expected and kept of the documents that met it."""
    found: dict[str, dict[str, Any]] = {}
    for task, counts in zip(tasks, judged, strict=True):
        if counts["pareto"] and task.profile.pareto:
            own = found.setdefault(task.source.name, {"alpha": task.profile.pareto.solved_alpha})
            for name, number in counts["pareto"].items():
                own[name] = own.get(name, 0) + number
    return found


def _to_solve(job: Job, tasks: Sequence[_Task]) -> dict[str, list[_Task]]:
    """Return the tasks of each profile whose alpha is auto."""
    found: dict[str, list[_Task]] = {}
    for task in tasks:
        if task.profile.pareto and task.profile.pareto.alpha == "auto" and task.source.role != "reference":
            found.setdefault(str(task.source.profile), []).append(task)
    return found


def _solve(job: Job, name: str, tasks: Sequence[_Task]) -> dict[str, Any]:
    """Return the alpha of a profile and what it rests on. Solved once for a key and its inputs, then it stands."""
    url = storage.join(job.root, _STAGE, "alpha", f"{job.key(_STAGE)[:16]}-{job.inputs.digest[:16]}-{name}.json")
    if not storage.exists(url):
        survival, goal = _survival(job), tasks[0].profile.pareto
        tokens = np.zeros(_BINS)
        for task, held in zip(tasks, run_shards(job.spark, _weigh, tasks), strict=True):
            tokens += np.array(held) / BYTES_PER_TOKEN * survival.get(task.source.name, 1.0)
        goal_tokens = int(goal.goal_tokens or 0) if goal else 0
        alpha = solve_alpha(tokens, goal_tokens)
        about = {
            "alpha": alpha,
            "goal_tokens": goal_tokens,
            "tokens": round(tokens.sum()),
            "expected_tokens": round(expected_tokens(tokens, alpha)),
            "survival": {task.source.name: survival.get(task.source.name, 1.0) for task in tasks},
        }
        storage.put_if_absent(url, json.dumps(about, sort_keys=True).encode())
    solution: dict[str, Any] = json.loads(storage.read_bytes(url))
    return solution


def _survival(job: Job) -> dict[str, float]:
    """Return what share of its bytes each source kept in the newest committed dedup; nothing if there is none."""
    try:
        latest = read_latest(job.root)
    except RecipeError:
        return {}
    entries = ledger(job.root, latest.manifests, job.source_names) if "dedup" in latest.manifests else []
    dedup = [entry for entry in entries if entry.stage == "dedup" and entry.received.bytes]
    return {entry.source: entry.out.bytes / entry.received.bytes for entry in dedup}


def _weigh(task: _Task) -> list[int]:
    """Return the bytes, by score bin, of the documents that pass every rule but the Pareto filter."""
    numbers = read_table(task.root, task.signals).combine_chunks()
    without = replace(task, profile=task.profile.model_copy(update={"pareto": None}))
    kept = _verdicts(without, numbers)["fate"].to_numpy(zero_copy_only=False) == str(Fate.KEEP)
    scores = read_table(task.root, task.quality, ["quality_ppm"])["quality_ppm"].to_numpy() if task.quality else []
    bins = np.minimum(np.asarray(scores, np.int64) * _BINS // 1_000_000, _BINS - 1)
    held: list[int] = np.bincount(bins[kept], numbers["text_bytes"].to_numpy()[kept], _BINS).astype(int).tolist()
    return held


def _with_alpha(task: _Task, solved: Mapping[str, Mapping[str, Any]]) -> _Task:
    solution = solved.get(task.source.profile or "")
    if solution is None:
        return task
    found = Pareto(alpha=solution["alpha"])
    return replace(task, profile=task.profile.model_copy(update={"pareto": found}))


def _reached(tasks: Sequence[_Task], judged: Sequence[Any], name: str, solution: Mapping[str, Any]) -> int:
    """Return the tokens that the filter kept of a profile's sources, dedup's survival taken off."""
    kept: list[float] = [
        found["kept_bytes"] / BYTES_PER_TOKEN * solution["survival"].get(task.source.name, 1.0)
        for task, found in zip(tasks, judged, strict=True)
        if task.source.profile == name and task.source.role != "reference"
    ]
    return round(sum(kept))


def _tasks(job: Job, shards: Sequence[Shard]) -> list[_Task]:
    signals = {part.facts["shard"]: part for part in job.manifest("signals").parts("signals")}
    quality = {p.facts["shard"]: p for p in job.manifest("quality").parts()} if "quality" in job.stages else {}
    damaged = frozenset(
        file["file"] for c in job.manifest("ingest").commits for file in c.counts["files"] if file["damaged"]
    )
    path, digest = job.recipe.removal_list, job.stages[_STAGE].parameters["removal_list"]
    removal = (storage.resolve(job.input_root, path), str(digest)) if path else None
    largest = _largest_coins(job, shards, signals)
    found = []
    for shard in shards:
        source = job.recipe.source_named(shard.source)
        profile = job.recipe.profile[source.profile] if source.profile else Profile()
        gives_up = damaged if source.damage == "quarantine_file" else frozenset[int]()
        name = shard.shard
        place = (job.root, shard, signals[name], quality.get(name), source, profile, job.recipe.seed)
        found.append(_Task(*place, gives_up, removal, largest.get(source.name)))
    return found


def _largest_coins(job: Job, shards: Sequence[Shard], signals: Mapping[str, Part]) -> dict[str, float]:
    """Return, for each source with more documents than it may have, the largest coin that stays."""
    found = {}
    for source in job.recipe.source:
        if source.max_documents is None:
            continue
        smallest = np.empty(0)
        seen = 0
        for shard in (shard for shard in shards if shard.source == source.name):
            keys = read_table(job.root, signals[shard.shard], ["doc_key"])["doc_key"].to_pylist()
            seen += len(keys)
            coins = np.array([coin(job.recipe.seed, key, "sample") for key in keys])
            smallest = np.sort(np.concatenate([smallest, coins]))[: source.max_documents]
        if seen > source.max_documents:
            found[source.name] = float(smallest[-1])
    return found


def _judge(task: _Task) -> Mapping[str, Any]:
    numbers = read_table(task.root, task.signals).combine_chunks()
    verdicts = _reference(numbers) if task.source.role == "reference" else _verdicts(task, numbers)
    columns = {"doc_id": numbers["doc_id"], "text_bytes": numbers["text_bytes"], **verdicts}
    part = verdict_part(task.root, task.shard, _STAGE, {k: _one(v) for k, v in columns.items()})
    kept = pc.equal(_one(columns["fate"]), str(Fate.KEEP))
    kept_bytes = pc.sum(_one(numbers["text_bytes"]).filter(kept)).as_py() or 0
    return {"part": part.to_json(), "kept_bytes": kept_bytes, **_counted(task, numbers, columns)}


def _counted(task: _Task, numbers: pa.Table, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shard's share of the histograms, and of what the Pareto filter was expected to keep and kept."""
    if task.source.role == "reference":
        return {"histograms": [], "pareto": {}}
    kept = columns["fate"].to_numpy(zero_copy_only=False) == str(Fate.KEEP)
    scores = _one(read_table(task.root, task.quality, ["quality_ppm"])["quality_ppm"]) if task.quality else None
    rule, observed = task.profile.pareto, dict[str, int]()
    if rule and scores is not None:
        met = kept | (columns["reason"].to_numpy(zero_copy_only=False) == str(Drop.PARETO))
        observed = observe(scores.to_numpy()[met], kept[met], rule.solved_alpha)
    return {"histograms": histograms.count(task.profile, numbers, scores, kept), "pareto": observed}


def _reference(numbers: pa.Table) -> dict[str, Any]:
    """A document that is matched against and never emitted goes no further, whatever it is like."""
    words = {"fate": "drop", "reason": Drop.NOT_SELECTED.value, "detail": "reference"}
    return {name: pa.array([word] * numbers.num_rows, pa.string()) for name, word in words.items()}


def _verdicts(task: _Task, numbers: pa.Table) -> dict[str, Any]:
    about = read_table(task.root, task.shard.part, ["doc_id", "language_hint", "url", "uri"]).combine_chunks()
    scores = read_table(task.root, task.quality, ["quality_ppm"])["quality_ppm"] if task.quality else None
    keys = numbers["doc_key"].to_pylist() if task.profile.pareto or task.largest_coin is not None else []
    evidence = Evidence(
        signals=numbers.to_batches(max_chunksize=None)[0],
        language_hint=_one(about["language_hint"]),
        quality_ppm=_one(scores),
        coins=np.array([coin(task.seed, key, "pareto") for key in keys]) if task.profile.pareto else None,
        damage=_damage(task, about) if task.damaged_files else None,
        surplus=_surplus(task, keys) if task.largest_coin is not None else None,
        removal=_removal(task, about) if task.removal_list else None,
    )
    found = judge(task.profile, evidence, task.source.language_before_extraction)
    return {name: found[name] for name in found.schema.names}


def _damage(task: _Task, about: pa.Table) -> pa.Array:
    files = [unpack(doc_id).file for doc_id in about["doc_id"].to_pylist()]
    return pa.array(["damaged_file" if file in task.damaged_files else "" for file in files])


def _surplus(task: _Task, keys: Sequence[int]) -> pa.Array:
    return pa.array([coin(task.seed, key, "sample") > (task.largest_coin or 0.0) for key in keys], pa.bool_())


def _removal(task: _Task, about: pa.Table) -> pa.Array:
    assert task.removal_list is not None
    names = removal_names(*task.removal_list)
    rows = zip(about["doc_id"].to_pylist(), about["url"].to_pylist(), about["uri"].to_pylist(), strict=True)
    return pa.array(
        [
            str(doc_id) in names or url in names or f"{task.source.name}:{uri}:{unpack(doc_id).record}" in names
            for doc_id, url, uri in rows
        ]
    )


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def main(argv: Sequence[str] | None = None) -> int:
    """Run this stage as a program."""
    return run_stage(_STAGE, __doc__ or "", argv, run)


if __name__ == "__main__":
    from jobs.filter import main as imported  # tasks are pickled by the name of this module, not as __main__

    sys.exit(imported())
