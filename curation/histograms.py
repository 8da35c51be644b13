"""How a source's documents are spread over the numbers they are judged on, for a report, and for choosing thresholds.

Counted shard by shard where the filter judges, so that nobody reads the tables again; the sums stand in the filter's
commit. Bins are the same everywhere: of shares, a fortieth of a million each; of everything else, from one power of the
square root of two to the next.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.profiles import Profile
from schemas.tables import HISTOGRAMS

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Count = list[Any]  # column, code, first number of the bin, documents, kept, bytes: plain data, for it travels as JSON

SCORE, LANGUAGE = "quality_ppm", "language"
_ALWAYS = ("tokens_estimated",)
_PPM = 1_000_000
_PPM_BIN = 25_000


def limits(profile: Profile) -> dict[str, tuple[int | None, int | None]]:
    """Return the least and the largest number that passes, by column of the signals table."""
    found: dict[str, tuple[int | None, int | None]] = dict.fromkeys(_ALWAYS, (None, None))
    if profile.language and profile.language.min_score_ppm:
        found["language_ppm"] = (profile.language.min_score_ppm, None)
    for threshold in (*profile.length, *profile.signals):
        low, high = found.get(threshold.column, (None, None))
        found[threshold.column] = (threshold.limit, high) if threshold.is_minimum else (low, threshold.limit)
    return found


def count(profile: Profile, numbers: pa.Table, scores: pa.Array | None, kept: Bools) -> list[Count]:
    """Return the counts of one shard.

    Args:
        profile: decides which columns are counted.
        numbers: the shard's signals, n documents.
        scores: their quality_ppm, where a classifier ran.
        kept: which of them the filter keeps.
    """
    sizes = numbers["text_bytes"].to_numpy()
    columns = {name: numbers[name].to_numpy() for name in limits(profile) if not numbers[name].null_count}
    if scores is not None and not scores.null_count:
        columns[SCORE] = scores.to_numpy()
    found: list[Count] = []
    for name, values in columns.items():
        firsts = edges_of(name)
        bins = np.searchsorted(firsts, values, "right") - 1
        held = [np.bincount(bins), np.bincount(bins[kept], minlength=bins.max(initial=0) + 1), _bytes(bins, sizes)]
        for at in np.flatnonzero(held[0]):
            found.append([name, "", int(firsts[at]), *(int(sums[at]) for sums in held)])
    codes = numbers["language"].to_numpy()
    for code in sorted(set(codes.tolist())):
        rows = codes == code
        found.append([LANGUAGE, code, 0, int(rows.sum()), int((rows & kept).sum()), int(sizes[rows].sum())])
    return found


def table(source: str, profile: Profile, counts: Iterable[Count]) -> pa.RecordBatch:
    """Return the rows of a source: the sums over its shards, in order of column, language and bin."""
    sums: dict[tuple[str, str, int], list[int]] = {}
    for column, code, first, *held in counts:
        place = (column, code, first)
        sums[place] = [old + new for old, new in zip(sums.get(place, [0, 0, 0]), held, strict=True)]
    bounds = limits(profile)
    rows = [_row(source, place, sums[place], bounds.get(place[0], (None, None))) for place in sorted(sums)]
    return pa.RecordBatch.from_pylist(rows, HISTOGRAMS)


def _row(
    source: str, place: tuple[str, str, int], held: list[int], bounds: tuple[int | None, int | None]
) -> Mapping[str, Any]:
    column, code, first = place
    documents, kept, text_bytes = held
    edges = edges_of(column) if column != LANGUAGE else np.zeros(1, np.int64)
    behind = int(np.searchsorted(edges, first, "right"))
    return {
        "source": source,
        "column": column,
        "code": code,
        "first": first,
        "behind": int(edges[behind]) if behind < len(edges) else None,
        "documents": documents,
        "kept": kept,
        "text_bytes": text_bytes,
        "minimum": bounds[0],
        "maximum": bounds[1],
    }


def _bytes(bins: Int64, sizes: Int64) -> Int64:
    found = np.zeros(bins.max(initial=0) + 1, np.int64)
    np.add.at(found, bins, sizes)
    return found


@cache
def edges_of(column: str) -> Int64:
    """Return the first number of each bin, ascending; the first is 0 and the last has no end."""
    if column.endswith("_ppm"):
        return np.arange(0, _PPM, _PPM_BIN)
    return np.unique([0, *(round(2 ** (half / 2)) for half in range(126))])
