"""What deduplication found: how much its bands can find, how large clusters are, and which source repeats which.

Read from the committed verdicts and pairs of dedup, one shard at a time.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from curation.clusters import STAGE
from curation.dedup.bands import collision_probability
from curation.identity import FILE_BITS, RECORD_BITS
from curation.lookup import Folder
from curation.parts import Part, read_table
from curation.reasons import Drop

_LARGEST = 10  # clusters listed
_CURVE = tuple(tenth / 20 for tenth in range(8, 21))  # below 0.4 nothing is compared with the usual bands
_MILLION = 1_000_000


@dataclass(frozen=True)
class Largest:
    """One of the largest clusters: its kept document and how many documents it has."""

    doc_id: int
    locator: str
    documents: int


@dataclass(frozen=True)
class Overlap:
    """Documents of a source that were dropped because of documents of another one, or of its own."""

    source: str
    other: str
    documents: int
    received: int  # documents of `source` that dedup judged


@dataclass(frozen=True)
class Duplicates:
    """The section's contents. `numbers` are the job's own counts; `curve` is (similarity, chance to meet)."""

    bands: int
    rows: int
    threshold: float
    removal: str
    received: int  # documents that dedup judged
    curve: tuple[tuple[float, float], ...]
    pairs: int  # verified near-duplicates
    expected_recall: float | None
    near: int
    below_threshold: int
    sizes: Mapping[str, int]
    largest: tuple[Largest, ...]
    overlap: tuple[Overlap, ...]
    numbers: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        lists = {name: [dict(vars(one)) for one in getattr(self, name)] for name in ("largest", "overlap")}
        return {**vars(self), "curve": [list(point) for point in self.curve], **lists, "sizes": dict(self.sizes)}


def duplicates(folder: Folder) -> Duplicates | None:
    """Return what the last run's deduplication found; None if its recipe has none. Raises IntegrityError."""
    manifest = folder.manifests.get(STAGE)
    settings: Mapping[str, Any] = manifest.notes.get("parameters", {}) if manifest is not None else {}
    if manifest is None or "bands" not in settings:
        return None
    found = [_dropped(folder, part) for part in manifest.parts("verdicts")]
    others = np.concatenate([np.empty(0, np.int64), *(one.others for one in found)])
    kept, counts = np.unique(others, return_counts=True)
    stay = sum(one.received - len(one.others) for one in found)
    alone = stay - int(np.isin(_sources(kept), _judged(folder, found)).sum())
    similarities = _verified(folder, manifest.parts("pairs"))
    return Duplicates(
        settings["bands"],
        settings["rows"],
        settings["threshold"],
        settings["removal"],
        sum(one.received for one in found),
        tuple((at, collision_probability(at, settings["bands"], settings["rows"])) for at in _CURVE),
        len(similarities),
        _expected_recall(similarities, settings["bands"], settings["rows"]),
        sum(one.near for one in found),
        sum(one.below for one in found),
        _sizes(counts, alone),
        tuple(_largest(folder, kept, counts)),
        tuple(_overlap(folder, found)),
        dict(manifest.notes.get("numbers", {})),
    )


@dataclass(frozen=True)
class _Dropped:
    source: str
    received: int
    others: npt.NDArray[np.int64]
    near: int
    below: int


def _dropped(folder: Folder, part: Part) -> _Dropped:
    table = read_table(folder.root, part, ["fate", "reason", "value", "threshold", "other"])
    dropped = table.filter(np.asarray(table["fate"].to_numpy() == "drop"))
    near = dropped["reason"].to_numpy() != Drop.EXACT_DUPLICATE.value
    below = dropped["value"].to_numpy() < dropped["threshold"].to_numpy()
    others = dropped["other"].to_numpy().astype(np.int64)
    return _Dropped(part.facts["source"], len(table), others, int(near.sum()), int(below.sum()))


def _sources(doc_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return doc_ids >> FILE_BITS + RECORD_BITS


def _judged(folder: Folder, found: Sequence[_Dropped]) -> list[int]:
    """Return the numbers of the sources that have verdicts: all but references."""
    judged = {one.source for one in found}
    return [number for number, name in folder.source_names.items() if name in judged]


def _verified(folder: Folder, parts: Sequence[Part]) -> npt.NDArray[np.float64]:
    """Return the similarities of the pairs that reached the threshold."""
    found = [np.empty(0)]
    for part in parts:
        table = read_table(folder.root, part, ["jaccard_ppm", "accepted"])
        found.append(table["jaccard_ppm"].to_numpy()[table["accepted"].to_numpy(zero_copy_only=False)] / _MILLION)
    return np.concatenate(found)


def _expected_recall(similarities: npt.NDArray[np.float64], bands: int, rows: int) -> float | None:
    """Estimate the share of near-duplicate pairs that met in a bucket, from those that did.

    A pair that was found with a chance of p stands for 1 / p pairs, found or not.
    """
    if not len(similarities):
        return None
    chances = 1 - (1 - similarities**rows) ** bands
    return float(len(similarities) / (1 / chances).sum())


def _sizes(counts: npt.NDArray[np.int64], alone: int) -> dict[str, int]:
    """Return how many clusters there are of each size, sizes in powers of two."""
    found = Counter({0: alone} if alone else {})
    found.update(np.ceil(np.log2(counts + 1)).astype(int).tolist())
    return {_size(power): found[power] for power in sorted(found)}


def _size(power: int) -> str:
    low, high = (1 << power >> 1) + 1, 1 << power
    return f"{high:,}" if low >= high else f"{low:,}–{high:,}"


def _largest(folder: Folder, kept: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> list[Largest]:
    order = np.lexsort((kept, -counts))[:_LARGEST]
    return [Largest(int(kept[at]), folder.locator(int(kept[at])), int(counts[at]) + 1) for at in order]


def _overlap(folder: Folder, found: Sequence[_Dropped]) -> list[Overlap]:
    """Return every pair of sources that share duplicates, in the order of the register."""
    received: Counter[str] = Counter()
    documents: Counter[tuple[str, int]] = Counter()
    for one in found:
        received[one.source] += one.received
        numbers, counts = np.unique(_sources(one.others), return_counts=True)
        documents.update({(one.source, int(n)): int(c) for n, c in zip(numbers, counts, strict=True)})
    number = {name: at for at, name in folder.source_names.items()}
    pairs = sorted(documents, key=lambda pair: (number.get(pair[0], 0), pair[1]))
    return [Overlap(a, folder.source_names.get(b, str(b)), documents[a, b], received[a]) for a, b in pairs]
