"""Recipes state a run, and refuse what cannot be, naming both values."""

from pathlib import Path

import pytest

from curation.shards.errors import RecipeError
from tests.trainer.tiny import tables
from trainer.config import Config, load_config, parse_config

RECIPES = Path(__file__).parents[2] / "recipes" / "train"


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_recipe_reads(path):
    assert load_config(path).name == path.stem.replace("_", "-")


def test_the_papers_run_is_stated():
    config = load_config(RECIPES / "mt_nlg_530b.toml")
    model, layout = config.model, config.layout(2240)
    assert (model.layers, model.hidden, model.heads, model.sequence_tokens) == (105, 20_480, 128, 2048)
    assert (layout.tensor, layout.pipeline, layout.data) == (8, 35, 8)
    assert len(config.batch.levels) == 60
    assert config.batch.levels[0] == config.batch.ramp.step == 32
    assert config.layout(3360).data == 12


@pytest.mark.parametrize(
    ("changes", "one", "other"),
    [
        ({"model__heads": 5}, "model.hidden = 32", "model.heads = 5"),
        ({"model__vocabulary": 65}, "model.vocabulary = 65", "model.padded_vocabulary = 64"),
        ({"parallel__tensor": 3}, "model.heads = 4", "parallel.tensor = 3"),
        ({"parallel__tensor": 4, "model__sequence_tokens": 18}, "model.sequence_tokens = 18", "parallel.tensor = 4"),
        ({"parallel__tensor": 4, "model__padded_vocabulary": 66}, "padded_vocabulary = 66", "parallel.tensor = 4"),
        ({"parallel__pipeline": 5}, "= 5", "model.layers = 4"),
        ({"parallel__virtual": 2}, "parallel.virtual = 2", "which is 1"),
        ({"parallel__data": 3}, "a batch of sequences = 16", "= 3"),
        ({"batch__ramp": {"start": 32, "step": 1, "tokens": 1}}, "batch.ramp.start = 32", "batch.sequences = 16"),
        ({"batch__ramp": {"start": 2, "step": 4, "tokens": 1}}, "= 14", "batch.ramp.step = 4"),
        ({"batch__ramp": {"start": 8, "step": 8, "tokens": 20_000}}, "tokens = 20,000", "training.tokens = 10,000"),
        ({"learning_rate__warmup_tokens": 10_000}, "warmup_tokens = 10,000", "decay_tokens = 10,000"),
        ({"training__precision": "float64"}, "reduction = float32", "precision = float64"),
        ({"training__tokens": 255}, "tokens of the first batch = 256", "training.tokens = 255"),
    ],
)
def test_a_contradiction_is_refused_with_both_values_named(changes, one, other):
    with pytest.raises(RecipeError) as refused:
        parse_config(tables(**changes))
    assert one in str(refused.value)
    assert other in str(refused.value)


def test_an_unknown_key_is_refused():
    with pytest.raises(RecipeError, match=r"model\.width"):
        parse_config(tables(model__width=3))


def test_a_number_of_processes_that_does_not_fit_is_refused():
    config = parse_config(tables(parallel__tensor=2, parallel__pipeline=2))
    assert str(config.layout(8)) == "2x2x2"
    with pytest.raises(RecipeError, match="2 × 2 × 1 = 4 processes, but 6 were started"):
        parse_config(tables(parallel__tensor=2, parallel__pipeline=2, parallel__data=1)).layout(6)


def test_a_level_of_the_ramp_that_does_not_divide_is_refused_or_rounded_as_the_recipe_says():
    ramp = {"start": 4, "step": 6, "tokens": 1000}
    with pytest.raises(RecipeError, match=r"a batch of sequences = 4 is not a multiple of .* = 8"):
        parse_config(tables(batch__ramp=ramp)).layout(8)
    rounded: Config = parse_config(tables(batch__ramp=ramp, batch__indivisible="round_down"))
    assert [rounded.microbatches(level, 8) for level in rounded.batch.levels] == [1, 1, 2]


def test_microbatches_that_do_not_interleave_are_refused():
    with pytest.raises(RecipeError, match=r"5 microbatches.*parallel\.virtual = 2"):
        parse_config(tables(parallel__pipeline=2, parallel__virtual=2, batch__sequences=5)).layout(2)


def test_values_are_overridden_by_dotted_keys():
    config = load_config(RECIPES / "demo.toml", ["parallel.tensor=1", 'training.precision="bfloat16"', "name=other"])
    assert (config.parallel.tensor, config.training.precision, config.name) == (1, "bfloat16", "other")
