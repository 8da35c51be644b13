"""The documents nearest to a threshold on both sides: what to read before trusting it."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from curation.errors import RecipeError
from curation.lookup import Folder
from curation.parts import read_batches, read_table
from schemas.tables import SIGNAL_FIELDS

_COLUMNS = ("language_ppm", *(field.name for field in SIGNAL_FIELDS))


@dataclass(frozen=True)
class Near:
    """A document and its number."""

    doc_id: int
    source: str
    locator: str
    value: int


@dataclass(frozen=True)
class Limit:
    """A threshold that a source's profile set in the last run."""

    source: str
    column: str
    number: int
    is_minimum: bool

    @property
    def last_below(self) -> int:
        """The largest number on the lower side of it: a document that has the limit itself passes."""
        return self.number - 1 if self.is_minimum else self.number


def limits(folder: Folder, column: str | None = None, source: str | None = None) -> list[Limit]:
    """Return every threshold of the last run's profiles, of one column or source where one is given.

    Raises:
        RecipeError: there is none.
    """
    manifest = folder.manifests.get("filter")
    rows = [
        (part.facts["source"], row["column"], row[name], name == "minimum")
        for part in (manifest.parts("histograms") if manifest is not None else [])
        for row in read_table(folder.root, part, ["column", "minimum", "maximum"]).to_pylist()
        for name in ("minimum", "maximum")
        if row[name] is not None and column in (None, row["column"]) and source in (None, part.facts["source"])
    ]
    if not rows:
        of = " ".join(filter(None, (source and f"of source {source}", column and f"on {column}")))
        raise RecipeError(f"the last run of {folder.root} has no threshold {of}: give --signal and --threshold".strip())
    return [Limit(*row) for row in dict.fromkeys(rows)]


def nearest(folder: Folder, column: str, threshold: int, count: int, source: str | None = None) -> list[list[Near]]:
    """Return the `count` documents with the largest numbers up to the threshold, and those with the smallest above it.

    The nearest come first, ties by doc_id. The numbers are those that the last run committed, of `quality_ppm` too.

    Raises:
        RecipeError: there is no such column.
    """
    if column != "quality_ppm" and column not in _COLUMNS:
        near = get_close_matches(column, ["quality_ppm", *_COLUMNS], 1, 0)[0]
        raise RecipeError(f"{column}: there is no such signal; did you mean {near}?")
    sides = [
        heapq.nsmallest(count, (row for row in _numbers(folder, column, source) if (row[0] > threshold) == above), key)
        for above, key in ((False, _falling), (True, _rising))
    ]
    return [[Near(doc_id, name, folder.locator(doc_id), value) for value, doc_id, name in side] for side in sides]


def _falling(row: tuple[int, int, str]) -> tuple[int, int]:
    return -row[0], row[1]


def _rising(row: tuple[int, int, str]) -> tuple[int, int]:
    return row[0], row[1]


def _numbers(folder: Folder, column: str, source: str | None) -> Iterator[tuple[int, int, str]]:
    stage = "quality" if column == "quality_ppm" else "signals"
    if stage not in folder.manifests:
        raise RecipeError(f"{folder.root} has no {column}: its recipe has no [quality_model]")
    for part in folder.manifests[stage].parts(stage):
        if source in (None, part.facts["source"]):
            for batch in read_batches(folder.root, part, ["doc_id", column]):
                values, ids = batch[column].to_pylist(), batch["doc_id"].to_pylist()
                yield from zip(values, ids, [part.facts["source"]] * len(ids), strict=True)
