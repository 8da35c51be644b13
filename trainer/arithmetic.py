"""Parameters and operations of each process, from a recipe's numbers alone; `dry_run` counts the same on the model.

What is of the whole model and a formula in the papers is in `flops`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from trainer.config import Layout, Model
from trainer.flops import forward, model_flops
from trainer.model import stage_layers


@dataclass(frozen=True, slots=True)
class Weight:
    """A parameter of a part of the model: its shape, and the dimension that tensor parallelism cuts, if it does."""

    name: str
    shape: tuple[int, ...]
    cut: int | None = None

    @property
    def size(self) -> int:
        """Numbers it has over all processes of a tensor-parallel group."""
        return self.shape[0] if len(self.shape) == 1 else self.shape[0] * self.shape[1]

    def held(self, tensor: int) -> tuple[int, ...]:
        """Return the shape of what one process of a tensor-parallel group has."""
        return tuple(length // tensor if dim == self.cut else length for dim, length in enumerate(self.shape))


def block_weights(hidden: int) -> list[Weight]:
    """Return the parameters of one block."""
    h = hidden
    return [
        Weight("attention_norm.weight", (h,)),
        Weight("attention_norm.bias", (h,)),
        Weight("attention.qkv.weight", (3 * h, h), 0),
        Weight("attention.qkv.bias", (3 * h,), 0),
        Weight("attention.out.weight", (h, h), 1),
        Weight("attention.out.bias", (h,)),
        Weight("mlp_norm.weight", (h,)),
        Weight("mlp_norm.bias", (h,)),
        Weight("mlp.up.weight", (4 * h, h), 0),
        Weight("mlp.up.bias", (4 * h,), 0),
        Weight("mlp.down.weight", (h, 4 * h), 1),
        Weight("mlp.down.bias", (h,)),
    ]


def stage_weights(model: Model, stage: int, stages: int) -> Iterator[Weight]:
    """Yield the parameters of a stage; a tied model's first and last stage both have the embedding."""
    vocabulary, hidden = model.padded_vocabulary, model.hidden
    if stage == 0:
        yield Weight("token_embedding.weight", (vocabulary, hidden), 0)
        yield Weight("position_embedding.weight", (model.sequence_tokens, hidden), 0)
    for number in stage_layers(model.layers, stage, stages):
        for weight in block_weights(hidden):
            yield Weight(f"blocks.{number}.{weight.name}", weight.shape, weight.cut)
    if stage == stages - 1:
        yield from (Weight("final_norm.weight", (hidden,)), Weight("final_norm.bias", (hidden,)))
        if not (model.tied and stages == 1):
            yield Weight("head.weight", (vocabulary, hidden), 0)


def parameters(model: Model) -> int:
    """Return the parameters of the whole model; a tied embedding counts once."""
    return sum(weight.size for weight in stage_weights(model, 0, 1))


def closed_form_parameters(model: Model) -> float:
    """Return 12 l h² (1 + 13/12h + (V + s)/12lh), the form of Megatron's papers, for a tied model."""
    h, layers = model.hidden, model.layers
    ends = (model.padded_vocabulary + model.sequence_tokens) / (12 * layers * h)
    return 12 * layers * h**2 * (1 + 13 / (12 * h) + ends)


def rank_stages(layout: Layout, rank: int) -> range:
    """Return the stages of a pipeline process: each `pipeline`-th, as interleaving wants them."""
    return range(rank, layout.stages, layout.pipeline)


def rank_parameters(model: Model, layout: Layout, rank: int, data_rank: int | None = None) -> int:
    """Return the numbers that a process of a pipeline rank holds of the parameters.

    Args:
        rank: along the pipeline.
        data_rank: which share of the data-parallel group's is counted; None for all of them together, which is what a
            process has while it computes.
    """
    weights = (weight for stage in rank_stages(layout, rank) for weight in stage_weights(model, stage, layout.stages))
    return sum(_held(weight.held(layout.tensor), layout.data, data_rank) for weight in weights)


def _held(shape: tuple[int, ...], data: int, data_rank: int | None) -> int:
    """Rows are divided among data-parallel processes as FSDP does it: equal runs but for a shorter, or empty, end."""
    rows = shape[0]
    if data_rank is not None:
        run = -(-rows // data)
        rows = max(0, min(rows - data_rank * run, run))
    return rows * (shape[1] if len(shape) == 2 else 1)


def stage_flops(model: Model, stage: int, stages: int) -> int:
    """Return the operations of a stage for one sequence forward."""
    matrices, core, head = forward(model)
    blocks = (matrices + core) // model.layers * len(stage_layers(model.layers, stage, stages))
    return blocks + (head if stage == stages - 1 else 0)


def recomputed_flops(model: Model, recompute: str) -> int:
    """Return what one block computes a second time for one sequence.

    PyTorch stops recomputing a block at the last thing that its backward pass needs, so the product with `mlp.down`
    (8 s h²) is not repeated; `flops.hardware_flops` counts it, as the paper does.
    """
    matrices, core, _ = forward(model)
    whole = (matrices + core) // model.layers - 8 * model.sequence_tokens * model.hidden**2
    return {"none": 0, "selective": core // model.layers, "full": whole}[recompute]


def rank_flops(model: Model, layout: Layout, rank: int, recompute: str) -> int:
    """Return the operations of a process of a pipeline rank for one sequence, forward and backward."""
    total = 0
    for stage in rank_stages(layout, rank):
        again = len(stage_layers(model.layers, stage, layout.stages)) * recomputed_flops(model, recompute)
        total += 3 * stage_flops(model, stage, layout.stages) + again
    return total // layout.tensor


def executed_flops(model: Model, sequences: int, recompute: str) -> int:
    """Return the operations of a step that are carried out, recomputation with them."""
    return model_flops(model, sequences) + sequences * model.layers * recomputed_flops(model, recompute)
