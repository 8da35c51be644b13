"""Clusters of duplicates as the verdicts of dedup name them: a kept document, and those dropped because of it."""

from dataclasses import dataclass

import pyarrow.compute as pc

from curation.errors import RecipeError
from curation.lookup import Folder, Row, candidates, open_folder, rows_of
from curation.parts import read_table

STAGE = "dedup"


@dataclass(frozen=True)
class Member:
    """A document of a cluster; the kept one has neither a reason nor a similarity."""

    doc_id: int
    locator: str
    reason: str | None = None
    jaccard_ppm: int | None = None

    def to_json(self) -> Row:
        """Return plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class Cluster:
    """A kept document (or one of a reference, which nobody judges) and what was dropped for it, by doc_id."""

    kept: Member
    dropped: tuple[Member, ...]

    @property
    def size(self) -> int:
        """Documents in it."""
        return 1 + len(self.dropped)

    def to_json(self) -> Row:
        """Return plain data."""
        return {"size": self.size, "kept": self.kept.to_json(), "dropped": [one.to_json() for one in self.dropped]}


def clusters(root: str, name: str) -> list[Cluster]:
    """Return the cluster of every document that a doc_id, SOURCE:PATH:RECORD or URL means.

    Reads the narrow verdicts of dedup once for each.

    Raises:
        RecipeError: no finished run, no such document, none that dedup saw, or a recipe without dedup.
        IntegrityError: a committed file is missing or changed.
    """
    folder = open_folder(root)
    if STAGE not in folder.manifests:
        raise RecipeError(f"the recipe of {root} has no [dedup]; there are no clusters to list")
    kept = {found for doc_id in candidates(folder, name) if (found := _kept(folder, doc_id)) is not None}
    listed = [_cluster(folder, doc_id) for doc_id in sorted(kept)]
    if not listed:
        raise RecipeError(f"{name}: dedup saw no such document; `curate explain {root} {name}` tells what became of it")
    return listed


def _kept(folder: Folder, doc_id: int) -> int | None:
    """Return the kept document of the cluster that a document belongs to, None if dedup had nothing to do with it."""
    shard = folder.shard_of(doc_id)
    if shard is None:
        return None
    for part in folder.manifests[STAGE].parts("verdicts"):
        if part.facts["shard"] == shard.shard:
            for row in rows_of(folder.root, part, doc_id, ["other"]):
                return doc_id if row["other"] is None else int(row["other"])
    return doc_id if _is_named(folder, doc_id) else None


def _is_named(folder: Folder, doc_id: int) -> bool:
    parts = folder.manifests[STAGE].parts("verdicts")
    return any(pc.any(pc.equal(read_table(folder.root, part, ["other"])["other"], doc_id)).as_py() for part in parts)


def _cluster(folder: Folder, kept: int) -> Cluster:
    dropped: list[Member] = []
    for part in folder.manifests[STAGE].parts("verdicts"):
        table = read_table(folder.root, part, ["doc_id", "reason", "value", "other"])
        for row in table.filter(pc.equal(table["other"], kept)).to_pylist():
            dropped.append(Member(row["doc_id"], folder.locator(row["doc_id"]), row["reason"], row["value"]))
    return Cluster(Member(kept, folder.locator(kept)), tuple(sorted(dropped, key=lambda one: one.doc_id)))
