"""What a run reports of itself: a JSON object a line in `metrics.jsonl`, and TensorBoard's files where it is installed.

    {"kind": "run", …}         how it was started; first, and again after each resume
    {"kind": "step", …}        loss, gradient norm, rate, speed, tokens trained on by source
    {"kind": "evaluation", …}  loss on held-out rows by source

A resumed run drops the lines of steps after its checkpoint, and writes them again as it repeats these steps.
"""

import json
import math
import os
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from trainer import mesh as meshes
from trainer.checkpoint import Progress
from trainer.config import Config, Layout
from trainer.flops import hardware_flops, model_flops
from trainer.optim import Update

FILE = "metrics.jsonl"
_TELL_SECONDS = 5


class Metrics:
    """The record of a run, kept by one process."""

    def __init__(self, folder: Path, config: Config, layout: Layout, device: torch.device) -> None:
        """Open the record in a run's folder; `device` is one of those it computes on."""
        self._config, self._layout, self._device = config, layout, device
        self._peak = meshes.peak_flops(device)
        self._path = folder / FILE
        self._board, self._told = _board(folder), -math.inf

    def begin(self, parameters: int, start: Progress, order_digest: str, shards: str) -> None:
        """Drop what was written after the step that the run goes on from, and say how it goes on."""
        lines = self._path.read_text("utf-8").splitlines() if self._path.exists() else []
        kept = [line for line in lines if _step(line) <= start.step and start.step]
        fresh = self._path.with_name(f".{FILE}.{os.getpid()}")
        fresh.write_text("".join(f"{line}\n" for line in kept), "utf-8")
        os.replace(fresh, self._path)
        layout = {"tensor": self._layout.tensor, "pipeline": self._layout.pipeline, "data": self._layout.data}
        self._write(
            kind="run",
            step=start.step,
            name=self._config.name,
            parameters=parameters,
            layout=layout | {"virtual": self._layout.virtual},
            device=self._device.type,
            precision=self._config.training.precision,
            training_tokens=self._config.training.tokens,
            order=order_digest,
            shards=shards,
        )

    def step(
        self, progress: Progress, sequences: int, rate: float, update: Update, losses: "Losses", seconds: float
    ) -> None:
        """Record a step, `progress` being where it led and `seconds` how long it took."""
        model, recompute = self._config.model, self._config.training.recompute
        own = model_flops(model, sequences) / seconds
        self._tell(progress, losses.mean, seconds)
        peak = self._peak * self._layout.world if self._peak is not None else None
        self._write(
            kind="step",
            step=progress.step,
            consumed=progress.consumed,
            tokens=progress.consumed * model.sequence_tokens,
            loss=losses.mean,
            losses=losses.by_source,
            gradient_norm=_finite(update.norm),
            skipped=update.skipped,
            learning_rate=rate,
            sequences=sequences,
            seconds=seconds,
            tokens_per_second=sequences * model.sequence_tokens / seconds,
            model_flops_per_second=own,
            hardware_flops_per_second=hardware_flops(model, sequences, recompute) / seconds,
            mfu=own / peak if peak is not None else None,
            peak_memory_bytes=meshes.peak_memory(self._device),
            trained_tokens=dict(progress.trained_tokens),
        )

    def evaluation(self, step: int, losses: Mapping[str, float], rows: Mapping[str, int]) -> None:
        """Record the mean loss of each source's held-out rows, and how many rows these are."""
        whole = math.fsum(losses[source] * rows[source] for source in losses) / max(1, sum(rows.values()))
        self._write(kind="evaluation", step=step, loss=whole, losses=dict(losses), rows=dict(rows))

    def _tell(self, progress: Progress, loss: float | None, seconds: float) -> None:
        """Say on stderr how training goes, every few seconds."""
        now = time.monotonic()
        if now - self._told >= _TELL_SECONDS or progress.consumed >= self._config.samples:
            self._told = now
            done = progress.consumed / self._config.samples
            told = "not finite" if loss is None else f"{loss:.3f}"
            print(f"step {progress.step}: loss {told}, {done:.0%} of the tokens, {seconds:.2f} s", file=sys.stderr)

    def close(self) -> None:
        """Close what is open."""
        if self._board is not None:
            self._board.close()

    def _write(self, **line: Any) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(line)}\n")
        if self._board is not None and line["kind"] != "run":
            for name, value in _scalars(line):
                self._board.add_scalar(f"{line['kind']}/{name}", value, line["step"])


class Losses:
    """The loss of a batch and of each source's part of it."""

    def __init__(self, sources: tuple[str, ...], sums: list[float], rows: list[float]) -> None:
        """Take sums of row losses and numbers of rows, by source."""
        found = list(zip(sources, sums, rows, strict=True))
        self.mean = _finite(math.fsum(sums) / math.fsum(rows)) if math.isfinite(sum(sums)) else None
        self.by_source = {source: _finite(total / count) for source, total, count in found if count}
        self.rows = {source: int(count) for source, _, count in found}


def _finite(value: float) -> float | None:
    """Return a number that JSON knows."""
    return value if math.isfinite(value) else None


def _step(line: str) -> float:
    """Return the step of a line; a last line that was cut off in the middle is of none that is kept."""
    try:
        return float(json.loads(line)["step"])
    except ValueError:
        return math.inf


def _scalars(line: Mapping[str, Any]) -> list[tuple[str, float]]:
    flat = {**{f"losses/{source}": loss for source, loss in line["losses"].items()}, **line}
    return [
        (name, value)
        for name, value in flat.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and name != "step"
    ]


def _board(folder: Path) -> Any:
    if not find_spec("tensorboard"):
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(folder / "tensorboard")
