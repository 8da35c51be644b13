"""A recipe small enough for a test, shards to train it on, and a way to run it on many processes."""

import io
import json
import multiprocessing
import os
from dataclasses import asdict
from functools import cache
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from curation.shards import blend
from curation.shards.backends import Encoded
from curation.shards.sidecar import PairSidecar, Shards
from curation.shards.writer import PairWriter
from trainer.config import Config, parse_config

EOD = 59
WEIGHTS = {"books": 0.5, "web": 0.3, "code": 0.2}
STEPS = 20


def tables(**changes: object) -> dict[str, Any]:
    """Return a small recipe with some values changed; a double underscore steps into a table."""
    plain: dict[str, Any] = {
        "name": "tiny",
        "model": {
            "layers": 4,
            "hidden": 32,
            "heads": 4,
            "sequence_tokens": 16,
            "vocabulary": 60,
            "padded_vocabulary": 64,
            "init_std": 0.02,
        },
        "parallel": {},
        "batch": {"sequences": 16},
        "learning_rate": {"peak": 3e-3, "decay_tokens": 10_000},
        "training": {"tokens": 10_000, "precision": "float32"},
    }
    for key, value in changes.items():
        table, _, name = key.partition("__")
        if name:
            plain.setdefault(table, {})[name] = value
        else:
            plain[table] = value
    return plain


def twenty_steps(tensor: int = 1, pipeline: int = 1, data: int = 1, virtual: int = 1, **changes: object) -> Config:
    """Return a run of twenty steps whose batch grows from 8 to 16 after ten, evaluated every seven and saved every ten.

    The small batch has fewer microbatches than there are pipeline processes, so that 1F1B cannot take it.
    """
    micro = 4 if tensor > 1 else 2  # the time of tensor-parallel runs is that of many small messages
    tokens = 16 * (10 * 8 + 10 * 16)
    return parse_config(
        tables(
            parallel={"tensor": tensor, "pipeline": pipeline, "data": data, "virtual": virtual},
            batch={"micro": micro, "sequences": 16, "ramp": {"start": 8, "step": 8, "tokens": 16 * 80}},
            learning_rate={"peak": 3e-3, "warmup_tokens": tokens // 10, "decay_tokens": tokens},
            checkpoint={"every_steps": 10, "keep": 2},
            evaluation={"every_steps": 7, "sequences": 6},
            training__tokens=tokens,
            **changes,
        )
    )


def precise(precision: str) -> dict[str, object]:
    """Return the changes that make a run compute in this type."""
    return {"training__precision": precision, "training__reduction": precision}


def write_shards(folder: Path) -> Path:
    """Write pairs of three sources and the papers of them: sequences that count up by a step, with some noise."""
    random = np.random.Generator(np.random.Philox(key=11))
    sidecars = []
    for source, documents in {"books": 12, "web": 40, "code": 25}.items():
        for split, count in {"train": documents, "valid": 5}.items():
            if (source, split) != ("code", "valid"):
                sidecars.append(_write_pair(folder, source, split, count, random))
    head, entries = sidecars[0], tuple(sidecar.entry() for sidecar in sidecars)
    shards = Shards(tokenizer=head.tokenizer, dtype=head.dtype, eod=EOD, pairs=entries)
    papers = {"shards": shards, "blend": blend.plan(WEIGHTS, entries, 10_000), **{s.name: s for s in sidecars}}
    for name, paper in papers.items():
        (folder / f"{name}.json").write_text(json.dumps(paper.model_dump(mode="json")))
    return folder


def _write_pair(folder: Path, source: str, split: str, count: int, random: np.random.Generator) -> PairSidecar:
    name = f"{source}-{split}-00000"
    documents = []
    for length in random.integers(10, 120, count).tolist():
        counting = random.integers(0, EOD) + random.integers(1, 5) * np.arange(length)
        noise = np.where(random.random(length) < 0.1, random.integers(0, EOD, length), 0)
        documents.append((counting + noise) % EOD)
    streams = io.BytesIO(), io.BytesIO()
    writer = PairWriter(*streams, largest_id=EOD, eod=EOD)
    offsets = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    writer.write(Encoded(np.concatenate(documents).astype(np.uint32), offsets))
    counts = writer.finish()
    for suffix, stream in zip(("bin", "idx"), streams, strict=True):
        (folder / f"{name}.{suffix}").write_bytes(stream.getvalue())
    about = {"name": name, "source": source, "split": split, "tokenizer": "0" * 64, "recipe": "r", "dtype": "uint16"}
    return PairSidecar.model_validate(
        about | asdict(counts) | {"vocabulary_size": EOD + 1, "largest_id": EOD, "eod": EOD}
    )


@cache
def _server() -> ForkServerContext:
    """Return a context whose processes begin with everything imported, and without this process's threads."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["trainer.launch"])
    return context


def begin(config: Config, shards: Path, folder: Path, max_restarts: int = 0) -> BaseProcess:
    """Start a training on as many processes as its layout has, and return the process that looks after them."""
    process = _server().Process(target=_train, args=(config, shards, folder, max_restarts))
    process.start()
    return process


def run(config: Config, shards: Path, folder: Path, max_restarts: int = 0) -> list[dict[str, Any]]:
    """Train to the end and return the lines of the metrics."""
    process = begin(config, shards, folder, max_restarts)
    process.join()
    assert process.exitcode == 0
    return read_metrics(folder)


def _train(config: Config, shards: Path, folder: Path, max_restarts: int) -> None:
    from trainer import launch
    from trainer.data import TrainingData
    from trainer.loop import Run

    folder.mkdir(parents=True, exist_ok=True)
    parallel = config.parallel
    world = parallel.tensor * parallel.pipeline * (parallel.data or 1)
    training = Run(config, TrainingData(shards, config, folder / "samples"), folder)
    raise SystemExit(launch.start(training, world, max_restarts))


def read_metrics(folder: Path, kind: str | None = None) -> list[dict[str, Any]]:
    """Return the lines of a run's metrics, all or those of a kind."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if kind in (None, line["kind"])]


def curve(lines: list[dict[str, Any]]) -> tuple[list[float], list[float], list[float]]:
    """Return the losses and gradient norms of all steps, and the losses of all evaluations by source."""
    steps = [line for line in lines if line["kind"] == "step"]
    evaluations = [line for line in lines if line["kind"] == "evaluation"]
    held_out = [loss for line in evaluations for loss in line["losses"].values()]
    return [line["loss"] for line in steps], [line["gradient_norm"] for line in steps], held_out
