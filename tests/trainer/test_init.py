"""Weights depend on seed, name and row, and on nothing else."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.trainer.tiny import tables  # noqa: E402
from trainer.config import parse_config  # noqa: E402
from trainer.init import draw, initialise  # noqa: E402
from trainer.model import GPT  # noqa: E402

MODEL = parse_config(tables()).model


def test_a_row_is_the_same_whichever_rows_are_drawn_with_it():
    every = draw("blocks.0.mlp.up.weight", np.arange(20), 8, MODEL, 7)
    assert np.array_equal(draw("blocks.0.mlp.up.weight", np.array([13, 4]), 8, MODEL, 7), every[[13, 4]])


def test_rows_names_and_seeds_differ():
    rows = np.arange(2)
    drawn = [
        draw("a.weight", rows, 8, MODEL, 7),
        draw("b.weight", rows, 8, MODEL, 7),
        draw("a.weight", rows, 8, MODEL, 8),
    ]
    assert len({values.tobytes() for both in drawn for values in both}) == 6


def test_spread_is_the_recipes_and_less_for_layers_that_add_to_the_residual_stream():
    gpt = GPT(MODEL)
    initialise(gpt, MODEL, 7)
    attention = gpt.blocks["0"].attention
    assert attention.qkv.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert attention.out.weight.std().item() == pytest.approx(0.02 / 8**0.5, rel=0.05)
    assert torch.equal(attention.qkv.bias, torch.zeros(96))
    assert torch.equal(gpt.final_norm.weight, torch.ones(32))
