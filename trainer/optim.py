"""Adam over all processes: one norm for the whole model, tied embeddings as one, nothing done on a broken gradient."""

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

from trainer.config import Config
from trainer.pipeline import Engine

MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass(frozen=True, slots=True)
class Weight:
    """A parameter by its global name; a copy is the last stage's own of an embedding that the first stage holds."""

    name: str
    parameter: torch.nn.Parameter
    copy: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """What a step did: the norm of the gradient before it was clipped, and whether the weights were left alone."""

    norm: float
    skipped: bool


class Adam:
    """AdamW on the parameters of this process. Its moments exist from the start, so that they can be loaded."""

    def __init__(self, config: Config, engine: Engine) -> None:
        """Prepare the update of an engine's parameters. All processes must do so together."""
        self._clip = config.optimizer.clip
        self.weights = weights(engine)
        decay = [weight.parameter for weight in self.weights if weight.parameter.dim() > 1]
        plain = [weight.parameter for weight in self.weights if weight.parameter.dim() == 1]
        groups: list[dict[str, Any]] = [{"params": decay}, {"params": plain, "weight_decay": 0.0}]
        self._adam = torch.optim.AdamW(
            groups,
            betas=config.optimizer.betas,
            eps=config.optimizer.eps,
            weight_decay=config.optimizer.weight_decay,
        )
        for weight in self.weights:
            moments = {moment: torch.zeros_like(weight.parameter) for moment in MOMENTS}
            self._adam.state[weight.parameter] = {"step": torch.tensor(0.0), **moments}
        self._tied = _ends(engine) if config.model.tied and engine.layout.pipeline > 1 else None

    def clear(self) -> None:
        """Drop the gradient."""
        self._adam.zero_grad()

    @torch.no_grad()
    def step(self, rate: float) -> Update:
        """Clip the gradient by its norm over the whole model and follow it; leave all as it is if it is not finite."""
        self._sum_tied()
        norm = gradient_norm(self.weights)
        if not math.isfinite(norm):
            return Update(norm, skipped=True)
        scale = self._clip / (norm + 1e-6)  # the constant of torch.nn.utils.clip_grad_norm_
        if scale < 1:
            for weight in self.weights:
                _gradient(weight).mul_(scale)
        for group in self._adam.param_groups:
            group["lr"] = rate
        self._adam.step()
        return Update(norm, skipped=False)

    def state(self) -> dict[str, Tensor]:
        """Return weights and moments by global names; loading into these tensors restores them."""
        found: dict[str, Tensor] = {}
        for weight in self.weights:
            found[f"model.{weight.name}"] = weight.parameter.detach()
            moments = self._adam.state[weight.parameter]
            found |= {f"{moment}.{weight.name}": moments[moment] for moment in MOMENTS}
        return found

    def set_updates(self, updates: int) -> None:
        """Say how many updates the moments that were loaded have seen, which decides how Adam corrects their bias."""
        for weight in self.weights:
            self._adam.state[weight.parameter]["step"].fill_(updates)

    def _sum_tied(self) -> None:
        """Give both copies of a tied embedding the sum of their gradients; their moments then stay equal, too."""
        ours = [weight for weight in self.weights if weight.name == "token_embedding.weight"]
        if self._tied is not None:
            for weight in ours:
                dist.all_reduce(_gradient(weight).to_local(), group=self._tied)


def weights(engine: Engine) -> list[Weight]:
    """Return the parameters of this process. A tied output layer bears the name of the embedding."""
    found = []
    for part in engine.parts:
        for name, parameter in part.gpt.named_parameters():
            copy = name == "head.weight" and engine.config.model.tied
            found.append(Weight("token_embedding.weight" if copy else name, parameter, copy))
    return found


def gradient_norm(all_weights: list[Weight]) -> float:
    """Return the Euclidean norm of the gradient of the whole model, the same number on every process.

    Squares are summed in float64. A gradient that several processes hold alike is divided among them, and the copy of a
    tied embedding does not count, so that one sum over all processes is right on every layout.
    """
    total: Tensor | float = 0.0
    device = _gradient(all_weights[0]).device
    for weight in all_weights:
        if not weight.copy:
            gradient = _gradient(weight)
            square = torch.linalg.vector_norm(gradient.to_local(), dtype=torch.float64).square()
            total = total + square / _holders(gradient)
    summed = torch.as_tensor(total, dtype=torch.float64, device=device)
    dist.all_reduce(summed)
    return math.sqrt(summed.item()) if summed.isfinite() else math.inf


def _holders(gradient: DTensor) -> int:
    """Return how many processes of its mesh hold the same piece."""
    # Asked of is_replicate and not of is_shard, which is false for FSDP2's strided shards.
    sizes = zip(gradient.device_mesh.shape, gradient.placements, strict=True)
    return math.prod(size for size, placement in sizes if placement.is_replicate())


def _gradient(weight: Weight) -> DTensor:
    gradient = weight.parameter.grad
    assert isinstance(gradient, DTensor), weight.name
    return gradient


def _ends(engine: Engine) -> dist.ProcessGroup | None:
    """Return the group of this process's counterparts on the first and the last stage; None in between."""
    mine = None
    for ranks in engine.mesh.mesh[[0, -1]].flatten(1).t().tolist():
        group = dist.new_group(ranks)  # of which all processes must hear
        if dist.get_rank() in ranks:
            mine = group
    return mine
