"""The explicit list of stages: what would run and why, and running it.

`run` is resume: every stage that is committed for this recipe and these inputs is skipped, and within a stage every
item that is committed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from curation import commits, estimate, latest, ledger
from curation.annotate import PARTS
from curation.commits import Manifest
from curation.errors import IntegrityError, RecipeError
from curation.estimate import Corpus
from curation.latest import Latest
from curation.ledger import Entry
from curation.publishing import publish_corpus
from curation.recipe import readings
from curation.report.numbers import bytes_text
from jobs import annotate, assemble, decontaminate, dedup, filter, ingest, quality_model, tokenize_corpus
from jobs.items import items_of
from jobs.job import Job
from jobs.lock import run_lock
from jobs.progress import Progress, Snapshot, watched
from jobs.spark import running_tasks

_NEVER = "it never ran here"

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
    follows: bool = False  # runs only because a stage before it does
    items: int = 0  # that it commits one by one; 0 where that is one alone, or not known yet
    committed_items: int = 0
    stored_bytes: int = 0  # expected, of the whole stage
    shuffled_bytes: int = 0


def plan(job: Job) -> list[StagePlan]:
    """Return what `run` would do, stage by stage in order; nothing runs and nothing is written."""
    before = _last(job.root)
    size = expected(job)
    found: list[StagePlan] = []
    stale: list[str] = []
    for stage in job.stages.order:
        key = job.key(stage.name)
        if job.committed(stage.name) is not None:
            found.append(StagePlan(stage.name, key, True, "committed"))
            continue
        waits_for = [name for name in stage.inputs if name in stale]
        reason = _reason(job, stage.name, waits_for, before)
        watch, need = (
            watched(job.root, stage.name, items_of(job, stage.name)),
            estimate.need(stage.name, job.recipe, size),
        )
        counts = len(watch.items), len(watch.standing), need.stored_bytes, need.shuffled_bytes
        found.append(StagePlan(stage.name, key, False, reason, bool(waits_for) and reason in _dull(waits_for), *counts))
        stale.append(stage.name)
    return found


def expected(job: Job) -> Corpus:
    """Return how much text there is: what ingest has committed, and what the other files are expected to give."""
    keys = {item.name: item.key for item in items_of(job, "ingest")}
    done = commits.read_commits(job.root, "ingest", keys)
    return estimate.corpus(job.recipe, job.inputs.files, list(done.values()))


def run(job: Job) -> Latest:
    """Run every stage that is not committed, check the ledger, and write latest.json.

    Raises:
        CurationError: of the class whose exit code tells what went wrong; everything committed stays.
    """
    steps = plan(job)
    todo = [step.stage for step in steps if not step.committed]
    job.log.say(_opening(job.recipe.name, steps), "start", committed=len(steps) - len(todo), to_run=todo)
    with run_lock(job.root, job.log.say):
        _say_missing(job)
        job.register()
        for stages, runner in RUNNERS:
            missing = [stage for stage in stages if stage in todo]
            if missing:
                _run_step(job, missing, runner, {step.stage: step for step in steps})
                latest.write_unfinished(job.root, _so_far(job))
        if "tokenize" not in todo:
            tokenize_corpus.republish(job)
        manifests = {stage.name: job.manifest(stage.name) for stage in job.stages.order}
        _say_epochs(job)
        done = Latest(job.recipe_digest, job.inputs.digest, manifests, job.recipe.name)
        last = _last(job.root)
        if todo or last is None or last.recipe_digest != done.recipe_digest:
            _check(job, ledger.ledger(job.root, manifests, job.source_names))
        latest.write_latest(job.root, done)
        card = publish_corpus(job.root, done)
        if card is not None:
            job.log.say(f"corpus: its card is {card}", "card", path=card)
    return done


def _so_far(job: Job) -> Latest:
    found = {stage.name: job.committed(stage.name) for stage in job.stages.order}
    done = {name: manifest for name, manifest in found.items() if manifest is not None}
    return Latest(job.recipe_digest, job.inputs.digest, done, job.recipe.name)


def _say_missing(job: Job) -> None:
    """Warn of registered files of these sources that are not among the inputs any more."""
    groups = {reading.name for reading in readings(job.recipe)}
    here = {file.file for file in job.inputs.files}
    gone = [file for file in job.registries[0].files if file.group in groups and file.file not in here]
    if gone:
        some = ", ".join(file.uri for file in gone[:3]) + (", …" if len(gone) > 3 else "")
        job.log.say(
            f"warning: {len(gone)} registered files are not below {job.input_root} any more ({some}); they are left out"
        )


def _say_losses(job: Job, lines: Sequence[Entry]) -> None:
    """Warn of sources of which much could not be read, also below the size from which budgets count."""
    for line in lines:
        bad = sum(count.units for count in line.quarantine.values())
        if line.stage == "ingest" and bad * 100 > line.received.units:
            why = ", ".join(f"{reason} {count.units:,}" for reason, count in sorted(line.quarantine.items()))
            job.log.say(f"warning: {line.source}: {bad:,} of {line.received.units:,} units could not be used ({why})")


def _check(job: Job, lines: Sequence[Entry]) -> None:
    """Check the ledger, and every budget and guard of the recipe as it is now: committed stages did not ask again."""
    ledger.require_balance(lines)
    _say_losses(job, lines)
    ingest.check(job, lines)
    for stage, share in job.recipe.max_removed.items():
        ledger.check_guard(stage, {line.source: line for line in lines if line.stage == stage}, share)


def _say_epochs(job: Job) -> None:
    blend = tokenize_corpus.publish_blend(job)
    for source in blend.sources if blend is not None else ():
        limit = job.recipe.tokens.max_epochs
        much = f" — warning: more than {limit:g}, see tokens.max_epochs" if source.epochs > limit else ""
        job.log.say(
            f"blend: {source.source} {source.weight:.2%} of {source.tokens:,} tokens, {source.epochs:.2f} epochs{much}"
        )


def _opening(name: str, steps: Sequence[StagePlan]) -> str:
    """Return the first line of a run: what is committed, what will run, and why."""
    done = [step.stage for step in steps if step.committed]
    todo = [step for step in steps if not step.committed]
    held = f"{len(done)} of {len(steps)} stages committed" + f" ({', '.join(done)})" * bool(done)
    why = "; ".join(f"{step.stage}, since {step.reason}" for step in todo if not step.follows)
    rest = [step.stage for step in todo if step.follows]
    then = f"; then {', '.join(rest)}" if rest else ""
    return f"{name}: {held}; " + (f"runs {why}{then}" if todo else "nothing to run")


def _run_step(job: Job, stages: Sequence[str], runner: Runner, plans: Mapping[str, StagePlan]) -> None:
    """Run one job, which may commit several stages in one scan, and tell how far it is by the first."""
    for stage in stages:
        job.log.say(f"{stage}: runs, since {plans[stage].reason}", "stage_start", stage=stage)
    job.begin()
    watch = watched(job.root, stages[0], items_of(job, stages[0]))
    with Progress(job.log, watch, partial(running_tasks, job.started_spark)) as progress:
        result = runner(job)
    manifests = [result] if isinstance(result, Manifest) else list(result.values())
    for manifest in manifests:
        _say_done(job, manifest, progress.last)


def _say_done(job: Job, manifest: Manifest, last: Snapshot) -> None:
    rows, size = (sum(getattr(part, name) for part in manifest.parts()) for name in ("rows", "bytes"))
    told = [f"{len(manifest.commits)} commits, {rows:,} rows, {bytes_text(size)}", f"{last.seconds:.1f} s"]
    told += [last.details()] if last.stage == manifest.stage and last.details() else []
    facts = {"stage": manifest.stage, "commits": len(manifest.commits), "rows": rows, "bytes": size}
    job.log.say(f"{manifest.stage}: done, {', '.join(told)}", "stage_done", **facts, seconds=round(last.seconds, 1))


def _dull(waits_for: Sequence[str]) -> tuple[str, str]:
    """Return the reasons of a stage that say nothing which those of the stages before it do not."""
    return _NEVER, f"{', '.join(waits_for)} will change"


def _reason(job: Job, stage: str, stale_inputs: Sequence[str], before: Latest | None) -> str:
    if before is None or stage not in before.manifests:
        return _NEVER
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
