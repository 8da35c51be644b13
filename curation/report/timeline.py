"""Where the time went: how long each stage worked, and on how much, as its manifest says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.commits import Manifest
from curation.ledger import Entry


@dataclass(frozen=True)
class Span:
    """Stages that one job worked at together. `offset` is after the jobs before it, without the pauses between."""

    stages: tuple[str, ...]
    offset: float
    seconds: float
    documents: int
    bytes: int  # of text, or of the units that ingest read

    @property
    def documents_per_second(self) -> float:
        """Documents it received, by its time."""
        return self.documents / self.seconds if self.seconds else 0.0

    @property
    def bytes_per_second(self) -> float:
        """Text it received, by its time."""
        return self.bytes / self.seconds if self.seconds else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "stages": list(self.stages), "documents_per_second": round(self.documents_per_second, 3)}


def timeline(manifests: Mapping[str, Manifest], entries: Sequence[Entry]) -> tuple[Span, ...]:
    """Return the jobs in the order they ran; none for manifests that say no time."""
    timed = {name: m.notes["timing"] for name, m in manifests.items() if "timing" in m.notes}
    groups: dict[float, list[str]] = {}
    for name, timing in timed.items():
        groups.setdefault(float(timing["started"]), []).append(name)
    found: list[Span] = []
    for _, names in sorted(groups.items()):
        offset = found[-1].offset + found[-1].seconds if found else 0.0
        seconds = max(float(timed[name]["seconds"]) for name in names)
        found.append(Span(tuple(names), offset, seconds, *_received(names, entries)))
    return tuple(found)


def _received(names: Sequence[str], entries: Sequence[Entry]) -> tuple[int, int]:
    """Return the documents and bytes a job received; what only measures, or learns, receives what ingest wrote."""
    own = [entry.received for entry in entries if entry.stage == names[0]]
    counts = own or [entry.out for entry in entries if entry.stage == "ingest"]
    return sum(count.units for count in counts), sum(count.bytes for count in counts)
