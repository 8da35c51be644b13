"""A training recipe: what to train, on how many processes, for how long. Frozen models read from TOML.

Every contradiction is refused when the recipe is read, with both values named; what depends on the number of processes
is refused by `Config.layout`. Nothing here needs torch.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from curation.shards.errors import RecipeError

Precision = Literal["float64", "float32", "bfloat16"]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Model(_Table):
    """The network: a GPT with learned positions, norms before each part, and biases."""

    layers: int = Field(ge=1, description="transformer blocks")
    hidden: int = Field(ge=1, description="width of the residual stream")
    heads: int = Field(ge=1, description="attention heads; hidden is a multiple of them")
    sequence_tokens: int = Field(ge=1, description="tokens of a sequence, and positions learned")
    vocabulary: int = Field(ge=1, description="tokens of the tokenizer")
    padded_vocabulary: int = Field(ge=1, description="rows of the embedding; the same for every layout")
    tied: bool = Field(True, description="whether the output layer is the token embedding")
    init_std: float = Field(gt=0, description="of the normal distribution that weights are drawn from")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _multiple("model.hidden", self.hidden, "model.heads", self.heads)
        _at_most("model.vocabulary", self.vocabulary, "model.padded_vocabulary", self.padded_vocabulary)
        return self


class Parallel(_Table):
    """How many processes share one thing. Their product is the number of processes."""

    tensor: int = Field(1, ge=1, description="processes that share each matrix, and the tokens between matrices")
    pipeline: int = Field(1, ge=1, description="processes that share the layers, in order")
    data: int | None = Field(None, ge=1, description="processes that share the batch; none: all the others there are")
    virtual: int = Field(1, ge=1, description="runs of layers per pipeline process; above 1 they interleave")

    @property
    def stages(self) -> int:
        """Runs of layers that the model is cut into."""
        return self.pipeline * self.virtual

    @model_validator(mode="after")
    def _interleaves_something(self) -> Self:
        if self.virtual > 1 and self.pipeline == 1:
            raise ValueError(f"parallel.virtual = {self.virtual} needs parallel.pipeline above 1, which is 1")
        return self


class Ramp(_Table):
    """A batch that grows by equal steps, each kept for the same number of samples."""

    start: int = Field(ge=1, description="sequences of the first batch")
    step: int = Field(ge=1, description="sequences that each level has more than the one before")
    tokens: int = Field(ge=1, description="tokens after which the batch has its full size")


class Batch(_Table):
    """Sequences of an optimizer step, and of the pieces it is computed in."""

    micro: int = Field(1, ge=1, description="sequences a process computes at once")
    sequences: int = Field(ge=1, description="sequences of an optimizer step, over all processes")
    ramp: Ramp | None = Field(None, description="how the batch grows to that size; none: it has it from the start")
    indivisible: Literal["refuse", "round_down"] = Field(
        "refuse", description="what to do with a level of the ramp that micro × data processes do not divide"
    )

    @model_validator(mode="after")
    def _ramps_up(self) -> Self:
        if self.ramp is not None:
            _at_most("batch.ramp.start", self.ramp.start, "batch.sequences", self.sequences)
            growth = self.sequences - self.ramp.start
            _multiple("batch.sequences - batch.ramp.start", growth, "batch.ramp.step", self.ramp.step)
        return self

    @property
    def levels(self) -> tuple[int, ...]:
        """The sizes the batch has, in order, as the recipe writes them."""
        if self.ramp is None:
            return (self.sequences,)
        return tuple(range(self.ramp.start, self.sequences + 1, self.ramp.step))


class Optimizer(_Table):
    """Adam with decoupled weight decay. Biases and norms do not decay."""

    betas: tuple[float, float] = Field((0.9, 0.95), description="decay of the two moments")
    eps: float = Field(1e-8, gt=0, description="added to the root of the second moment")
    weight_decay: float = Field(0.1, ge=0, description="of matrices and embeddings, per step and unit of rate")
    clip: float = Field(1.0, gt=0, description="largest norm of the gradient of the whole model")
    max_skipped_steps: int = Field(
        10, ge=0, description="steps in a row with a gradient that is not finite, before training stops"
    )

    @model_validator(mode="after")
    def _betas_decay(self) -> Self:
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"optimizer.betas = {list(self.betas)} are not both in [0, 1)")
        return self


class LearningRate(_Table):
    """Linear warm-up, then a cosine down to a fraction of the peak, both by tokens."""

    peak: float = Field(gt=0, description="rate at the end of the warm-up")
    warmup_tokens: int = Field(0, ge=0, description="tokens after which the peak is reached")
    decay_tokens: int = Field(ge=1, description="tokens, warm-up included, after which the rate falls no further")
    final_fraction: float = Field(0.1, ge=0, le=1, description="of the peak, that is left then")

    @model_validator(mode="after")
    def _warms_up_first(self) -> Self:
        if self.warmup_tokens >= self.decay_tokens:
            raise ValueError(
                f"learning_rate.warmup_tokens = {self.warmup_tokens:,} is not below "
                f"learning_rate.decay_tokens = {self.decay_tokens:,}"
            )
        return self


class Training(_Table):
    """How long, and in which arithmetic."""

    tokens: int = Field(ge=1, description="tokens to train on; a last batch that is not whole is left out")
    precision: Precision = Field("bfloat16", description="of matrices and activations; bfloat16 keeps float32 masters")
    reduction: Precision = Field("float32", description="of gradients while they are added up over processes")
    recompute: Literal["none", "selective", "full"] = Field(
        "none", description="what is computed again instead of kept: nothing, attention's core, or whole blocks"
    )

    @model_validator(mode="after")
    def _adds_up_without_loss(self) -> Self:
        order = ("bfloat16", "float32", "float64")
        if order.index(self.reduction) < order.index(self.precision):
            raise ValueError(
                f"training.reduction = {self.reduction} is narrower than training.precision = {self.precision}"
            )
        return self


class Checkpoint(_Table):
    """When the state is saved, and how much of it is kept."""

    every_steps: int = Field(1000, ge=1, description="steps between two checkpoints; the last step always has one")
    keep: int = Field(3, ge=1, description="newest checkpoints that are kept")
    asynchronous: bool = Field(True, description="whether training goes on while a checkpoint is written")


class Evaluation(_Table):
    """Loss on the held-out pairs, in between."""

    every_steps: int = Field(1000, ge=1, description="steps between two evaluations")
    sequences: int = Field(ge=1, description="sequences of each source, at most, that are looked at")


@dataclass(frozen=True, slots=True)
class Layout:
    """Processes along each axis; `data` is filled in. Written tensor × pipeline × data."""

    tensor: int
    pipeline: int
    data: int
    virtual: int = 1

    @property
    def world(self) -> int:
        """Processes in all."""
        return self.tensor * self.pipeline * self.data

    @property
    def stages(self) -> int:
        """Runs of layers that the model is cut into."""
        return self.pipeline * self.virtual

    def __str__(self) -> str:
        name = f"{self.tensor}x{self.pipeline}x{self.data}"
        return name if self.virtual == 1 else f"{name} with {self.virtual} virtual stages"


class Config(_Table):
    """A whole training recipe."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", description="of the run, in folders and metrics")
    seed: int = Field(1234, ge=0, lt=2**32, description="of weights and of the order of samples")
    model: Model
    parallel: Parallel = Parallel()
    batch: Batch
    optimizer: Optimizer = Optimizer()
    learning_rate: LearningRate
    training: Training
    checkpoint: Checkpoint = Checkpoint()
    evaluation: Evaluation | None = Field(None, description="none: no loss on held-out pairs while training")

    @property
    def samples(self) -> int:
        """Sequences that the tokens of the training fill; what the order of samples is made for."""
        return self.training.tokens // self.model.sequence_tokens

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        model, parallel, batch = self.model, self.parallel, self.batch
        for name, value in (
            ("model.heads", model.heads),
            ("model.padded_vocabulary", model.padded_vocabulary),
            ("model.sequence_tokens", model.sequence_tokens),
            ("model.hidden", model.hidden),
        ):
            _multiple(name, value, "parallel.tensor", parallel.tensor)
        _at_most("parallel.pipeline × parallel.virtual", parallel.stages, "model.layers", model.layers)
        first = batch.levels[0] * model.sequence_tokens
        _at_most("tokens of the first batch", first, "training.tokens", self.training.tokens)
        if batch.ramp is not None:
            _at_most("batch.ramp.tokens", batch.ramp.tokens, "training.tokens", self.training.tokens)
        if parallel.data is not None:
            self._check_batches(parallel.data)
        return self

    def layout(self, world: int) -> Layout:
        """Return how so many processes are divided.

        Raises:
            RecipeError: they cannot be divided as `[parallel]` says, or the batch cannot be divided among them.
        """
        fixed = self.parallel.tensor * self.parallel.pipeline
        data = self.parallel.data if self.parallel.data is not None else max(1, world // fixed)
        if fixed * data != world:
            raise RecipeError(
                f"parallel.tensor × parallel.pipeline × parallel.data = {self.parallel.tensor} × "
                f"{self.parallel.pipeline} × {data} = {fixed * data} processes, but {world} were started"
            )
        try:
            self._check_batches(data)
        except ValueError as error:
            raise RecipeError(str(error)) from None
        return Layout(self.parallel.tensor, self.parallel.pipeline, data, self.parallel.virtual)

    def microbatches(self, sequences: int, data: int) -> int:
        """Return into how many pieces each of the data-parallel processes cuts its part of such a batch, at least 1.

        A level of the ramp that does not divide evenly is rounded down where the recipe allows it.
        """
        return max(1, sequences // (self.batch.micro * data))

    def _check_batches(self, data: int) -> None:
        unit = self.batch.micro * data
        for level in self.batch.levels:
            may_round = self.batch.indivisible == "round_down" and level != self.batch.sequences
            if not may_round:
                _multiple("a batch of sequences", level, "batch.micro × data-parallel processes", unit)
            pieces, ranks = self.microbatches(level, data), self.parallel.pipeline
            rounds = max(1, pieces // ranks)
            if self.parallel.virtual > 1 and pieces % rounds:  # PyTorch's interleaved schedule goes in equal rounds
                raise ValueError(
                    f"a batch of {level} sequences is {pieces} microbatches, which parallel.pipeline = {ranks} "
                    f"processes with parallel.virtual = {self.parallel.virtual} cannot take in {rounds} equal rounds"
                )


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a training recipe; each override is KEY=VALUE with dots in the key and a TOML value.

    Raises:
        RecipeError: the file cannot be read, is not TOML, or says what cannot be; the message names all problems.
    """
    try:
        tables = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror}; give the path of a training recipe") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not TOML: {error}") from None
    for override in overrides:
        _override(tables, override)
    return parse_config(tables, str(path))


def parse_config(tables: Mapping[str, Any], where: str = "training recipe") -> Config:
    """Return a recipe from plain data. Raises RecipeError, which names all that is wrong."""
    try:
        return Config.model_validate(tables)
    except ValidationError as error:
        problems = [
            ": ".join(filter(None, [".".join(map(str, e["loc"])), e["msg"].removeprefix("Value error, ")]))
            for e in error.errors()
        ]
        raise RecipeError(f"{where}: {'; '.join(problems)}") from None


def _override(tables: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals:
        raise RecipeError(f"--set {override}: give KEY=VALUE, e.g. --set parallel.tensor=2")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *path, last = key.strip().split(".")
    for name in path:
        tables = tables.setdefault(name, {})
        if not isinstance(tables, dict):
            raise RecipeError(f"--set {override}: {name} is a value, not a table")
    tables[last] = value


def _multiple(name: str, value: int, of: str, unit: int) -> None:
    if value % unit:
        raise ValueError(f"{name} = {value:,} is not a multiple of {of} = {unit:,}")


def _at_most(name: str, value: int, of: str, limit: int) -> None:
    if value > limit:
        raise ValueError(f"{name} = {value:,} is more than {of} = {limit:,}")
