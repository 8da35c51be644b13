"""Batch and rate are functions of the samples consumed."""

import math
from pathlib import Path

import pytest

from tests.trainer.tiny import tables
from trainer.config import load_config, parse_config
from trainer.schedule import batch_sequences, batches, learning_rate, next_batch

PAPER = load_config(Path(__file__).parents[2] / "recipes" / "train" / "mt_nlg_530b.toml")


def test_the_papers_batch_grows_in_59_steps_over_12_billion_tokens():
    growing = 12_000_000_000 // 2048
    sizes = [batch_sequences(PAPER, consumed) for consumed in range(0, growing + 100_000, 10_000)]
    assert (sizes[0], sizes[-1]) == (32, 1920)
    assert sorted(set(sizes)) == list(PAPER.batch.levels)
    assert sizes == sorted(sizes)
    assert batch_sequences(PAPER, growing - 1) == 1888
    assert batch_sequences(PAPER, growing) == 1920


def test_every_step_has_a_whole_batch_and_the_rest_is_left_out():
    config = parse_config(tables(training__tokens=16 * 50, batch__sequences=16))
    assert list(batches(config, data=2)) == [(0, 16), (16, 16), (32, 16)]
    assert list(batches(config, data=2, consumed=32)) == [(32, 16)]
    assert next_batch(config, 48, data=2) == 0


def test_a_level_that_does_not_divide_is_rounded_down():
    assert next_batch(PAPER, 0, data=12) == 24
    assert next_batch(PAPER, 0, data=8) == 32


@pytest.mark.parametrize(
    ("tokens", "rate"),
    [(0, 0), (500_000_000, 2.5e-5), (1_000_000_000, 5e-5), (340_000_000_000, 5e-6), (400_000_000_000, 5e-6)],
)
def test_the_papers_rate_at_its_corners(tokens, rate):
    assert learning_rate(PAPER, round(tokens / 2048)) == pytest.approx(rate, rel=1e-5)


def test_the_rate_falls_as_a_cosine():
    middle = (1_000_000_000 + 340_000_000_000) / 2
    assert learning_rate(PAPER, round(middle / 2048)) == pytest.approx((5e-5 + 5e-6) / 2, rel=1e-5)
    quarter = 1_000_000_000 + 339_000_000_000 / 4
    expected = 5e-6 + 4.5e-5 * (1 + math.cos(math.pi / 4)) / 2
    assert learning_rate(PAPER, round(quarter / 2048)) == pytest.approx(expected, rel=1e-5)
