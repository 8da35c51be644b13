"""The funnel: how much every stage received, passed on and removed, and what for. Sums of ledger lines, no more."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.ledger import Count, Entry
from curation.report.numbers import share

# What only measures removes nothing and has no place in a funnel.
_DECIDING = ("ingest", "filter", "dedup", "decontaminate", "assemble", "tokenize")


@dataclass(frozen=True)
class Size:
    """Documents (units, for what ingest receives) and their bytes."""

    units: int = 0
    bytes: int = 0

    def __add__(self, other: "Size | Count") -> "Size":
        return Size(self.units + other.units, self.bytes + other.bytes)

    def to_json(self) -> dict[str, int]:
        """Return plain data."""
        return {"units": self.units, "bytes": self.bytes}


@dataclass(frozen=True)
class Step:
    """One stage of the funnel. `pool` is what ingest made documents of: every share of the pool is a share of that."""

    stage: str
    received: Size
    out: Size
    removed: Mapping[str, Size]
    split: Size
    cut_bytes: int
    pool: Size

    @property
    def removed_units(self) -> int:
        """Documents that go no further."""
        return sum(size.units for size in self.removed.values())

    @property
    def share_of_received(self) -> float | None:
        """Documents passed on, of those received."""
        return share(self.out.units, self.received.units)

    @property
    def share_of_pool(self) -> float | None:
        """Documents passed on, of all that ingest wrote."""
        return share(self.out.units, self.pool.units)

    @property
    def byte_share_of_pool(self) -> float | None:
        """Text bytes passed on, of all that ingest wrote."""
        return share(self.out.bytes, self.pool.bytes)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "stage": self.stage,
            "in": self.received.to_json(),
            "out": self.out.to_json(),
            "removed": {reason: size.to_json() for reason, size in self.removed.items()},
            "split": self.split.to_json(),
            "cut_bytes": self.cut_bytes,
            "share_of_received": self.share_of_received,
            "share_of_pool": self.share_of_pool,
            "byte_share_of_pool": self.byte_share_of_pool,
        }


def funnel(entries: Sequence[Entry], source: str | None = None) -> list[Step]:
    """Return the steps of one source, or of all together, in the order of the ledger."""
    chosen = [entry for entry in entries if entry.stage in _DECIDING and source in (None, entry.source)]
    pool = _sum(entry.out for entry in chosen if entry.stage == "ingest")
    stages = list(dict.fromkeys(entry.stage for entry in chosen))
    return [_step(stage, [entry for entry in chosen if entry.stage == stage], pool) for stage in stages]


def sources(entries: Iterable[Entry]) -> list[str]:
    """Return the sources that have documents, in the order of the ledger; a container has none of its own."""
    return list(dict.fromkeys(entry.source for entry in entries if entry.out.units))


def removals(entries: Iterable[Entry], fate: str) -> list[tuple[str, str, str, Size]]:
    """Return (stage, source, reason, size) of all that was dropped or quarantined (`fate`), the most first."""
    found = [
        (entry.stage, entry.source, reason, Size() + count)
        for entry in entries
        for reason, count in (entry.drop if fate == "drop" else entry.quarantine).items()
    ]
    return sorted(found, key=lambda row: (-row[3].units, row[:3]))


def _step(stage: str, entries: Sequence[Entry], pool: Size) -> Step:
    removed: dict[str, Size] = {}
    for entry in entries:
        for reason, count in (*entry.drop.items(), *entry.quarantine.items()):
            removed[reason] = removed.get(reason, Size()) + count
    return Step(
        stage,
        _sum(entry.received for entry in entries),
        _sum(entry.out for entry in entries),
        dict(sorted(removed.items(), key=lambda item: (-item[1].units, item[0]))),
        _sum(entry.split for entry in entries),
        sum(sum(entry.cut.values()) for entry in entries),
        pool,
    )


def _sum(counts: Iterable[Count]) -> Size:
    held = list(counts)
    return Size(sum(count.units for count in held), sum(count.bytes for count in held))
