"""Commits and manifests: the only proof that work was done.

A *commit* says that one item of a stage is done: which parts hold its rows, with their digests, and what was
counted. A *manifest* says that a stage is done for one set of inputs: it lists commits, and is put last. Both
are put if absent and never change. Whoever comes second compares digests and takes what stands.
"""

import contextlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from curation import storage
from curation.digests import canonical_json, sum_digests, value_digest
from curation.errors import IntegrityError
from curation.parts import Part, part_from_json

_READERS = 32  # threads that wait for small objects
KEY_DIGITS = 16  # of a key in a file name


@dataclass(frozen=True)
class Commit:
    """One finished item: its parts and what was counted while writing them."""

    stage: str
    item: str
    key: str
    parts: tuple[Part, ...]
    counts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """What two runs of the same key must agree on: the rows' digests and the counts, not the file names."""
        rows = [[part.table, part.rows, part.digest, dict(part.facts)] for part in self.parts]
        return value_digest([rows, dict(self.counts)])

    @property
    def path(self) -> str:
        """Where the commit stands, relative to the work folder."""
        return commit_path(self.stage, self.item, self.key)

    def table(self, name: str) -> tuple[Part, ...]:
        """Return the parts of one table."""
        return tuple(part for part in self.parts if part.table == name)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; the inverse of `commit_from_json`."""
        return {
            "stage": self.stage,
            "item": self.item,
            "key": self.key,
            "digest": self.digest,
            "parts": [part.to_json() for part in self.parts],
            "counts": dict(self.counts),
        }


@dataclass(frozen=True)
class Manifest:
    """A finished stage: its key, the inputs it was finished for, and its commits in order."""

    stage: str
    key: str
    inputs: str
    commits: tuple[Commit, ...]
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Where the manifest stands, relative to the work folder."""
        return manifest_path(self.stage, self.key, self.inputs)

    @property
    def digest(self) -> str:
        """Digest over each table's rows, whatever the order and number of parts."""
        return value_digest({table: self.table_digest(table) for table in sorted({p.table for p in self.parts()})})

    def parts(self, table: str | None = None) -> list[Part]:
        """Return the parts of one table, or all, in commit order."""
        return [part for commit in self.commits for part in commit.parts if table in (None, part.table)]

    def table_digest(self, table: str) -> str:
        """Return the digest of one table's rows."""
        return sum_digests(part.digest for part in self.parts(table))


def commit_path(stage: str, item: str, key: str) -> str:
    """Return where the commit of an item stands, relative to the work folder."""
    return f"{stage}/commits/{item}-{key[:KEY_DIGITS]}.json"


def manifest_path(stage: str, key: str, inputs: str) -> str:
    """Return where the manifest of a stage stands, relative to the work folder."""
    return f"{stage}/manifests/{key[:KEY_DIGITS]}-{inputs[:KEY_DIGITS]}.json"


def put_commit(root: str, commit: Commit, shared: Collection[str] = ()) -> Commit:
    """Commit an item, and return the commit that then stands: this one, or an earlier one with the same rows.

    The parts of a commit that came second are deleted, but for `shared` files, which commits of other inputs list too.
    Raises IntegrityError if the earlier one has other rows.
    """
    standing = storage.put_if_absent(storage.join(root, commit.path), canonical_json(commit.to_json()))
    winner = _parse_commit(commit.path, standing)
    names = {part.file for part in winner.parts}
    if winner.digest == commit.digest:
        for part in commit.parts:
            if part.file not in names and part.file not in shared:
                storage.delete(storage.join(root, part.file))
        return winner
    raise IntegrityError(
        f"{commit.path}: the same key gave other rows (committed {winner.digest}, now {commit.digest}); an input, "
        "a library or the machine changed: compare `curate doctor` with the manifest, then use a new work folder"
    )


def read_commit(root: str, stage: str, item: str, key: str) -> Commit | None:
    """Return the commit of an item, or None if it was never done. Raises IntegrityError if it is damaged."""
    path = commit_path(stage, item, key)
    try:
        return _parse_commit(path, storage.read_bytes(storage.join(root, path)))
    except FileNotFoundError:
        return None


