"""Weights at the start: each row of each parameter from (seed, name, row) alone, so that no layout changes them.

A process draws the rows it holds and no others. Rows come from Philox, a generator that counts: the name is its key,
the row its counter.
"""

import hashlib
import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

from trainer.config import Model

_OUTPUT_LAYERS = ("attention.out.weight", "mlp.down.weight")  # these add to the residual stream


def standard_deviation(name: str, model: Model) -> float:
    """Return the spread of a weight: the 2 × layers matrices that add to the residual stream share one among them."""
    return model.init_std / math.sqrt(2 * model.layers) if name.endswith(_OUTPUT_LAYERS) else model.init_std


def draw(name: str, rows: NDArray[np.int64], columns: int, model: Model, seed: int) -> NDArray[np.float64]:
    """Return rows of a matrix as they are at the start, float64[len(rows), columns]."""
    if name == "head.weight" and model.tied:
        name = "token_embedding.weight"
    key = int.from_bytes(hashlib.sha256(f"{seed}\0{name}".encode()).digest()[:16], "little")
    out = np.empty((len(rows), columns))
    for place, row in enumerate(rows.tolist()):
        np.random.Generator(np.random.Philox(key=key, counter=row << 128)).standard_normal(out=out[place])
    return out * standard_deviation(name, model)


@torch.no_grad()
def initialise(part: nn.Module, model: Model, seed: int) -> None:
    """Fill the parameters of a model or of a part of one, whole or sharded, in place."""
    for name, parameter in part.named_parameters():
        local = parameter.to_local() if isinstance(parameter, DTensor) else parameter
        if name.endswith("bias"):
            local.zero_()
        elif parameter.dim() == 1:
            local.fill_(1)
        else:
            rows, columns = _held(parameter, 0), _held(parameter, 1)
            drawn = draw(name, rows, parameter.shape[1], model, seed)
            local.copy_(torch.from_numpy(drawn[:, columns]))


def _held(parameter: Tensor, dim: int) -> NDArray[np.int64]:
    """Return which indices along a dimension this process holds: the indices, cut as the parameter is cut."""
    indices = torch.arange(parameter.shape[dim])
    if isinstance(parameter, DTensor):
        # FSDP2 over a tensor-parallel cut of rows is a strided shard, which only `dim` tells from a replica.
        cuts = [getattr(placement, "dim", None) == dim for placement in parameter.placements]
        ours = [p if dim == 0 else Shard(0) for p in parameter.placements]
        placements = [own if is_cut else Replicate() for own, is_cut in zip(ours, cuts, strict=True)]
        mesh = parameter.device_mesh
        whole = indices.to(mesh.device_type)
        indices = distribute_tensor(whole, mesh, placements, src_data_rank=None).to_local().cpu()  # no communication
    held: NDArray[np.int64] = indices.numpy()
    return held
