"""What a takedown changed: the documents that went, the files written anew, the training samples that held the text.

A takedown is a run whose removal list has grown. Nothing here decides anything: two finished runs are compared, by the
commits they list. What both list was not touched; that is proof enough, since a commit names the sha256 of its files.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from curation.commits import Manifest
from curation.lookup import Folder
from curation.parts import Part, read_batches, read_table
from curation.reasons import Drop
from curation.shards.training import BlendedSamples

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Held:
    """A train pair of the earlier run that held text now removed, and the samples of its training that read it."""

    pair: str
    sequences: tuple[int, ...]
    samples: tuple[int, ...]  # numbers in the whole training; STEP × batch + ROW


@dataclass(frozen=True)
class Takedown:
    """What a run with a longer removal list changed."""

    doc_ids: tuple[int, ...]  # removed by the list now, and not before
    shards: tuple[str, ...]  # of documents, whose corpus is another now
    pairs: tuple[str, ...]  # that are others now, or gone with their last document
    kept_pairs: int
    held: tuple[Held, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def changes(before: Folder, after: Folder) -> tuple[list[str], list[str]]:
    """Return the shards and the pairs whose bytes are others now or that are gone, by the commits of both runs."""
    return (
        _changed(before.manifests["assemble"], after.manifests["assemble"], "corpus", "shard"),
        _changed(before.manifests["tokenize"], after.manifests["tokenize"], "bin", "pair"),
    )


def removed(before: Folder, after: Folder) -> Ids:
    """Return the doc_ids that the removal list names in the later run and did not in the earlier one, ascending."""
    earlier = _listed(before, set())
    later = _listed(after, {part.sha256 for part in before.manifests["filter"].parts("verdicts")})
    return np.setdiff1d(later, earlier)


def takedown(before: Folder, after: Folder, samples: BlendedSamples | None) -> Takedown:
    """Return what the later run took down; `samples` are of the earlier one, None where they cannot be looked up."""
    doc_ids = removed(before, after)
    shards, pairs = changes(before, after)
    train = {pair.name for pair in samples.pairs} if samples is not None else set()
    held = [
        Held(pair, tuple(rows.tolist()), tuple(samples.holding(pair, rows).tolist()))
        for pair, rows in _sequences(before, doc_ids)
        if samples is not None and pair in train
    ]
    kept = len(after.manifests["tokenize"].parts("bin")) - len(set(pairs) & _names(after))
    return Takedown(tuple(doc_ids.tolist()), tuple(shards), tuple(pairs), kept, tuple(held))


def _names(folder: Folder) -> set[str]:
    return {str(part.facts["pair"]) for part in folder.manifests["tokenize"].parts("bin")}


def _changed(before: Manifest, after: Manifest, table: str, name: str) -> list[str]:
    old, new = ({str(part.facts[name]): part.sha256 for part in manifest.parts(table)} for manifest in (before, after))
    return sorted(key for key in {*old, *new} if old.get(key) != new.get(key))


def _listed(folder: Folder, known: set[str]) -> Ids:
    """Return the documents dropped by the removal list; parts with a known sha256 are not read again."""
    found = [np.empty(0, np.int64)]
    for part in folder.manifests["filter"].parts("verdicts"):
        if part.sha256 not in known:
            table = read_table(folder.root, part, ["doc_id", "reason"])
            found.append(table.filter(pc.equal(table["reason"], Drop.REMOVAL_LIST.value))["doc_id"].to_numpy())
    return np.unique(np.concatenate(found))


def _sequences(folder: Folder, doc_ids: Ids) -> Iterator[tuple[str, Ids]]:
    """Yield each pair that holds some of the documents, with their sequences, ascending."""
    sources = _sources(folder, doc_ids)
    parts: Sequence[Part] = folder.manifests["tokenize"].parts("token_documents")
    for part in parts:
        if part.facts["source"] not in sources:
            continue
        rows = [np.empty(0, np.int64)]
        for batch in read_batches(folder.root, part, ["doc_id", "sequence"]):
            rows.append(batch["sequence"].to_numpy()[np.isin(batch["doc_id"].to_numpy(), doc_ids)])
        if sum(map(len, rows)):
            yield str(part.facts["pair"]), np.concatenate(rows)


def _sources(folder: Folder, doc_ids: Ids) -> set[str]:
    shards: Mapping[int, str] = {shard.first_doc_id: shard.source for shard in folder.shards}
    firsts = np.array(sorted(shards), np.int64)
    return {shards[int(firsts[at])] for at in np.searchsorted(firsts, doc_ids, "right") - 1}
