"""Operations are counted as the papers count them, and as PyTorch counts those it runs."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from tests.trainer.tiny import tables  # noqa: E402
from trainer.config import load_config, parse_config  # noqa: E402
from trainer.flops import hardware_flops, model_flops  # noqa: E402
from trainer.model import GPT  # noqa: E402

PAPER = load_config(Path(__file__).parents[2] / "recipes" / "train" / "mt_nlg_530b.toml").model


def test_the_papers_step_is_the_closed_formula_of_narayanan_et_al():
    s, layers, h, v = 2048, 105, 20_480, 51_200
    formula = 96 * 1920 * s * layers * h**2 * (1 + s / (6 * h) + v / (16 * layers * h))
    assert hardware_flops(PAPER, 1920, "full") == pytest.approx(formula, rel=1e-12)
    assert round(formula / 2240 / 60.1 / 1e12) == 126  # TFLOP/s per GPU, as MT-NLG reports it


def test_pytorch_counts_the_same_forward_and_back():
    model = parse_config(tables()).model
    gpt = GPT(model)
    tokens = torch.zeros(3, model.sequence_tokens, dtype=torch.int64)
    with FlopCounterMode(display=False) as counted, torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        gpt(tokens).sum().backward()
    assert counted.get_total_flops() == model_flops(model, 3)


def test_recomputation_costs_hardware_and_not_the_model():
    none, selective, full = (hardware_flops(PAPER, 1, what) for what in ("none", "selective", "full"))
    assert model_flops(PAPER, 1) == none < selective < full
    assert full / none == pytest.approx(4 / 3, rel=0.01)