def read_commits(root: str, stage: str, items: Mapping[str, str]) -> dict[str, Commit]:
    """Return the commits that stand among `items` (item -> key), by item."""
    names = set(storage.list_names(storage.join(root, stage, "commits")))
    wanted = [item for item, key in items.items() if f"{item}-{key[:KEY_DIGITS]}.json" in names]
    with ThreadPoolExecutor(_READERS) as pool:
        found = pool.map(lambda item: read_commit(root, stage, item, items[item]), wanted)
        return {item: commit for item, commit in zip(wanted, found, strict=True) if commit is not None}


def put_manifest(root: str, manifest: Manifest) -> Manifest:
    """Prove that a stage is done. Raises IntegrityError if another manifest stands for the same key and inputs."""
    entries = [{"commit": commit.path, "digest": commit.digest} for commit in manifest.commits]
    body = {
        "stage": manifest.stage,
        "key": manifest.key,
        "inputs": manifest.inputs,
        "digest": manifest.digest,
        "rows": sum(part.rows for part in manifest.parts()),
        "bytes": sum(part.bytes for part in manifest.parts()),
        "commits": entries,
        "notes": dict(manifest.notes),
    }
    url = storage.join(root, manifest.path)
    standing = storage.put_if_absent(url, json.dumps(body, sort_keys=True, indent=1).encode())
    with _damage_named(manifest.path, "manifest"):
        found = json.loads(standing)
        same = (found["digest"], found["commits"]) == (body["digest"], entries)
    if not same:
        raise IntegrityError(f"{manifest.path}: another result stands for the same key and inputs; run `curate verify`")
    return manifest


def read_manifest(root: str, stage: str, key: str, inputs: str) -> Manifest | None:
    """Return a stage's manifest with its commits, or None. Raises IntegrityError if a commit is missing or changed."""
    try:
        return load_manifest(root, manifest_path(stage, key, inputs))
    except FileNotFoundError:
        return None


def load_manifest(root: str, path: str) -> Manifest:
    """Return the manifest at a path relative to the work folder. Raises FileNotFoundError, IntegrityError."""
    data = storage.read_bytes(storage.join(root, path))
    with _damage_named(path, "manifest"):
        body = json.loads(data)
        entries: Sequence[Mapping[str, str]] = body["commits"]
        with ThreadPoolExecutor(_READERS) as pool:
            commits = tuple(pool.map(lambda entry: _listed_commit(root, entry), entries))
        manifest = Manifest(body["stage"], body["key"], body["inputs"], commits, body["notes"])
        is_whole = (manifest.digest, manifest.path) == (body["digest"], path)
    if not is_whole:
        raise IntegrityError(f"{path}: the digest does not fit the commits it lists; run `curate verify`")
    return manifest


def commit_from_json(value: Mapping[str, Any]) -> Commit:
    """Return the commit that plain data describes."""
    parts = tuple(part_from_json(part) for part in value["parts"])
    return Commit(value["stage"], value["item"], value["key"], parts, value["counts"])


def _listed_commit(root: str, entry: Mapping[str, str]) -> Commit:
    try:
        commit = _parse_commit(entry["commit"], storage.read_bytes(storage.join(root, entry["commit"])))
    except FileNotFoundError:
        raise IntegrityError(
            f"{entry['commit']}: a committed file is missing; restore it, or use a new folder"
        ) from None
    if commit.digest != entry["digest"]:
        raise IntegrityError(f"{entry['commit']}: a committed file changed; restore it, or use a new work folder")
    return commit


def _parse_commit(path: str, data: bytes) -> Commit:
    with _damage_named(path, "commit"):
        value = json.loads(data)
        commit = commit_from_json(value)
        is_whole = (commit.digest, commit.path) == (value["digest"], path)
    if not is_whole:
        raise IntegrityError(f"{path}: the commit's digest does not fit its parts; a committed file changed")
    return commit


@contextlib.contextmanager
def _damage_named(path: str, what: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(
            f"{path}: the {what} is damaged ({type(error).__name__}); restore it, or remove it and run again"
        ) from None
