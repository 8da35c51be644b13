"""A model as something that scores rows of tokens: whole in one process, or divided over many as in training.

Rows of the vocabulary that only pad it are left out: no text has them, and an exported model does not.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.distributed.checkpoint.state_dict_loader import load
from torch.nn import functional

from trainer import mesh as meshes
from trainer.model import GPT
from trainer.optim import weights
from trainer.pipeline import Engine
from trainer.ranking import Scored, Tokens

_TOKENS = 2048  # scored at once; the logits of each take 200 kB with GPT-2's vocabulary


class WholeModel:
    """Scores with a model that one process holds."""

    def __init__(self, gpt: GPT, vocabulary: int) -> None:
        """Use a model whose embedding has rows beyond so many, or not."""
        self._gpt, self._vocabulary = gpt, vocabulary

    @torch.no_grad()
    def __call__(self, rows: Sequence[Tokens]) -> list[Scored]:
        """Return the scores of each row."""
        found: dict[int, Scored] = {}
        order = sorted(range(len(rows)), key=lambda number: -len(rows[number]))  # those of like length go together
        while order:
            width = len(rows[order[0]])
            many = max(1, _TOKENS // width)
            numbers, order = order[:many], order[many:]
            tokens = _padded([rows[number] for number in numbers], width)
            for number, scored in zip(numbers, self._score(tokens), strict=True):
                found[number] = _cut(scored, len(rows[number]))
        return [found[number] for number in range(len(rows))]

    def _score(self, tokens: Tensor) -> list[Scored]:
        logits = self._gpt(tokens[:, :-1])[..., : self._vocabulary]
        labels = tokens[:, 1:]
        wide = logits.float() if logits.dtype == torch.bfloat16 else logits
        losses = functional.cross_entropy(wide.transpose(1, 2), labels, reduction="none").double().numpy()
        likeliest = (logits.argmax(-1) == labels).numpy()
        return [Scored(one, hits) for one, hits in zip(losses, likeliest, strict=True)]


class DividedModel(Engine):
    """Scores with a model that is divided as in training; every process gets every score."""

    def read(self, checkpoint: Path) -> None:
        """Fill the model from a checkpoint of any layout."""
        load({f"model.{weight.name}": weight.parameter.detach() for weight in weights(self)}, checkpoint_id=checkpoint)

    def __call__(self, rows: Sequence[Tokens]) -> list[Scored]:
        """Return the scores of each row."""
        if not rows:
            return []
        losses, likeliest = self.score(_padded(rows, self.config.model.sequence_tokens + 1), likeliest=True)
        assert likeliest is not None
        both = zip(rows, losses.double().numpy(), likeliest.numpy(), strict=True)
        return [_cut(Scored(one, hits), len(row)) for row, one, hits in both]

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        width = logits.shape[-1]
        first = width * meshes.coordinate(self.mesh, "tensor")
        padding = torch.arange(first, first + width, device=logits.device) >= self.config.model.vocabulary
        return super()._loss(logits.masked_fill(padding, float("-inf")), labels)


def _padded(rows: Sequence[Tokens], width: int) -> Tensor:
    """Return rows as one tensor; what fills the end of a row comes after all that is scored, so nothing sees it."""
    filled = np.zeros((len(rows), width), np.int64)
    for place, row in zip(filled, rows, strict=True):
        place[: len(row)] = row
    return torch.from_numpy(filled)


def _cut(scored: Scored, tokens: int) -> Scored:
    return Scored(scored.losses[: tokens - 1], scored.likeliest[: tokens - 1])
