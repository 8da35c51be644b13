"""How documents are spread over scores, signals and languages, and where the profile's limits lie in that.

Everything is read from the small tables that the filter committed; no document's row is touched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import inf, sqrt
from typing import Any

from curation.commits import Manifest
from curation.histograms import LANGUAGE, SCORE, edges_of
from curation.parts import read_table
from curation.report.numbers import share

_BILLION = 1_000_000_000
_LANGUAGES = 8  # of a source that are named; the rest is summed up

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Bar:
    """A bin of a histogram: fractions of the picture's width and height. The lower part of it was kept."""

    left: float
    width: float
    height: float
    kept: float


@dataclass(frozen=True)
class Histogram:
    """A column of one source. `limits` are where the profile's minimum and maximum lie, fractions of the width."""

    source: str
    column: str
    documents: int
    first: int
    last: int | None
    minimum: int | None
    maximum: int | None
    bars: tuple[Bar, ...]
    limits: tuple[float, ...]


@dataclass(frozen=True)
class KeepRate:
    """What the Pareto filter was expected to keep of the documents of a source that met it, and what it kept."""

    source: str
    alpha: float
    judged: int
    expected: float
    observed: float
    errors: float | None  # how many standard errors lie between

    @property
    def plausible(self) -> bool:
        """Whether the two agree as coins do."""
        return self.errors is None or abs(self.errors) <= 3


@dataclass(frozen=True)
class Share:
    """A language's share of a source."""

    source: str
    code: str
    documents: int
    share: float | None
    kept: int


@dataclass(frozen=True)
class Distributions:
    """Everything of it, sources in the order of the committed parts."""

    scores: tuple[Histogram, ...]
    keep_rates: tuple[KeepRate, ...]
    signals: tuple[Histogram, ...]
    languages: tuple[Share, ...]

    @property
    def scored(self) -> list[tuple[Histogram, KeepRate | None]]:
        """The scores of each source beside its keep rate, where it has a Pareto filter."""
        rates = {rate.source: rate for rate in self.keep_rates}
        return [(picture, rates.get(picture.source)) for picture in self.scores]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def distributions(root: str, manifest: Manifest | None) -> Distributions | None:
    """Return what the filter counted; None before there is a filter that counts."""
    parts = manifest.parts("histograms") if manifest is not None else []
    if manifest is None or not parts:
        return None
    rows = [row for part in parts for row in read_table(root, part).to_pylist()]
    columns: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        columns.setdefault((row["source"], row["column"]), []).append(row)
    pictures = {place: _histogram(*place, own) for place, own in columns.items() if place[1] != LANGUAGE}
    bounded = [picture for (_, column), picture in pictures.items() if column != SCORE and picture.limits]
    return Distributions(
        tuple(picture for (_, column), picture in pictures.items() if column == SCORE),
        tuple(_keep_rate(source, told) for source, told in manifest.notes.get("pareto", {}).items()),
        tuple(bounded),
        tuple(share for (_, column), own in columns.items() if column == LANGUAGE for share in _languages(own)),
    )


def _histogram(source: str, column: str, rows: Sequence[Row]) -> Histogram:
    """Draw bins of equal width, whatever they span: the axis of lengths is one of ratios."""
    documents = sum(row["documents"] for row in rows)
    most = max(row["documents"] for row in rows)
    limits = [limit for limit in (rows[0]["minimum"], rows[0]["maximum"]) if limit is not None]
    edges = [*map(float, edges_of(SCORE)), inf] if column == SCORE else _edges(rows)
    width = 1 / (len(edges) - 1)
    bars = [Bar(edges.index(row["first"]) * width, width, row["documents"] / most, row["kept"] / most) for row in rows]
    return Histogram(
        source,
        column,
        documents,
        rows[0]["first"],
        rows[-1]["behind"],
        rows[0]["minimum"],
        rows[0]["maximum"],
        tuple(bars),
        tuple(_place(limit, edges) for limit in limits),
    )


def _edges(rows: Sequence[Row]) -> list[float]:
    """Return where bins begin and end, a bin of a gap for each gap."""
    found: list[float] = []
    for row in rows:
        if not found or found[-1] != row["first"]:
            found.append(row["first"])
        found.append(row["behind"] if row["behind"] is not None else inf)
    return found


def _place(limit: int, edges: Sequence[float]) -> float:
    """Return where a limit lies in the picture, 0 to 1; its edges stand for what lies beyond."""
    width = 1 / (len(edges) - 1)
    for number, (first, behind) in enumerate(pairwise(edges)):
        if limit < behind:
            inside = (limit - first) / (behind - first) if behind != inf else 0.5
            return max(0.0, (number + max(inside, 0)) * width)
    return 1.0


def _keep_rate(source: str, told: Mapping[str, Any]) -> KeepRate:
    judged, kept, expected = told["judged"], told["kept"], told["expected_billionths"] / _BILLION
    error = sqrt(told["variance_billionths"] / _BILLION)
    return KeepRate(
        source,
        told["alpha"],
        judged,
        share(expected, judged) or 0.0,
        share(kept, judged) or 0.0,
        (kept - expected) / error if error else None,
    )


def _languages(rows: Sequence[Row]) -> list[Share]:
    """Return the most frequent languages of a source, and all others as one line."""
    documents = sum(row["documents"] for row in rows)
    ordered = sorted(rows, key=lambda row: (-row["documents"], row["code"]))
    source = rows[0]["source"]
    named = [
        Share(source, row["code"], row["documents"], share(row["documents"], documents), row["kept"])
        for row in ordered[:_LANGUAGES]
    ]
    rest = ordered[_LANGUAGES:]
    if rest:
        others = sum(row["documents"] for row in rest)
        named.append(
            Share(source, f"{len(rest)} others", others, share(others, documents), sum(row["kept"] for row in rest))
        )
    return named
