"""The network: Megatron's GPT as a plain module of one device. It knows nothing of parallelism.

Norms stand before attention and MLP, positions are learned, every linear layer but the last has a bias, GELU is the
tanh form, and nothing is dropped out. `GPT.first` and `GPT.last` tell whether a part of a model holds the ends.

For `plan`, `evaluate` and `export`: names and shapes of parameters are those below on every layout, and building
`GPT(config.model)` under `torch.device("meta")` costs nothing. `parallel.parts` gives the parts of one process, cut and
sharded exactly as in training; it needs a process group, and a fake one will do. Blocks keep their numbers as names
when a model is cut. `init.initialise` fills whole models and sharded parts alike.

    token_embedding.weight [padded_vocabulary, hidden]      position_embedding.weight [sequence_tokens, hidden]
    blocks.N.attention_norm.{weight,bias} [hidden]          blocks.N.mlp_norm.{weight,bias} [hidden]
    blocks.N.attention.qkv.{weight,bias} [3 × hidden, …]    blocks.N.attention.out.{weight,bias} [hidden, …]
    blocks.N.mlp.up.{weight,bias} [4 × hidden, …]           blocks.N.mlp.down.{weight,bias} [hidden, …]
    final_norm.{weight,bias} [hidden]                       head.weight [padded_vocabulary, hidden]

Rows of `qkv` are ordered [head, (q, k, v), width of a head], so that a cut of the rows keeps heads whole; GPT-2's own
order is [(q, k, v), head, width]. A tied model has `head.weight` and `token_embedding.weight` as one parameter.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainer.config import Model


class AttentionCore(nn.Module):
    """Causal attention of queries to keys: what selective recomputation computes again."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Return [batch, heads, tokens, width] from three tensors of that shape."""
        return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


class Attention(nn.Module):
    """Multi-head causal self-attention; as many heads as its rows of `qkv` hold."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.head_width = model.hidden // model.heads
        self.qkv = nn.Linear(model.hidden, 3 * model.hidden)
        self.core = AttentionCore()
        self.out = nn.Linear(model.hidden, model.hidden)

    def forward(self, x: Tensor) -> Tensor:
        """Return [batch, tokens, hidden] from the same; the two linear layers may change how tokens are divided."""
        projected = self.qkv(x)
        heads = projected.view(*projected.shape[:2], -1, 3, self.head_width)
        query, key, value = (part.transpose(1, 2) for part in heads.unbind(3))
        mixed: Tensor = self.core(query, key, value)
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out


class MLP(nn.Module):
    """Two linear layers with four times the width between them."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.up = nn.Linear(model.hidden, 4 * model.hidden)
        self.down = nn.Linear(4 * model.hidden, model.hidden)

    def forward(self, x: Tensor) -> Tensor:
        """Return [batch, tokens, hidden] from the same."""
        out: Tensor = self.down(functional.gelu(self.up(x), approximate="tanh"))
        return out


class Block(nn.Module):
    """One transformer layer."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(model.hidden)
        self.attention = Attention(model)
        self.mlp_norm = nn.LayerNorm(model.hidden)
        self.mlp = MLP(model)

    def forward(self, x: Tensor) -> Tensor:
        """Return [batch, tokens, hidden] from the same."""
        x = x + self.attention(self.attention_norm(x))
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out


class GPT(nn.Module):
    """A whole model, or a run of its layers with the ends that belong to it."""

    def __init__(self, model: Model) -> None:
        """Make the whole model, on the default device, with weights as PyTorch draws them; see `init`."""
        super().__init__()
        self.token_embedding: nn.Embedding | None = nn.Embedding(model.padded_vocabulary, model.hidden)
        self.position_embedding: nn.Embedding | None = nn.Embedding(model.sequence_tokens, model.hidden)
        self.blocks = nn.ModuleDict({str(number): Block(model) for number in range(model.layers)})
        self.final_norm: nn.LayerNorm | None = nn.LayerNorm(model.hidden)
        self.head: nn.Linear | None = nn.Linear(model.hidden, model.padded_vocabulary, bias=False)
        if model.tied:
            self.head.weight = self.token_embedding.weight

    @property
    def first(self) -> bool:
        """Whether tokens go in here."""
        return self.token_embedding is not None

    @property
    def last(self) -> bool:
        """Whether logits come out here."""
        return self.head is not None

    def forward(self, x: Tensor) -> Tensor:
        """Return logits [batch, tokens, padded_vocabulary] of tokens int64[batch, tokens].

        A part without the first end takes [batch, tokens, hidden], one without the last end returns it.
        """
        if self.token_embedding is not None and self.position_embedding is not None:
            positions = torch.arange(x.shape[1], device=x.device)
            x = self.token_embedding(x) + self.position_embedding(positions[None])
        for block in self.blocks.values():
            x = block(x)
        if self.final_norm is not None and self.head is not None:
            x = self.head(self.final_norm(x))
        return x


def stage_layers(layers: int, stage: int, stages: int) -> range:
    """Return the numbers of the layers that a stage holds: as equal as can be, later stages the larger.

    >>> [len(stage_layers(105, stage, 35)) for stage in (0, 34)], [len(stage_layers(7, s, 3)) for s in range(3)]
    ([3, 3], [2, 2, 3])
    """
    return range(layers * stage // stages, layers * (stage + 1) // stages)


def cut(gpt: GPT, stage: int, stages: int) -> GPT:
    """Remove from a whole model all that one stage does not hold, and return it."""
    if stage > 0:
        gpt.token_embedding = gpt.position_embedding = None
    if stage < stages - 1:
        gpt.final_norm = gpt.head = None
    mine = {str(number) for number in stage_layers(len(gpt.blocks), stage, stages)}
    for number in set(gpt.blocks) - mine:
        del gpt.blocks[number]
    return gpt
