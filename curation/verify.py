"""Re-check everything that the last run committed, without Spark: files, rows, shards, and the ledger.

Nothing stops at the first problem, and every problem names its file. Damage to a manifest or a commit hides no more
than what only it knew of.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from curation import latest, storage
from curation.commits import Commit, Manifest, commit_from_json, notes_fit
from curation.errors import IntegrityError, RecipeError
from curation.ledger import ledger
from curation.pair_check import check_published
from curation.part_check import PartCheck, check_part
from curation.parts import Part
from curation.registry import read_registry

THREADS = 4  # each holds one row group; more wait for the same disk
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError)  # what plain data of another shape raises

Tell = Callable[[str], None]


@dataclass(frozen=True)
class StageCheck:
    """What verify found of one stage. `rows` were read; `digest` is what the manifest says."""

    stage: str
    key: str
    manifest: str
    files: int
    rows: int
    digest: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return the stage as the command line prints it."""
        names = ("stage", "key", "manifest", "files", "rows", "digest", "ok")
        return {**{name: getattr(self, name) for name in names}, "problems": list(self.problems)}


@dataclass(frozen=True)
class Verification:
    """What verify found in a work folder."""

    stages: tuple[StageCheck, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong anywhere."""
        return all(stage.ok for stage in self.stages)

    def to_json(self) -> dict[str, Any]:
        """Return `{"ok", "stages"}` as the command line prints it."""
        return {"ok": self.ok, "stages": [stage.to_json() for stage in self.stages]}


@dataclass(frozen=True)
class _Stage:
    """A stage as far as its manifest and commits could be read; `manifest` is None unless all of them could."""

    name: str
    key: str
    path: str
    digest: str
    commits: tuple[Commit, ...]
    manifest: Manifest | None
    problems: tuple[str, ...]

    @property
    def parts(self) -> list[Part]:
        """The files that can still be named."""
        return [part for commit in self.commits for part in commit.parts]


def verify(root: str, tell: Tell = lambda line: None) -> Verification:
    """Check every stage of the last run of a work folder; `tell` is given one line per finished stage.

    Raises:
        RecipeError: the folder holds no finished run.
        IntegrityError: latest.json itself cannot be read, so that nothing can be found.
    """
    stages = [_read_stage(root, name, about) for name, about in _latest_stages(root).items()]
    checks = [_check_stage(root, stage, tell) for stage in stages]
    return Verification(tuple(_with_ledger(root, stages, checks)))


def _latest_stages(root: str) -> dict[str, Mapping[str, Any]]:
    try:
        body = json.loads(storage.read_bytes(storage.join(root, latest.NAME)))
        return {name: {**about, "manifest": str(about["manifest"])} for name, about in body["stages"].items()}
    except FileNotFoundError:
        raise RecipeError(f"{root}: no finished run here; `curate run RECIPE --work {root}` makes one") from None
    except _DAMAGED:
        raise IntegrityError(f"{latest.NAME} is damaged; run the same recipe again, which writes it anew") from None


def _read_stage(root: str, name: str, about: Mapping[str, Any]) -> _Stage:
    path = about["manifest"]
    nothing = partial(_Stage, name, str(about.get("key", "")), path, "", (), None)
    try:
        body = json.loads(storage.read_bytes(storage.join(root, path)))
        head = [str(body[field]) for field in ("stage", "key", "inputs", "digest")]
        entries, notes = list(body["commits"]), body["notes"]
        wanted = [(str(entry["commit"]), str(entry["digest"])) for entry in entries]
    except FileNotFoundError:
        return nothing((f"{path}: the manifest is missing",))
    except _DAMAGED:
        return nothing((f"{path}: the manifest is damaged; remove it and run again, which makes it from its commits",))
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(lambda entry: _read_commit(root, *entry), wanted))
    commits = tuple(commit for commit in found if isinstance(commit, Commit))
    problems = [problem for problem in found if isinstance(problem, str)]
    manifest = Manifest(head[0], head[1], head[2], commits, notes)
    if not problems:
        problems += _manifest_problems(path, name, about, body, manifest)
    return _Stage(name, head[1], path, head[3], commits, None if problems else manifest, tuple(problems))


def _read_commit(root: str, path: str, digest: str) -> Commit | str:
    """Return a commit, or what is wrong with it."""
    try:
        value = json.loads(storage.read_bytes(storage.join(root, path)))
        commit = commit_from_json(value)
        stated = value["digest"]
        computed = commit.digest
    except FileNotFoundError:
        return f"{path}: the commit is missing"
    except _DAMAGED:
        return f"{path}: the commit is damaged"
    if computed != stated:
        return f"{path}: the commit's digest {stated} does not fit its parts, whose digest is {computed}"
    return commit if computed == digest else f"{path}: the commit is not the one that the manifest lists"


def _manifest_problems(
    path: str, name: str, about: Mapping[str, Any], body: Mapping[str, Any], manifest: Manifest
) -> Iterator[str]:
    parts = manifest.parts()
    counted = {"rows": sum(part.rows for part in parts), "bytes": sum(part.bytes for part in parts)}
    counted |= {"digest": manifest.digest, "stage": name}  # type: ignore[dict-item]
    for field, value in counted.items():
        if body.get(field) != value:
            yield f"{path}: {field} is {body.get(field)}, its commits say {value}"
    if not notes_fit(body):
        yield f"{path}: its notes are not those it was put with"
    if about.get("key") != manifest.key or manifest.path != path:
        yield f"{path}: its key and inputs are not those it is listed under in {latest.NAME}"
    if about.get("files") != sorted({part.file for part in parts}):
        yield f"{latest.NAME}: the files it lists for {name} are not those that {path} lists"


def _check_stage(root: str, stage: _Stage, tell: Tell) -> StageCheck:
    with ThreadPoolExecutor(THREADS) as pool:
        found: list[PartCheck] = list(pool.map(partial(check_part, root), stage.parts))
    problems = [*stage.problems, *(problem for check in found for problem in check.problems)]
    published = 0
    if stage.manifest is not None and "shards" in stage.manifest.notes:
        published, wrong = check_published(root, stage.manifest)
        problems += wrong
    rows = sum(check.rows for check in found)
    check = StageCheck(stage.name, stage.key, stage.path, len(found) + published, rows, stage.digest, tuple(problems))
    tell(f"{check.stage}: {check.files:,} files, {rows:,} rows, {_verdict(problems)}")
    return check


def _verdict(problems: Sequence[str]) -> str:
    return f"{len(problems)} problem{'s'[: len(problems) > 1]}" if problems else "as committed"


def _with_ledger(root: str, stages: Sequence[_Stage], checks: Sequence[StageCheck]) -> list[StageCheck]:
    """Return the checks with what the ledger says of each stage; a ledger needs every manifest."""
    manifests = {stage.name: stage.manifest for stage in stages if stage.manifest is not None}
    if len(manifests) < len(stages):
        return list(checks)
    problems: dict[str, list[str]] = {}
    try:
        names = {number: name for name, number in read_registry(root).numbers.items()}
        for entry in ledger(root, manifests, names):
            path = manifests[entry.stage].path
            problems.setdefault(entry.stage, []).extend(f"{path}: ledger, {entry.source}: {p}" for p in entry.problems)
    except (IntegrityError, OSError, *_DAMAGED, IndexError) as error:
        if all(check.ok for check in checks):
            last = checks[-1]
            problems[last.stage] = [f"{last.manifest}: the ledger cannot be drawn up ({type(error).__name__})"]
    return [replace(check, problems=(*check.problems, *problems.get(check.stage, ()))) for check in checks]
