"""The explicit list of stages: what would run and why, and running it.

`run` is resume: every stage that is committed for this recipe and these inputs is skipped, and within a stage every
item that is committed.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from curation import latest, ledger
from curation.annotate import PARTS
from curation.commits import Manifest
from curation.errors import IntegrityError, RecipeError
from curation.latest import Latest
from curation.ledger import Entry
from jobs import annotate, assemble, decontaminate, dedup, filter, ingest, quality_model, tokenize_corpus
from jobs.job import Job
from jobs.lock import run_lock

Runner = Callable[[Job], Manifest | Mapping[str, Manifest]]

# Stages in order, with the job that commits them; the parts of annotate share one scan.
RUNNERS: tuple[tuple[tuple[str, ...], Runner], ...] = (
    (("ingest",), ingest.run),
    (("quality_model",), quality_model.run),
    (PARTS, annotate.run),
    (("filter",), filter.run),
    (("dedup",), dedup.run),
    (("decontaminate",), decontaminate.run),
    (("assemble",), assemble.run),
    (("tokenize",), tokenize_corpus.run),
)


@dataclass(frozen=True)
class StagePlan:
    """What would happen to a stage, and why."""

    stage: str
    key: str
    committed: bool
    reason: str


def plan(job: Job) -> list[StagePlan]:
    """Return what `run` would do, stage by stage in order; nothing runs and nothing is written."""
    before = _last(job.root)
    found: list[StagePlan] = []
    stale: list[str] = []
    for stage in job.stages.order:
        committed = job.committed(stage.name) is not None
        reason = "committed" if committed else _reason(job, stage.name, [s for s in stage.inputs if s in stale], before)
        if not committed:
            stale.append(stage.name)
        found.append(StagePlan(stage.name, job.key(stage.name), committed, reason))
    return found


def run(job: Job) -> Latest:
    """Run every stage that is not committed, check the ledger, and write latest.json.

    Raises:
        CurationError: of the class whose exit code tells what went wrong; everything committed stays.
    """
    steps = plan(job)
    todo = [step.stage for step in steps if not step.committed]
    _say(f"{len(steps)} stages: {len(steps) - len(todo)} committed, {len(todo)} to run")
    with run_lock(job.root, _say):
        job.register()
        for stages, runner in RUNNERS:
            missing = [stage for stage in stages if stage in todo]
            if missing:
                _run_step(job, missing, runner, {step.stage: step.reason for step in steps})
        if "tokenize" not in todo:
            tokenize_corpus.republish(job)
        manifests = {stage.name: job.manifest(stage.name) for stage in job.stages.order}
        done = Latest(job.recipe_digest, job.inputs.digest, manifests)
        last = _last(job.root)
        if todo or last is None or last.recipe_digest != done.recipe_digest:
            _check(job, ledger.ledger(job.root, manifests, job.source_names))
        latest.write_latest(job.root, done)
    return done


def _check(job: Job, lines: Sequence[Entry]) -> None:
    """Check the ledger, and every budget and guard of the recipe as it is now: committed stages did not ask again."""
    ledger.require_balance(lines)
    ingest.check(job, lines)
    for stage, share in job.recipe.max_removed.items():
        ledger.check_guard(stage, {line.source: line for line in lines if line.stage == stage}, share)


def _run_step(job: Job, stages: Sequence[str], runner: Runner, reasons: Mapping[str, str]) -> None:
    for stage in stages:
        _say(f"{stage}: runs, since {reasons[stage]}")
    started = time.monotonic()
    result = runner(job)
    manifests = [result] if isinstance(result, Manifest) else list(result.values())
    seconds = time.monotonic() - started
    for manifest in manifests:
        rows = sum(part.rows for part in manifest.parts())
        size = sum(part.bytes for part in manifest.parts())
        done = f"{len(manifest.commits)} commits, {rows:,} rows, {size / 1e6:,.1f} MB"
        _say(f"{manifest.stage}: done, {done}, {seconds:.1f} s")


def _reason(job: Job, stage: str, stale_inputs: Sequence[str], before: Latest | None) -> str:
    if before is None or stage not in before.manifests:
        return "it never ran here"
    old = before.manifests[stage]
    declared = job.stages[stage]
    if old.notes.get("version") != declared.version:
        return f"its code is version {declared.version}, committed was {old.notes.get('version')}"
    changed = _changed(old.notes.get("parameters", {}), declared.parameters)
    if changed:
        return f"{', '.join(changed)} changed"
    if old.notes.get("libraries") != declared.libraries:
        return "a library changed: " + ", ".join(_changed(old.notes.get("libraries", {}), declared.libraries))
    if stale_inputs:
        return f"{', '.join(stale_inputs)} will change"
    return "the input files changed" if before.inputs != job.inputs.digest else "it was not finished"


def _changed(old: object, new: object, path: str = "") -> list[str]:
    """Return the paths at which two pieces of plain data differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = sorted({*old, *new}, key=str)
        return [found for key in keys for found in _changed(old.get(key), new.get(key), f"{path}.{key}".lstrip("."))]
    plain_old, plain_new = (list(v) if isinstance(v, tuple) else v for v in (old, new))
    return [] if plain_old == plain_new else [path]


def _last(root: str) -> Latest | None:
    """Return the last finished run, which only serves to say what changed since; every stage proves itself."""
    try:
        return latest.read_latest(root)
    except (RecipeError, IntegrityError):
        return None


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
