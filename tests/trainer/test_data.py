"""Rows come in one order, whoever reads them, and what was trained on is what the blend promised."""

import shutil

import numpy as np
import pytest

from curation.shards.blend import Blend, greedy
from curation.shards.errors import IntegrityError, RecipeError
from curation.shards.training import BlendedSamples, Order
from tests.trainer import tiny
from trainer.config import parse_config
from trainer.data import TrainingData, share


def test_the_processes_of_a_batch_read_each_of_its_rows_once():
    every = np.sort(np.concatenate([share(40, 24, micro=2, data=4, rank=rank) for rank in range(4)]))
    assert every.tolist() == list(range(40, 64))


@pytest.mark.parametrize(("micro", "data"), [(1, 4), (2, 2), (4, 1), (1, 8)])
def test_a_step_of_all_microbatches_is_the_same_rows_for_every_division(micro, data):
    shares = [share(0, 16, micro, data, rank) for rank in range(data)]
    together = np.stack(shares).reshape(data, -1, micro).transpose(1, 0, 2).ravel()
    assert together.tolist() == list(range(16))


def test_rows_are_the_samples_of_the_blend(shards):
    config = tiny.twenty_steps()
    data = TrainingData(shards, config)
    blend = Blend.model_validate_json((shards / "blend.json").read_bytes())
    samples = BlendedSamples(blend.train, Order(config.samples, 16, config.seed), shards)
    numbers = np.array([5, 0, 200])
    assert np.array_equal(data.rows(numbers), np.stack([samples[number] for number in numbers]))


def test_consumed_tokens_by_source_are_what_the_blend_predicts(shards, eight):
    config = tiny.twenty_steps()
    blend = Blend.model_validate_json((shards / "blend.json").read_bytes())
    members, _ = greedy([pair.weight for pair in blend.train], config.samples)
    sources = np.array([pair.source for pair in blend.train])[members]
    for line in tiny.read_metrics(eight, "step"):
        drawn = sources[: line["consumed"]]
        assert line["trained_tokens"] == {source: int((drawn == source).sum()) * 16 for source in tiny.WEIGHTS}
        assert sum(line["trained_tokens"].values()) == line["tokens"]


def test_held_out_rows_are_those_of_the_valid_pairs(shards):
    data = TrainingData(shards, tiny.twenty_steps())
    assert data.held_out("books", 3).shape == (3, 17)
    assert data.held_out("web", 1000).shape[0] < 1000
    assert data.held_out("code", 3).shape == (0, 17)


def test_the_digest_tells_orders_apart_and_forgets_the_layout_and_the_place(shards, tmp_path):
    first = TrainingData(shards, tiny.twenty_steps()).digest
    elsewhere = shutil.copytree(shards, tmp_path / "moved")
    assert TrainingData(elsewhere, tiny.twenty_steps(2, 2, 2)).digest == first
    assert TrainingData(shards, tiny.twenty_steps(seed=5)).digest != first


def test_shards_that_do_not_fit_the_model_are_refused(shards, tmp_path):
    small = parse_config(tiny.tables(model__vocabulary=40))
    with pytest.raises(RecipeError, match=r"largest id is 59.*model\.vocabulary = 40"):
        TrainingData(shards, small)
    with pytest.raises(RecipeError, match=r"no blend\.json"):
        TrainingData(tmp_path, small)
    (tmp_path / "blend.json").write_text("{}")
    with pytest.raises(IntegrityError, match="damaged"):
        TrainingData(tmp_path, small)
