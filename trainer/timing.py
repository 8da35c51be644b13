"""How long a step takes on a cluster: a model of a few terms, one constant of which is fitted to a measured run.

Each pass of each stage is the time of its matrix products, of what moves through memory between them, and of the
messages of its tensor-parallel group. The schedule is then played through with these times, and the reduction of
gradients and the optimizer follow. `ASSUMPTIONS` says what is taken for granted.
"""

from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from trainer.arithmetic import rank_parameters, stage_flops
from trainer.bubble import order, play, schedule_of
from trainer.config import Config, Layout, Model
from trainer.flops import forward as forward_flops
from trainer.model import stage_layers

ASSUMPTIONS = (
    "matrix products run at one share of the GPU's peak, whatever their shape: the constant that is fitted",
    "every other rate is a data sheet's number times a usual achieved share; nothing overlaps with anything",
    "software is the paper's: norms and residuals on every tensor-parallel process, attention's scores written to "
    "memory, whole blocks recomputed; sequence parallelism and fused attention, which this trainer has, save time",
    "microbatches of two sequences in the paper's runs: the paper does not tell, and four contradict its times",
    "tensor, then data, then pipeline neighbours are next to each other; a group within a server talks at its rate",
    "activations travel in bfloat16 over each GPU's own network port, gradients are reduced in float32",
)


