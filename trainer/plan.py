"""`plan`: what a recipe takes on a cluster, before anyone has the cluster.

Parameters, memory and operations of a process are counted by building it as in training (`dry_run`); the time is a
model's (`timing`), printed with what it was fitted to, how well it forecasts other runs, and what it assumes.
"""

import argparse
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from curation.shards.errors import RecipeError
from trainer import schedule
from trainer.arithmetic import executed_flops, parameters
from trainer.bubble import order, play, schedule_of
from trainer.config import Config, Layout, load_config
from trainer.dry_run import Counted, count
from trainer.flops import hardware_flops, model_flops
from trainer.parallel import DTYPES
from trainer.timing import (
    ASSUMPTIONS,
    DGX_A100,
    Calibration,
    Cluster,
    Seconds,
    Work,
    calibrate,
    step_seconds,
    with_efficiency,
)

_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of a process at its fullest, between the last backward pass and the optimizer.

    Attributes:
        states: its shares of parameters, gradients and moments.
        copies: the parameters it computes with.
        sums: gradients of those while microbatches are added up.
        activations: kept for the microbatches in flight.
        working: one block while it is computed again.
    """

    states: int
    copies: int
    sums: int
    activations: int
    working: int

    @property
    def total(self) -> int:
        """Bytes in all; fragmentation, messages in flight and the runtime come on top."""
        return self.states + self.copies + self.sums + self.activations + self.working


@dataclass(frozen=True, slots=True)
class Plan:
    """What a recipe takes on so many GPUs.

    Attributes:
        counted: processes of the first, a middle and the last pipeline rank.
        memory: of the same.
        bubble: share of a step at full batch that the pipeline waits, were all passes of a kind as long.
        step: seconds of a step at full batch.
        calibration: how the time model was fitted; None where the cluster states its own efficiency.
        steps: of the whole training.
        days: of the whole training, the growing batch with it.
    """

    config: Config
    layout: Layout
    cluster: Cluster
    counted: tuple[Counted, ...]
    memory: tuple[Memory, ...]
    work: Work
    bubble: float
    step: Seconds
    calibration: Calibration | None
    steps: int
    days: float

    @property
    def tflops(self) -> tuple[float, float]:
        """TFLOP/s of a GPU, counted as papers do: with what is computed again, and without."""
        model, sequences = self.config.model, self.work.sequences
        done = hardware_flops(model, sequences, self.config.training.recompute), model_flops(model, sequences)
        hardware, needed = (flops / self.layout.world / self.step.total / 1e12 for flops in done)
        return hardware, needed


def make_plan(config: Config, gpus: int, cluster: Cluster = DGX_A100) -> Plan:
    """Return the plan of a recipe on so many GPUs.

    Raises:
        RecipeError: the recipe does not divide among them.
    """
    layout = config.layout(gpus)
    work = Work.of(config, layout, config.batch.sequences)
    calibration = calibrate() if cluster.product_efficiency is None else None
    efficiency = calibration.efficiency if calibration else cluster.product_efficiency
    assert efficiency is not None
    played = play(_passes(layout, work.microbatches), layout.stages, lambda stage, forward: 1.0 if forward else 2.0)
    ranks = sorted({0, layout.pipeline // 2, layout.pipeline - 1})
    counted = tuple(count(config, layout, ranks))
    times = {n: step_seconds(Work.of(config, layout, n), cluster, efficiency) for n in _batches(config, layout)}
    batches = _batches(config, layout)
    return Plan(
        config=config,
        layout=layout,
        cluster=with_efficiency(cluster, efficiency),
        counted=counted,
        memory=tuple(_memory(config, layout, one, played.held[one.rank]) for one in counted),
        work=work,
        bubble=played.bubble,
        step=times.get(work.sequences) or step_seconds(work, cluster, efficiency),
        calibration=calibration,
        steps=sum(batches.values()),
        days=sum(steps * times[sequences].total for sequences, steps in batches.items()) / 86_400,
    )


def _passes(layout: Layout, microbatches: int) -> Any:
    return order(schedule_of(layout, microbatches), layout.pipeline, layout.virtual, microbatches)


def _batches(config: Config, layout: Layout) -> Counter[int]:
    """Return how many steps of the training have each size of batch."""
    steps: Counter[int] = Counter()
    consumed = 0
    while sequences := schedule.next_batch(config, consumed, layout.data):
        grown = schedule.batch_sequences(config, consumed) == config.batch.sequences
        times = (config.samples - consumed) // sequences if grown else 1
        steps[sequences] += times
        consumed += times * sequences
    return steps


def _memory(config: Config, layout: Layout, one: Counted, held: int) -> Memory:
    """Return the memory of a process that holds so many passes at once, of one of its stages each."""
    return Memory(
        states=one.share_bytes + one.gradient_bytes + one.moment_bytes,
        copies=one.copy_bytes,
        sums=one.parameters * DTYPES[config.training.reduction].itemsize,
        activations=one.activation_bytes * held // layout.virtual,
        working=one.block_bytes if config.training.recompute == "full" else 0,
    )


def lines(plan: Plan) -> Iterator[str]:
    """Yield the plan for a terminal."""
    yield f"{plan.config.name} on {plan.layout.world:,} GPUs ({plan.cluster.name}): " + _layout_text(plan.layout)
    yield ""
    yield f"parameters        {parameters(plan.config.model) / 1e9:,.1f} billion ({parameters(plan.config.model):,})"
    yield from _process_lines(plan)
    yield ""
    yield from _step_lines(plan)
    yield ""
    yield from _calibration_lines(plan)
    yield ""
    yield "The time model assumes:"
    yield from (f"- {assumption}" for assumption in ASSUMPTIONS)


def _layout_text(layout: Layout) -> str:
    virtual = f" of {layout.virtual} virtual stages each" if layout.virtual > 1 else ""
    return f"{layout.tensor} tensor × {layout.pipeline} pipeline{virtual} × {layout.data} data"


def _process_lines(plan: Plan) -> Iterator[str]:
    yield ""
    yield "Of one process, counted on the model as built:"
    yield _row("pipeline rank", [f"{one.rank}" for one in plan.counted])
    yield _row("parameters, million", [f"{one.parameters / 1e6:,.1f}" for one in plan.counted])
    yield _row("TFLOP a microbatch", [f"{one.flops / 1e12:,.2f}" for one in plan.counted])
    for name, text in (
        ("states", "states, GiB"),
        ("copies", "copies to compute with"),
        ("sums", "sums of gradients"),
        ("activations", "activations in flight"),
        ("working", "block computed again"),
        ("total", "in all, GiB"),
    ):
        yield _row(text, [f"{getattr(one, name) / _GIB:,.2f}" for one in plan.memory])
    most = max(one.total for one in plan.memory) / _GIB
    if most > plan.cluster.memory_gib:
        yield f"This does not fit: a GPU has {plan.cluster.memory_gib:g} GiB."


def _row(name: str, cells: Sequence[str]) -> str:
    return f"  {name:<24}" + "".join(f"{cell:>12}" for cell in cells)


def _step_lines(plan: Plan) -> Iterator[str]:
    model, sequences, recompute = plan.config.model, plan.work.sequences, plan.config.training.recompute
    hardware, needed = plan.tflops
    yield f"A step of {sequences:,} sequences ({plan.work.microbatches} microbatches of {plan.work.micro}):"
    yield f"  model FLOP              {model_flops(model, sequences):.4e}"
    yield f"  with recomputation      {hardware_flops(model, sequences, recompute):.4e}, as papers count"
    yield f"  carried out here        {executed_flops(model, sequences, recompute):.4e}"
    yield f"  pipeline bubble         {plan.bubble:.2%} ({schedule_of(plan.layout, plan.work.microbatches)})"
    yield f"  time                    {plan.step.total:.1f} s"
    told = ("products", "memory", "tensor_messages", "waiting", "reduction", "optimizer")
    yield "    of it " + ", ".join(f"{name.replace('_', ' ')} {getattr(plan.step, name):.2f}" for name in told)
    share = needed / plan.cluster.peak_tflops
    yield f"  TFLOP/s of a GPU        {hardware:.1f} with recomputation, {needed:.1f} without ({share:.1%} of peak)"
    yield f"The whole training: {plan.steps:,} steps, {plan.days:,.1f} days without interruption"


def _calibration_lines(plan: Plan) -> Iterator[str]:
    efficiency = f"{plan.cluster.product_efficiency:.3f} of {plan.cluster.peak_tflops:g} TFLOP/s"
    if plan.calibration is None:
        yield f"Time model: matrix products reach {efficiency}, as the cluster's file says"
        return
    fit = plan.calibration.fit
    yield f"Time model, fitted to MT-NLG 530B's published times on {DGX_A100.name}: matrix products reach {efficiency}"
    yield f"  fit       {fit.gpus:,} GPUs: {fit.seconds:.1f} s measured"
    for row, seconds in plan.calibration.forecasts:
        off = seconds / row.seconds - 1
        yield f"  forecast  {row.gpus:,} GPUs: {seconds:.1f} s, {row.seconds:.1f} s measured ({off:+.1%})"


def to_json(plan: Plan) -> dict[str, Any]:
    """Return plain data."""
    hardware, needed = plan.tflops
    model, sequences, recompute = plan.config.model, plan.work.sequences, plan.config.training.recompute
    return {
        "recipe": plan.config.name,
        "gpus": plan.layout.world,
        "cluster": plan.cluster.model_dump(),
        "layout": asdict(plan.layout),
        "parameters": parameters(plan.config.model),
        "processes": [
            {**asdict(one), "memory": {**asdict(memory), "total": memory.total}}
            for one, memory in zip(plan.counted, plan.memory, strict=True)
        ],
        "step": {
            "sequences": sequences,
            "microbatches": plan.work.microbatches,
            "model_flops": model_flops(model, sequences),
            "hardware_flops": hardware_flops(model, sequences, recompute),
            "executed_flops": executed_flops(model, sequences, recompute),
            "bubble": plan.bubble,
            "seconds": {**asdict(plan.step), "total": plan.step.total},
            "tflops_hardware": hardware,
            "tflops_model": needed,
        },
        "training": {"steps": plan.steps, "days": plan.days},
        "calibration": asdict(plan.calibration) if plan.calibration else None,
        "assumptions": list(ASSUMPTIONS),
    }


def read_cluster(path: str) -> Cluster:
    """Read a cluster's rates from a TOML file. Raises RecipeError where it is not one."""
    try:
        return Cluster.model_validate(tomllib.loads(Path(path).read_text("utf-8")))
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror}; give the path of a cluster's file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError) as error:
        raise RecipeError(f"{path}: not a cluster: {error}; docs/training.md shows one") from None


def main(argv: Sequence[str]) -> int:
    """Print the plan that the arguments ask for."""
    one = argparse.ArgumentParser(prog="python -m trainer plan", description="What a recipe takes on a cluster.")
    one.add_argument("recipe", metavar="RECIPE", help="path of a training recipe")
    one.add_argument("--gpus", type=int, required=True, metavar="N", help="GPUs to plan for")
    one.add_argument("--cluster", metavar="FILE", help="rates of another cluster than the paper's DGX A100, TOML")
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a value of the recipe")
    one.add_argument("--json", action="store_true", help="print JSON")
    options = one.parse_args(argv)
    cluster = read_cluster(options.cluster) if options.cluster else DGX_A100
    plan = make_plan(load_config(options.recipe, options.set), options.gpus, cluster)
    text = json.dumps(to_json(plan), indent=1) if options.json else "\n".join(lines(plan))
    print(text, file=sys.stdout)
    return 0
