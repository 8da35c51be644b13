"""The report as one HTML file that needs nothing else: style and pictures are inside, and it asks no network.

Bars are pictures of numbers that stand beside them in words; nothing is told by colour alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from curation import storage
from curation.reasons import MEANINGS
from curation.report.contents import Report, collect
from curation.report.funnel import Size, Step, removals
from curation.report.numbers import bytes_text, percent, share
from curation.report.quality import accuracies, people
from curation.report.timeline import Span
from curation.report.training import path, place

FILE = "report.html"
_TOP = 3  # reasons named beside a stage or a source; the rest stands in the table of reasons


@dataclass(frozen=True)
class Bar:
    """A bar of the whole width: `solid` and then `faded`, both fractions of it."""

    solid: float
    faded: float = 0.0


def write_report(root: str, output: str | None = None) -> str:
    """Write the report on the last run of a work folder, and return where: `output`, or report.html in the folder.

    The same run gives the same bytes. Raises what `collect` raises.
    """
    url = output or storage.join(root, FILE)
    storage.replace(storage.absolute(url), render(collect(root)).encode())
    return url


def render(report: Report) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("curation.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"bytes": bytes_text, "percent": percent, "count": _count, "similarity": "{:.2f}".format}
    return environment.get_template(FILE).render(**_view(report))


def _view(report: Report) -> dict[str, Any]:
    """Return what the template shows; it computes nothing itself."""
    total = report.total
    kept = total[-1].out if total else Size()
    scale = max((share_ for row in report.mixture for share_ in _shares(row)), default=0) or 1
    drops, quarantine = removals(report.entries, "drop"), removals(report.entries, "quarantine")
    return {
        "report": report,
        "contamination": report.contamination,
        "pool": total[0].out if total else Size(),
        "kept": kept,
        "kept_share": total[-1].share_of_pool if total else None,
        "funnel": [(step, _funnel_bar(step), step_reasons(step)) for step in total],
        "stage_names": [step.stage for step in total],
        "sources": [
            (name, {s.stage: s for s in steps}, _all_reasons(steps)) for name, steps in report.by_source.items()
        ],
        "timeline": _timeline(report.timeline),
        "meanings": MEANINGS,
        "in_paper": any(row.weight_in_paper for row in report.mixture),
        "mixture": [(row, [Bar(value / scale) for value in _shares(row)]) for row in report.mixture],
        "reasons": _summed(drops),
        "drops": drops,
        "quarantine": quarantine,
        "accuracies": accuracies(report.quality or {}),
        "people": people(report.quality or {}),
        "problems": [(e.stage, e.source, problem) for e in report.entries for problem in e.problems],
        "duplicates": report.duplicates,
        "distributions": report.distributions,
        "card": report.quality,
        "curve": [(at, chance, Bar(chance)) for at, chance in report.duplicates.curve] if report.duplicates else [],
        "share": share,
        "training": report.training,
        "path": path,
        "place": place,
    }


def _timeline(spans: Sequence[Span]) -> list[tuple[Span, float, float]]:
    """Return each span with its place and width on the axis of all, in thousandths."""
    whole = max((span.offset + span.seconds for span in spans), default=0) or 1
    return [(span, span.offset * 1000 / whole, max(2.0, span.seconds * 1000 / whole)) for span in spans]


def _funnel_bar(step: Step) -> Bar:
    """Return what is passed on, and what the stage removes, of the pool; ingest is the pool."""
    if step.stage == "ingest":
        return Bar(1.0)
    return Bar(step.share_of_pool or 0, (step.received.units - step.out.units) / (step.pool.units or 1))


def step_reasons(step: Step) -> list[str]:
    """Return what a stage removed documents for, the most first, and what it cut."""
    found = [f"{reason} {size.units:,}" for reason, size in step.removed.items()][:_TOP]
    found += [f"{step.split.units:,} split"] if step.split.units else []
    return found + ([f"{bytes_text(step.cut_bytes)} cut"] if step.cut_bytes else [])


def _all_reasons(steps: tuple[Step, ...]) -> list[str]:
    found = [(size.units, reason) for step in steps for reason, size in step.removed.items()]
    return [f"{reason} {units:,}" for units, reason in sorted(found, key=lambda item: -item[0])[:_TOP]]


def _summed(drops: list[tuple[str, str, str, Size]]) -> list[tuple[str, str, Size, Bar]]:
    """Return (stage, reason, size over all sources, bar), the most first."""
    sizes: dict[tuple[str, str], Size] = {}
    for stage, _, reason, size in drops:
        sizes[stage, reason] = sizes.get((stage, reason), Size()) + size
    most = max((size.units for size in sizes.values()), default=1)
    ordered = sorted(sizes.items(), key=lambda item: (-item[1].units, item[0]))
    return [(stage, reason, size, Bar(size.units / most)) for (stage, reason), size in ordered]


def _shares(row: Any) -> list[float]:
    return [value or 0.0 for value in (row.share_before, row.share_after, row.weight)]


def _count(number: int) -> str:
    return f"{number:,}"