class Cluster(BaseModel):
    """Equal servers on one network. Rates are those achieved, per GPU and direction."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="what reports call it")
    gpus_per_server: int = Field(8, ge=1, description="GPUs that reach each other at `server_gb_per_second`")
    peak_tflops: float = Field(gt=0, description="dense products in the training's precision, data sheet")
    memory_gib: float = Field(gt=0, description="of a GPU")
    memory_gb_per_second: float = Field(gt=0, description="of a GPU's memory")
    server_gb_per_second: float = Field(gt=0, description="between GPUs of a server")
    network_gb_per_second: float = Field(gt=0, description="between servers")
    product_efficiency: float | None = Field(
        None, gt=0, le=1, description="share of the peak that matrix products reach; none: as fitted to the paper's run"
    )


DGX_A100 = Cluster(
    name="dgx-a100",
    peak_tflops=312,
    memory_gib=80,
    memory_gb_per_second=1600,  # 80 % of 2,039
    server_gb_per_second=230,  # 77 % of NVLink's 300
    network_gb_per_second=20,  # 80 % of one 200 Gbit/s port
)


@dataclass(frozen=True, slots=True)
class Work:
    """One step of a training."""

    model: Model
    layout: Layout
    micro: int
    microbatches: int
    recompute: str

    @classmethod
    def of(cls, config: Config, layout: Layout, sequences: int) -> Self:
        """Return the step of a recipe with a batch of so many sequences."""
        microbatches = config.microbatches(sequences, layout.data)
        return cls(config.model, layout, config.batch.micro, microbatches, config.training.recompute)

    @property
    def sequences(self) -> int:
        """Sequences of the step over all processes."""
        return self.micro * self.microbatches * self.layout.data

    @property
    def boundary_bytes(self) -> int:
        """Bytes of the activations between two blocks, for one microbatch, in bfloat16."""
        return 2 * self.micro * self.model.sequence_tokens * self.model.hidden


@dataclass(frozen=True, slots=True)
class Seconds:
    """Where the time of a step goes. The first four are those of the pipeline process that computes longest."""

    products: float
    memory: float
    tensor_messages: float
    waiting: float  # the bubble, and messages between stages
    reduction: float
    optimizer: float

    @property
    def total(self) -> float:
        """Seconds of the step."""
        return self.products + self.memory + self.tensor_messages + self.waiting + self.reduction + self.optimizer


def step_seconds(work: Work, cluster: Cluster, efficiency: float) -> Seconds:
    """Return the time of a step where matrix products reach this share of the peak."""
    layout = work.layout
    hop = work.boundary_bytes / _rate(cluster, layout.world) if layout.pipeline > 1 else 0.0
    parts = {
        (stage, forward): _pass_parts(work, cluster, efficiency, stage, forward)
        for stage in range(layout.stages)
        for forward in (True, False)
    }
    passes = order(schedule_of(layout, work.microbatches), layout.pipeline, layout.virtual, work.microbatches)
    played = play(passes, layout.stages, lambda stage, forward: sum(parts[stage, forward]), hop)
    slowest = max(range(layout.pipeline), key=played.busy_seconds.__getitem__)
    products, memory, messages = (
        sum(parts[one.stage, one.forward][term] for one in passes[slowest]) for term in range(3)
    )
    numbers = max(rank_parameters(work.model, layout, rank) for rank in range(layout.pipeline))
    around = 2 * (layout.data - 1) / layout.data * 4 * numbers / _rate(cluster, layout.tensor * layout.data)
    return Seconds(
        products=products,
        memory=memory,
        tensor_messages=messages,
        waiting=played.seconds - played.busy_seconds[slowest],
        reduction=around,
        optimizer=32
        * numbers
        / layout.data
        / (1e9 * cluster.memory_gb_per_second),  # two reads and writes of 4 numbers
    )


def _rate(cluster: Cluster, span: int) -> float:
    """Return bytes per second within a group whose members spread over so many neighbours."""
    within = span <= cluster.gpus_per_server
    return 1e9 * (cluster.server_gb_per_second if within else cluster.network_gb_per_second)


def _pass_parts(
    work: Work, cluster: Cluster, efficiency: float, stage: int, forward: bool
) -> tuple[float, float, float]:
    """Return the seconds that a pass spends on products, memory and tensor-parallel messages."""
    model, tensor = work.model, work.layout.tensor
    blocks = len(stage_layers(model.layers, stage, work.layout.stages))
    matrices, core, _ = (each // model.layers for each in forward_flops(model))
    again = {"none": 0, "selective": core, "full": matrices + core}[work.recompute]
    flops = stage_flops(model, stage, work.layout.stages) * (1 if forward else 2) + (0 if forward else blocks * again)
    products = work.micro * flops / tensor / (1e12 * cluster.peak_tflops * efficiency)
    times = 1 if forward else 2 + (work.recompute == "full")
    scores_times = 1 if forward else 2 + (work.recompute != "none")
    moved = blocks * (times * _block_bytes(work) + scores_times * _score_bytes(work))
    both_ways = 2 * (tensor - 1) / tensor * work.boundary_bytes
    passes = 1 if forward else 1 + (work.recompute == "full")
    messages = 2 * passes * blocks * both_ways / _rate(cluster, tensor)  # after attention, and after the MLP
    return products, moved / (1e9 * cluster.memory_gb_per_second), messages


def _block_bytes(work: Work) -> float:
    """Return what a block moves through memory: norms, residuals and biases whole, GELU and heads by their share."""
    return work.boundary_bytes * (12 + 32 / work.layout.tensor)


def _score_bytes(work: Work) -> float:
    """Return what attention's scores move: written, scaled and masked, normalised and read, in five passes."""
    model = work.model
    return 5 * 2 * work.micro * model.heads / work.layout.tensor * model.sequence_tokens**2


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds that a step took on so many GPUs."""

    gpus: int
    seconds: float


PAPER_ROWS = (Measured(2240, 60.1), Measured(2800, 50.2), Measured(3360, 44.4))
"""280, 350 and 420 servers (arXiv 2201.11990, section 2.4)."""


def paper_work(gpus: int) -> Work:
    """Return a step of the paper's run, at its full batch of 1,920 sequences."""
    model = Model(
        layers=105,
        hidden=20_480,
        heads=128,
        sequence_tokens=2048,
        vocabulary=50_257,
        padded_vocabulary=51_200,
        tied=True,
        init_std=4e-3,
    )
    layout, micro = Layout(8, 35, gpus // 280), 2
    return Work(model, layout, micro, 1920 // (micro * layout.data), "full")


@dataclass(frozen=True, slots=True)
class Calibration:
    """The constant fitted to one measured run, and what it says of the others."""

    efficiency: float
    fit: Measured
    forecasts: tuple[tuple[Measured, float], ...]  # measured, and seconds forecast


def calibrate() -> Calibration:
    """Fit the efficiency of matrix products to the first of the paper's rows alone, and forecast the others."""
    first, *others = PAPER_ROWS
    efficiency = fit_efficiency(paper_work(first.gpus), DGX_A100, first.seconds)
    forecasts = tuple((row, step_seconds(paper_work(row.gpus), DGX_A100, efficiency).total) for row in others)
    return Calibration(efficiency, first, forecasts)


def fit_efficiency(work: Work, cluster: Cluster, seconds: float) -> float:
    """Return the share of the peak at which the step takes so long, to a millionth.

    Raises:
        ValueError: no share up to 1 gives that time.
    """
    low, high = 1e-3, 1.0
    if not step_seconds(work, cluster, high).total <= seconds <= step_seconds(work, cluster, low).total:
        raise ValueError(f"no efficiency of matrix products makes the step take {seconds} s")
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if step_seconds(work, cluster, middle).total > seconds else (low, middle)
    return (low + high) / 2


def with_efficiency(cluster: Cluster, efficiency: float) -> Cluster:
    """Return the cluster with its constant filled in."""
    return cluster.model_copy(update={"product_efficiency": efficiency})
