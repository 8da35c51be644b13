"""The curve of a training on the run's shards, if there was one: read from the metrics that the trainer wrote.

A training on a work folder keeps its files in train/KEY below it, KEY being the name of the folder of its shards. So a
curve is never shown beside shards that it was not trained on.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from curation import storage

FILE = "metrics.jsonl"
Point = tuple[float, float]  # tokens trained on, loss


@dataclass(frozen=True)
class Axis:
    """From where to where a picture goes, and the round numbers in between that it names."""

    low: float
    high: float
    marks: tuple[float, ...]


@dataclass(frozen=True)
class Training:
    """The section's contents. `by_source` is (source, loss on held-out rows, rows) of the last evaluation."""

    name: str
    parameters: int
    processes: str
    steps: int
    tokens: int
    losses: tuple[Point, ...]
    held_out: tuple[Point, ...]
    by_source: tuple[tuple[str, float, int], ...]

    @property
    def across(self) -> Axis:
        """The axis of tokens, from 0."""
        return axis(0.0, float(self.tokens))

    @property
    def up(self) -> Axis:
        """The axis of losses."""
        values = [loss for _, loss in (*self.losses, *self.held_out)]
        return axis(min(values), max(values))

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        by_source = {source: {"loss": loss, "rows": rows} for source, loss, rows in self.by_source}
        return vars(self) | {"by_source": by_source}


def run_folder(root: str, shards: str) -> str:
    """Return where a training on shards of a work folder keeps its files."""
    return storage.join(root, "train", shards.rstrip("/").rpartition("/")[2])


def training(root: str, shards: str | None) -> Training | None:
    """Return the curve of the training on these shards; None if there was none, or none of its steps was written."""
    if shards is None:
        return None
    try:
        lines = list(_lines(storage.read_bytes(storage.join(run_folder(root, shards), FILE))))
    except FileNotFoundError:
        return None
    runs, steps, evaluations = ([line for line in lines if line["kind"] == kind] for kind in _KINDS)
    points = [(step["tokens"], step["loss"]) for step in steps if step["loss"] is not None]
    if not runs or not points:
        return None
    tokens_at = {step["step"]: step["tokens"] for step in steps}
    last = evaluations[-1] if evaluations else {"losses": {}, "rows": {}}
    return Training(
        runs[-1]["name"],
        runs[-1]["parameters"],
        _processes(runs[-1]["layout"]),
        steps[-1]["step"],
        steps[-1]["tokens"],
        tuple(points),
        tuple((tokens_at[line["step"]], line["loss"]) for line in evaluations if line["step"] in tokens_at),
        tuple((source, loss, last["rows"][source]) for source, loss in last["losses"].items()),
    )


_KINDS = ("run", "step", "evaluation")


def _lines(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the lines; one that a killed trainer left unfinished is left out."""
    for line in data.splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield json.loads(line)


def _processes(layout: dict[str, int]) -> str:
    return " × ".join(f"{layout[name]} {name}" for name in ("tensor", "pipeline", "data"))


def axis(low: float, high: float) -> Axis:
    """Return an axis that holds both values, with three to seven round marks.

    >>> axis(7.2, 10.9).marks
    (7.0, 8.0, 9.0, 10.0, 11.0)
    """
    size = 10.0 ** math.floor(math.log10(max(high - low, 1e-9)))
    step = next(unit * size for unit in (0.2, 0.5, 1.0, 2.0) if (high - low) / (unit * size) <= 5)
    first, last = math.floor(low / step), math.ceil(high / step)
    marks = tuple(round(number * step, 9) for number in range(first, max(last, first + 1) + 1))
    return Axis(marks[0], marks[-1], marks)


def path(points: Sequence[Point], across: Axis, up: Axis, width: float, height: float) -> str:
    """Return points as an SVG polyline's, with one decimal."""
    return " ".join(f"{place(x, across, width):.1f},{height - place(y, up, height):.1f}" for x, y in points)


def place(value: float, on: Axis, length: float) -> float:
    """Return how far along a picture's side a value lies."""
    return (value - on.low) / (on.high - on.low) * length
