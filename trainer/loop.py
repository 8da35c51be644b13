"""Training itself, on one screen: read, compute, update, report, save."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from curation.shards.errors import DataBudgetError
from trainer import mesh as meshes
from trainer import schedule
from trainer.checkpoint import Checkpoints, Progress
from trainer.config import Config
from trainer.data import Tokens, TrainingData, share
from trainer.metrics import Losses, Metrics
from trainer.model import GPT
from trainer.optim import Adam
from trainer.pipeline import Engine

CHECKPOINTS = "checkpoints"


@dataclass(frozen=True, slots=True)
class Run:
    """What to train, on what, and where the run keeps its files."""

    config: Config
    data: TrainingData
    folder: Path


def train(run: Run, device: torch.device, stop: Callable[[], bool]) -> Progress:
    """Train from the latest checkpoint to the end, or until `stop` says so on any process, and save.

    Called by all processes of a group. Raises DataBudgetError when too many steps in a row had a broken gradient.
    """
    config, data = run.config, run.data
    layout = config.layout(dist.get_world_size())
    mesh = meshes.build(layout, device.type)
    engine = Engine(config, layout, mesh, device)
    adam = Adam(config, engine)
    checkpoints = Checkpoints(run.folder / CHECKPOINTS, config, adam, data.digest)
    progress = checkpoints.resume() or Progress(0, 0, 0, 0, dict.fromkeys(data.sources, 0))
    metrics = _metrics(run, engine, progress)
    rank, stopped, saved = meshes.coordinate(mesh, "data"), False, progress.step

    while not stopped and (sequences := schedule.next_batch(config, progress.consumed, layout.data)):
        started = time.monotonic()
        numbers = share(progress.consumed, sequences, config.batch.micro, layout.data, rank)
        adam.clear()
        row_losses = engine.train(_rows(engine, data, numbers))
        rate = schedule.learning_rate(config, progress.consumed + sequences)
        update = adam.step(rate)
        losses, stopped = _collect(engine, data, numbers, row_losses, stop())
        progress = _advance(progress, sequences, update.skipped, losses, config)
        if metrics:
            metrics.step(progress, sequences, rate, update, losses, time.monotonic() - started)
        if config.evaluation and progress.step % config.evaluation.every_steps == 0:
            _evaluate(engine, data, progress.step, metrics)
        if progress.step % config.checkpoint.every_steps == 0:
            checkpoints.save(progress)
            saved = progress.step
        checkpoints.finish(wait=False)

    if saved != progress.step:
        checkpoints.save(progress)
    checkpoints.finish()
    if metrics:
        metrics.close()
    return progress


def _metrics(run: Run, engine: Engine, start: Progress) -> Metrics | None:
    """Return the record of the run on the first process, None on others."""
    if dist.get_rank():
        return None
    with torch.device("meta"):
        parameters = sum(parameter.numel() for parameter in GPT(run.config.model).parameters())
    metrics = Metrics(run.folder, run.config, engine.layout, engine.device)
    metrics.begin(parameters, start, run.data.digest, run.data.name)
    return metrics


def _rows(engine: Engine, data: TrainingData, numbers: Tokens) -> Tensor:
    """Return rows to compute on; stages in the middle never look at them, and so do not read them."""
    if engine.first or engine.last:
        return torch.from_numpy(data.rows(numbers))
    return torch.empty(len(numbers), 0, dtype=torch.int64)


def _collect(
    engine: Engine, data: TrainingData, numbers: Tokens, row_losses: Tensor, stop: bool
) -> tuple[Losses, bool]:
    """Return the losses by source of the whole batch, and whether any process is to stop: the same on all."""
    count = len(data.sources)
    told = torch.zeros(2 * count + 1, dtype=torch.float64)
    told[-1] = stop
    if engine.last and meshes.coordinate(engine.mesh, "tensor") == 0:
        sources = data.sources_of(numbers)
        told[:count] = torch.from_numpy(np.bincount(sources, row_losses.double().cpu().numpy(), count))
        told[count : 2 * count] = torch.from_numpy(np.bincount(sources, minlength=count))
    told = told.to(engine.device)
    dist.all_reduce(told)
    summed = told.tolist()
    return Losses(data.sources, summed[:count], summed[count:-1]), summed[-1] > 0


def _advance(before: Progress, sequences: int, skipped: bool, losses: Losses, config: Config) -> Progress:
    """Return where a step led; what was trained on is counted from the rows that were computed."""
    in_a_row = before.skipped + 1 if skipped else 0
    if in_a_row > config.optimizer.max_skipped_steps:
        raise DataBudgetError(
            f"step {before.step + 1}: the gradient was not finite in {in_a_row} steps in a row, more than "
            f"optimizer.max_skipped_steps = {config.optimizer.max_skipped_steps}; lower learning_rate.peak, and "
            "start again from an earlier checkpoint"
        )
    tokens = config.model.sequence_tokens
    trained = {source: before.trained_tokens[source] + rows * tokens for source, rows in losses.rows.items()}
    return Progress(before.step + 1, before.consumed + sequences, before.updates + (not skipped), in_a_row, trained)


def _evaluate(engine: Engine, data: TrainingData, step: int, metrics: Metrics | None) -> None:
    """Record the loss on each source's held-out rows, all of them in one go through the pipeline."""
    assert engine.config.evaluation is not None
    rows = {source: data.held_out(source, engine.config.evaluation.sequences) for source in data.sources}
    rows = {source: found for source, found in rows.items() if len(found)}
    if not rows:
        return
    losses, _ = engine.score(torch.from_numpy(np.concatenate(list(rows.values()))))
    sizes = [len(found) for found in rows.values()]
    means = [part.double().mean().item() for part in torch.split(losses, sizes)]
    if metrics:
        metrics.evaluation(step, dict(zip(rows, means, strict=True)), dict(zip(rows, sizes, strict=True)))
