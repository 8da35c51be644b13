"""What a work folder holds that no run needs any more, and removing it.

In use are the manifests kept (those of the last run, and the newest of each stage if more are asked for), the commits
they list, and those commits' parts. Commits newer than the last finished run stay too, since a repeated command goes on
from them. While a run is under way only attempts older than it are touched.

What vouches for something is removed before it: manifests, then commits, then parts. So a cleaning that is killed
leaves a folder in which no manifest lists a commit, and no commit a part, that is gone.
"""

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from curation import commits, latest, storage
from curation.commits import KEY_DIGITS, Commit, Manifest, commit_path
from curation.errors import IntegrityError
from curation.storage import Found

STAGES = (
    *("ingest", "quality_model", "signals", "quality", "signatures", "matches"),
    *("filter", "dedup", "decontaminate", "assemble", "tokenize"),
)
_BESIDE = {"matches": "index", "filter": "alpha"}  # folders of files that bear a stage's key and can be made again

MANIFEST, COMMIT, ATTEMPT, PART, PUBLISHED, BESIDE = "manifest", "commit", "attempt", "part", "published", "beside"


@dataclass(frozen=True)
class Leftover:
    """A file that nobody needs, relative to the work folder, and what it is."""

    path: str
    bytes: int
    kind: str


@dataclass(frozen=True)
class _Standing:
    """The papers of a work folder."""

    manifests: dict[str, Manifest]  # by path; those kept
    other_manifests: tuple[tuple[str, Found], ...]
    commits: dict[str, Commit]  # by path; those that stay
    other_commits: tuple[tuple[str, Found], ...]


def leftovers(root: str, keep: int = 0, before: float | None = None) -> list[Leftover]:
    """Return what can go, in the order in which it may be removed.

    Args:
        root: the work folder.
        keep: besides those of the last run, this many of the newest manifests of each stage are kept.
        before: the time at which the oldest run under way began, or None if none is.

    Raises:
        RecipeError: no run was ever finished here, so that nothing says what is in use.
        IntegrityError: something in use is damaged or missing; then nothing may be removed.
    """
    papers = _papers(root, keep)
    named = {part.file for commit in papers.commits.values() for part in commit.parts}
    attempts = list(_attempts(root, papers, named))
    if before is not None:
        return [left for left, found in attempts if left.kind == ATTEMPT and found.modified < before]
    gone = [Leftover(path, found.bytes, MANIFEST) for path, found in papers.other_manifests]
    gone += [Leftover(path, found.bytes, COMMIT) for path, found in papers.other_commits]
    gone += [left for left, _ in attempts]
    return gone + list(_published(root, papers)) + list(_beside(root, papers))


def remove(root: str, gone: Iterable[Leftover]) -> None:
    """Remove files in this order; one that is gone already is no error."""
    for left in gone:
        storage.delete(storage.join(root, left.path))
        if left.kind == PUBLISHED:
            storage.delete_if_empty(storage.join(root, left.path.rpartition("/")[0]))


def _papers(root: str, keep: int) -> _Standing:
    last = latest.read_latest(root)
    finished = storage.modified(storage.join(root, latest.NAME))
    kept = {manifest.path: manifest for manifest in last.manifests.values()}
    other_manifests: list[tuple[str, Found]] = []
    for stage in STAGES:
        found = sorted(_listed(root, stage, "manifests"), key=lambda named: (-named[1].modified, named[0]))
        kept |= {path: commits.load_manifest(root, path) for path, _ in found[:keep] if path not in kept}
        other_manifests += [named for named in found[keep:] if named[0] not in kept]
    staying = {commit.path: commit for manifest in kept.values() for commit in manifest.commits}
    once_listed = {path for named in other_manifests for path in _commits_of(root, named[0])}
    other_commits: list[tuple[str, Found]] = []
    for path, found_file in (named for stage in STAGES for named in _listed(root, stage, "commits")):
        if path in staying:
            continue
        if path not in once_listed and found_file.modified > finished:
            staying[path] = _commit_at(root, path)
        else:
            other_commits.append((path, found_file))
    return _Standing(kept, tuple(other_manifests), staying, tuple(other_commits))


def _listed(root: str, stage: str, folder: str) -> list[tuple[str, Found]]:
    return [
        (f"{stage}/{folder}/{found.name}", found) for found in storage.list_files(storage.join(root, stage, folder))
    ]


def _commits_of(root: str, path: str) -> Sequence[str]:
    """Return the commits that a manifest which is to go lists; none if it is damaged."""
    try:
        return [str(entry["commit"]) for entry in json.loads(storage.read_bytes(storage.join(root, path)))["commits"]]
    except (ValueError, KeyError, TypeError):
        return []


def _commit_at(root: str, path: str) -> Commit:
    try:
        commit = commits.commit_from_json(json.loads(storage.read_bytes(storage.join(root, path))))
    except (ValueError, KeyError, TypeError):
        raise IntegrityError(
            f"{path}: the commit is damaged, so that nothing says which parts it needs; remove it and run again"
        ) from None
    if commit_path(commit.stage, commit.item, commit.key) != path:
        raise IntegrityError(f"{path}: this is the commit of another item; remove it and run again")
    return commit


def _attempts(root: str, papers: _Standing, named: set[str]) -> Iterable[tuple[Leftover, Found]]:
    """Yield the parts that nothing staying names: of commits that go, and what was never committed."""
    once_committed = set()
    for path, _ in papers.other_commits:
        try:
            once_committed |= {part.file for part in _commit_at(root, path).parts}
        except IntegrityError:
            continue  # its parts will be taken for attempts, which go as well
    for path, found in (named for stage in STAGES for named in _listed(root, stage, "parts")):
        if path not in named:
            yield Leftover(path, found.bytes, PART if path in once_committed else ATTEMPT), found
    for stage, folder in itertools.product(STAGES, ("parts", "commits", "manifests")):
        for found in storage.list_unfinished(storage.join(root, stage, folder)):
            yield Leftover(f"{stage}/{folder}/{found.name}", found.bytes, ATTEMPT), found


def _published(root: str, papers: _Standing) -> Iterable[Leftover]:
    """Yield the files of pairs that no kept manifest publishes."""
    kept = {str(manifest.notes["shards"]) for manifest in papers.manifests.values() if "shards" in manifest.notes}
    for entry in storage.find(root, "shards/*/*"):
        if entry.path.rpartition("/")[0] not in kept:
            yield Leftover(entry.path, entry.bytes, PUBLISHED)


def _beside(root: str, papers: _Standing) -> Iterable[Leftover]:
    keys = {manifest.key[:KEY_DIGITS] for manifest in papers.manifests.values()}
    for stage, folder in _BESIDE.items():
        for path, found in _listed(root, stage, folder):
            if found.name[:KEY_DIGITS] not in keys:
                yield Leftover(path, found.bytes, BESIDE)
