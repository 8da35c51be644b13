"""Independent checks: the same model written again, plainly, gives the same logits and the same twenty losses.

Nothing of trainer's network, loss, optimizer or schedule is used here: only its starting weights and its rows.
"""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.trainer import tiny  # noqa: E402
from trainer.data import TrainingData  # noqa: E402
from trainer.init import initialise  # noqa: E402
from trainer.model import GPT  # noqa: E402

LAYERS, HIDDEN, HEADS, TOKENS = 4, 32, 4, 16
WIDTH = HIDDEN // HEADS


def norm(x, weight, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred / ((centred**2).mean(-1, keepdims=True) + 1e-5) ** 0.5 * weight + bias


def logits_of(w, tokens, lib):
    """Return the logits of GPT-2, written with what numpy and torch have in common; `w` maps names to arrays."""
    x = w["token_embedding.weight"][tokens] + w["position_embedding.weight"]
    hidden_from = lib.triu(lib.ones((TOKENS, TOKENS)), 1) > 0
    for layer in range(LAYERS):
        b = {name.split(".", 2)[2]: value for name, value in w.items() if name.startswith(f"blocks.{layer}.")}
        y = norm(x, b["attention_norm.weight"], b["attention_norm.bias"])
        qkv = y @ b["attention.qkv.weight"].T + b["attention.qkv.bias"]
        mixed = []
        for head in range(HEADS):
            own = qkv[..., head * 3 * WIDTH : (head + 1) * 3 * WIDTH]
            q, k, v = own[..., :WIDTH], own[..., WIDTH : 2 * WIDTH], own[..., 2 * WIDTH :]
            scores = q @ lib.swapaxes(k, -1, -2) / math.sqrt(WIDTH)
            scores = lib.where(hidden_from, lib.full_like(scores, -1e30), scores)
            share = lib.exp(scores - lib.amax(scores, -1, keepdims=True))
            mixed.append(share / share.sum(-1, keepdims=True) @ v)
        x = x + lib.concatenate(mixed, -1) @ b["attention.out.weight"].T + b["attention.out.bias"]
        y = norm(x, b["mlp_norm.weight"], b["mlp_norm.bias"]) @ b["mlp.up.weight"].T + b["mlp.up.bias"]
        y = 0.5 * y * (1 + lib.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
        x = x + y @ b["mlp.down.weight"].T + b["mlp.down.bias"]
    x = norm(x, w["final_norm.weight"], w["final_norm.bias"])
    return x @ w.get("head.weight", w["token_embedding.weight"]).T


def perturbed(config):
    """Return a float64 model whose biases and norms are not what they are at the start, so that each one matters."""
    gpt = GPT(config.model).double()
    initialise(gpt, config.model, config.seed)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in gpt.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return gpt


@pytest.mark.parametrize("tied", [True, False])
def test_logits_are_those_of_a_forward_pass_in_numpy(tied):
    gpt = perturbed(tiny.twenty_steps(model__tied=tied))
    weights = {name: value.detach().numpy() for name, value in gpt.named_parameters()}
    tokens = np.random.default_rng(5).integers(0, 60, (3, TOKENS))
    ours = gpt(torch.from_numpy(tokens)).detach().numpy()
    assert np.abs(ours - logits_of(weights, tokens, np)).max() < 1e-12


def test_a_plain_loop_gives_the_same_losses_and_norms(shards, alone):
    config = tiny.twenty_steps()
    start = GPT(config.model).double()
    initialise(start, config.model, config.seed)
    weights = {name: value.detach().clone().requires_grad_() for name, value in start.named_parameters()}
    matrices = [value for value in weights.values() if value.dim() == 2]
    vectors = [value for value in weights.values() if value.dim() == 1]
    adam = torch.optim.AdamW(
        [{"params": matrices}, {"params": vectors, "weight_decay": 0}], betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1
    )
    data, consumed, losses, norms = TrainingData(shards, config), 0, [], []
    for step in range(20):
        sequences = 8 if step < 10 else 16
        rows = torch.from_numpy(data.rows(np.arange(consumed, consumed + sequences)))
        consumed += sequences
        logits = logits_of(weights, rows[:, :-1], torch)
        likelihood = torch.log_softmax(logits, -1).gather(-1, rows[:, 1:, None])
        loss = -likelihood.mean()
        adam.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(weights.values(), 1.0).item())
        tokens, warmup, decay = consumed * 16, 384, 3840
        cosine = 0.55 + 0.45 * math.cos(math.pi * (tokens - warmup) / (decay - warmup))
        for group in adam.param_groups:
            group["lr"] = 3e-3 * (tokens / warmup if tokens < warmup else cosine)
        adam.step()
        losses.append(loss.item())
    ours = tiny.curve(alone(**tiny.precise("float64")))
    assert ours[0] == pytest.approx(losses, abs=1e-12)
    assert ours[1] == pytest.approx(norms, rel=1e-12)
