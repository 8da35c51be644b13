"""The network divided: which matrix is cut how, then what is computed again, then who keeps which share.

One table says how tensor parallelism cuts the network; between the matrices the tokens are divided instead (sequence
parallelism), so that every parameter lives on one mesh. FSDP2 shards parameters, gradients and moments over the
data-parallel processes, and keeps a stage's parameters whole from its first microbatch to the end of the step.

`parts` needs a process group and touches no weights: under PyTorch's fake one, on the meta device, it is the same code.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, ParallelStyle, RowwiseParallel, SequenceParallel
from torch.distributed.tensor.parallel import parallelize_module as apply_table
from torch.utils.checkpoint import checkpoint

from trainer import mesh as meshes
from trainer.config import Config, Layout, Training
from trainer.model import GPT, Block, cut

DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}
_TOKENS, _VOCABULARY = Shard(1), Shard(-1)  # of activations [batch, tokens, …]


@dataclass(frozen=True, slots=True)
class Part:
    """A run of layers that this process computes."""

    stage: int
    gpt: GPT


def tensor_table() -> dict[str, ParallelStyle]:
    """Return how each module is cut. Column-wise layers split their outputs, row-wise ones their inputs.

    A pair of them needs no exchange in between: whole heads, and whole columns of the MLP, stay on one process.
    """
    return {
        "token_embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=_TOKENS),
        "position_embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=_TOKENS),
        "blocks.*.attention_norm": SequenceParallel(use_local_output=True),
        "blocks.*.attention.qkv": ColwiseParallel(input_layouts=_TOKENS),
        "blocks.*.attention.out": RowwiseParallel(output_layouts=_TOKENS),
        "blocks.*.mlp_norm": SequenceParallel(use_local_output=True),
        "blocks.*.mlp.up": ColwiseParallel(input_layouts=_TOKENS),
        "blocks.*.mlp.down": RowwiseParallel(output_layouts=_TOKENS),
        "final_norm": SequenceParallel(use_local_output=True),
        "head": ColwiseParallel(input_layouts=_TOKENS, output_layouts=_VOCABULARY),
    }


def parts(config: Config, layout: Layout, mesh: DeviceMesh) -> list[Part]:
    """Return the parts of this process, on the meta device, cut and sharded; one for each virtual stage, ascending."""
    first = meshes.coordinate(mesh, "pipeline")
    stages = range(first, layout.stages, layout.pipeline)
    return [Part(stage, _part(config, layout, mesh, stage)) for stage in stages]


def _part(config: Config, layout: Layout, mesh: DeviceMesh, stage: int) -> GPT:
    with torch.device("meta"):
        gpt = cut(GPT(config.model), stage, layout.stages).to(parameter_dtype(config.training))
    if layout.tensor > 1:
        _cut_tensors(gpt, mesh["tensor"])
    _recompute(gpt, config.training.recompute)
    _shard(gpt, config.training, mesh["data"])
    return gpt


def parameter_dtype(training: Training) -> torch.dtype:
    """Return the type of parameters and moments between steps: bfloat16 computes with copies of float32 ones."""
    return torch.float32 if training.precision == "bfloat16" else DTYPES[training.precision]


def _cut_tensors(gpt: GPT, mesh: DeviceMesh) -> None:
    tied = gpt.first and gpt.last and gpt.head.weight is gpt.token_embedding.weight  # type: ignore[union-attr]
    present = {name.partition(".")[0] for name, _ in gpt.named_children()}
    apply_table(gpt, mesh, {name: way for name, way in tensor_table().items() if name.partition(".")[0] in present})
    if tied:  # both were cut alike, each for itself
        gpt.head.weight = gpt.token_embedding.weight  # type: ignore[union-attr]


def _recompute(gpt: GPT, what: str) -> None:
    """Make modules keep their inputs alone; names of parameters stay, since nothing is wrapped around them."""
    for block in gpt.blocks.values():
        assert isinstance(block, Block)
        module: nn.Module | None = {"full": block, "selective": block.attention.core}.get(what)
        if module is not None:
            module.forward = partial(checkpoint, module.forward, use_reentrant=False, preserve_rng_state=False)


def _shard(gpt: GPT, training: Training, mesh: DeviceMesh) -> None:
    precision, reduction = DTYPES[training.precision], DTYPES[training.reduction]
    policy = MixedPrecisionPolicy(param_dtype=precision, reduce_dtype=reduction)
    for block in gpt.blocks.values():
        fully_shard(block, mesh=mesh, reshard_after_forward=False, mp_policy=policy)
    fully_shard(gpt, mesh=mesh, reshard_after_forward=False, mp_policy=policy)
