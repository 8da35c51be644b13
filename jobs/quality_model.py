"""quality_model: draw positives and negatives by smallest coin, train the classifier on one thread, write its card."""

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from curation import commits, storage
from curation.commits import Commit, Manifest
from curation.errors import DataBudgetError
from curation.filtering import Evidence, judge
from curation.local_copy import local_copy
from curation.parts import Part, part_from_json, write_file
from curation.profiles import Profile
from curation.reasons import Fate
from curation.recipe import QualityModel
from curation.shards_table import Shard
from curation.stages import item_key
from curation.text import card, language, quality, sample, signals
from curation.text.language import LanguageSettings
from jobs.job import Job, run_stage
from jobs.spark import run_shards

_ITEM = "model"


@dataclass(frozen=True)
class _Look:
    root: str
    shard: Shard
    seed: int
    limit: float
    profile: Profile | None
    language: LanguageSettings
    language_model: str | None


@dataclass(frozen=True)
class _Draw:
    root: str
    shard: Shard
    label: str
    drawn: tuple[int, ...]
    seed: int
    max_kib: int


@dataclass(frozen=True)
class _Training:
    root: str
    parts: tuple[Part, ...]
    seed: int
    settings: QualityModel
    human_labels: str | None


def run(job: Job) -> Manifest:
    """Train the model of this recipe unless it is committed. Raises DataBudgetError if a label has no document."""
    key = model_key(job)
    commit = commits.read_commit(job.root, "quality_model", _ITEM, key)
    if commit is None:
        parts, card = _given(job) if _settings(job).file else _trained(job)
        commit = commits.put_commit(job.root, Commit("quality_model", _ITEM, key, parts, card))
    return job.finish("quality_model", [commit])


def model_key(job: Job) -> str:
    """Return the key of the model: of its rules and of the shards it is drawn from.

    It is drawn from the earliest generation in which all its sources have files, so that files that come later do not
    make another model and with it other scores.
    """
    pools = [] if _settings(job).file else _shards(job)
    return item_key(job.stages["quality_model"], sorted({shard.key for shard in pools}))


def _settings(job: Job) -> QualityModel:
    settings = job.recipe.quality_model
    assert settings is not None
    return settings


def _shards(job: Job) -> list[Shard]:
    names = {*_settings(job).positives, *_settings(job).negatives}
    shards = [shard for shard in job.shards() if shard.source in names]
    missing = names - {shard.source for shard in shards}
    if missing:
        raise DataBudgetError(
            f"quality_model draws from {', '.join(sorted(missing))}, which has no document; name other sources under "
            "[quality_model], or remove the section and the pareto rules"
        )
    last = max(min(s.generation for s in shards if s.source == name) for name in names)
    return [shard for shard in shards if shard.generation <= last]


def _given(job: Job) -> tuple[tuple[Part, ...], dict[str, Any]]:
    path = local_copy(storage.resolve(job.input_root, str(_settings(job).file)))
    about = {"given": True, **_human(quality.load(path), _labels(job))}
    return (write_file(job.root, "quality_model", "model", _ITEM, path),), {"card": about}


def _trained(job: Job) -> tuple[tuple[Part, ...], dict[str, Any]]:
    settings, shards = _settings(job), _shards(job)
    positives = [
        sample.Pool("positive", wanted, tuple(s for s in shards if s.source == name))
        for name, wanted in settings.positives.items()
    ]
    drawn = [(pool, _drawn(job, pool)) for pool in positives]
    pool = sample.Pool(
        "negative", sum(len(ids) for _, ids in drawn), tuple(s for s in shards if s.source in settings.negatives)
    )
    drawn.append((pool, _drawn(job, pool)))
    tasks = [
        _Draw(job.root, shard, pool.label, own, job.recipe.seed, settings.max_sample_kib)
        for pool, ids in drawn
        for shard in pool.shards
        if (own := tuple(i for i in ids if shard.first_doc_id <= i <= shard.last_doc_id))
    ]
    parts = tuple(part_from_json(part) for part in run_shards(job.spark, _write, tasks))
    [trained] = run_shards(job.spark, _train, [_Training(job.root, parts, job.recipe.seed, settings, _labels(job))])
    return (*parts, part_from_json(trained["model"])), {"card": trained["card"]}


def _drawn(job: Job, pool: sample.Pool) -> list[int]:
    limit, settings = pool.first_limit(), job.recipe.language
    model = storage.resolve(job.input_root, settings.model) if settings.model else None
    while True:
        looks = [_Look(job.root, s, job.recipe.seed, limit, _profile(job, s), settings, model) for s in pool.shards]
        found = [tuple(row) for rows in run_shards(job.spark, _look, looks) for row in rows]
        if len(found) >= pool.wanted or limit >= 1:
            return sample.draw(found, pool.wanted)
        limit = min(1.0, 2 * limit)


def _profile(job: Job, shard: Shard) -> Profile | None:
    name = job.recipe.source_named(shard.source).profile
    return job.recipe.profile[name] if name else None


def _look(task: _Look) -> list[tuple[float, int]]:
    path = str(local_copy(task.language_model)) if task.language_model else None
    detect = language.detector(task.language, path)
    passes = lambda batch: _passes(task.profile, detect, batch)  # noqa: E731
    return sample.candidates(task.root, task.shard, task.seed, task.limit, passes)


def _passes(
    profile: Profile | None, detect: Callable[[pa.Array], language.Detected], batch: pa.RecordBatch
) -> list[bool]:
    """Return which documents pass the language and length rules and are not empty; the other rules do not count."""
    texts = batch["text"]
    codes, shares = detect(texts)
    found = signals.compute(texts)
    columns = dict(zip(found.schema.names, found.columns, strict=True)) | {"language": codes, "language_ppm": shares}
    rules = (profile or Profile()).language_and_length()
    evidence = Evidence(signals=pa.record_batch(columns), language_hint=pa.array([""] * len(texts)))
    return [fate == Fate.KEEP for fate in judge(rules, evidence)["fate"].to_pylist()]


def _write(task: _Draw) -> Mapping[str, Any]:
    part = sample.write_sample(task.root, task.shard, task.label, task.drawn, task.seed, task.max_kib)
    return part.to_json()


def _train(task: _Training) -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bin"
        quality.train(sample.shuffled(task.root, task.parts, task.seed), task.settings.parameters, path)
        model = quality.load(path)
        about = card.describe(task.root, task.parts, task.seed, task.settings.parameters, model, Path(folder))
        about |= _human(model, task.human_labels)
        part = write_file(task.root, "quality_model", "model", _ITEM, path)
    return {"model": part.to_json(), "card": about}


def _labels(job: Job) -> str | None:
    path = _settings(job).human_labels
    return storage.resolve(job.input_root, path) if path is not None else None


def _human(model: quality.Model, url: str | None) -> dict[str, Any]:
    return {"human": card.human(model, storage.read_bytes(url), url)} if url is not None else {}


def main(argv: Sequence[str] | None = None) -> int:
    """Run this stage as a program."""
    return run_stage("quality_model", __doc__ or "", argv, run)


if __name__ == "__main__":
    from jobs.quality_model import main as imported  # tasks are pickled by the name of this module, not as __main__

    sys.exit(imported())
