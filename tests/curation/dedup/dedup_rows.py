"""Rows for the walks, made from plain Python sets or from texts, and the rules again in the fewest words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
import pyarrow as pa

from curation.dedup import bands, minhash, shingles
from curation.dedup.greedy import Decisions, Rows, Walk

MILLION = 1_000_000


@dataclass(frozen=True)
class Candidate:
    """A row as a human sees it; candidates stand in rank order."""

    doc_id: int
    bands: tuple[int, ...]
    hashes: frozenset[int]
    component: int = 0
    reference: bool = False
    capped: bool = False


def rows_of(candidates: Sequence[Candidate], width: int) -> Rows:
    sets = [sorted(c.hashes) for c in candidates]
    return Rows(
        components=np.array([c.component for c in candidates], np.int64),
        doc_ids=np.array([c.doc_id for c in candidates], np.int64),
        bands=np.array([c.bands for c in candidates], np.uint64).reshape(len(candidates), width),
        hashes=np.array([h for s in sets for h in s], np.uint64),
        offsets=np.cumsum([0, *map(len, sets)]).astype(np.int64),
        capped=np.array([c.capped for c in candidates], bool),
        reference=np.array([c.reference for c in candidates], bool),
    )


def rows_from_texts(
    texts: Sequence[str], rank: Sequence[int] | None = None, profile: tuple[int, int] = (20, 13)
) -> Rows:
    """One component of texts; rank[i] is the position of text i, whose doc_id is i."""
    order = np.argsort(np.arange(len(texts)) if rank is None else rank)
    hashed = shingles.shingle(pa.array([texts[i] for i in order], pa.large_string()))
    signatures = minhash.signatures(hashed, minhash.affine32(profile[0] * profile[1]))
    sets = shingles.sets_of(hashed)
    zero = np.zeros(len(texts), np.int64)
    keys = bands.band_keys(signatures, *profile)
    return Rows(zero, order, keys, sets.hashes, sets.offsets, sets.capped, zero != 0)


def pieces(rows: Rows, cuts: Sequence[int]) -> Iterator[Rows]:
    """The same rows in batches that end at the cuts."""
    bounds = [0, *sorted(cuts), len(rows.doc_ids)]
    for start, end in pairwise(bounds):
        first, last = rows.offsets[start], rows.offsets[end]
        yield Rows(
            rows.components[start:end],
            rows.doc_ids[start:end],
            rows.bands[start:end],
            rows.hashes[first:last],
            rows.offsets[start : end + 1] - first,
            rows.capped[start:end],
            rows.reference[start:end],
        )


def run(walk: Walk, rows: Rows, cuts: Sequence[int] = ()) -> Decisions:
    parts = [walk.feed(piece) for piece in pieces(rows, cuts)] + [walk.finish()]
    return Decisions(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Decisions)))


def fates(decisions: Decisions) -> dict[int, tuple[int, int] | None]:
    """doc_id -> (the document it names, similarity in ppm), or None where it is kept."""
    rows = zip(decisions.doc_ids, decisions.dropped, decisions.others, decisions.jaccard_ppm, strict=True)
    return {int(d): (int(o), int(j)) if gone else None for d, gone, o, j in rows}


def jaccard_ppm(a: frozenset[int], b: frozenset[int]) -> int:
    return len(a & b) * MILLION // max(len(a | b), 1)


def share_a_band(a: Candidate, b: Candidate) -> bool:
    return a.component == b.component and any(x == y != 0 for x, y in zip(a.bands, b.bands, strict=True))


def greedy(candidates: Sequence[Candidate], threshold_ppm: int) -> dict[int, tuple[int, int] | None]:
    kept: list[Candidate] = []
    found: dict[int, tuple[int, int] | None] = {}
    for row in candidates:
        similar = [(k.doc_id, jaccard_ppm(k.hashes, row.hashes)) for k in kept if share_a_band(k, row)]
        match = next((pair for pair in similar if pair[1] >= threshold_ppm), None)
        found[row.doc_id] = None if row.reference else match
        if found[row.doc_id] is None:
            kept.append(row)
    return found


def first_of_component(candidates: Sequence[Candidate], threshold_ppm: int) -> dict[int, tuple[int, int] | None]:
    label = list(range(len(candidates)))
    for i, row in enumerate(candidates):
        for j, other in enumerate(candidates[:i]):
            if share_a_band(row, other) and jaccard_ppm(row.hashes, other.hashes) >= threshold_ppm:
                low, high = sorted((label[i], label[j]))
                label = [low if x == high else x for x in label]
    found: dict[int, tuple[int, int] | None] = {}
    for i, row in enumerate(candidates):
        root = candidates[label[i]]
        keep = root is row or row.reference
        found[row.doc_id] = None if keep else (root.doc_id, jaccard_ppm(row.hashes, root.hashes))
    return found
