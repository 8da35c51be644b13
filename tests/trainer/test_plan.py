"""A plan says what a recipe takes, what its time rests on, and where it does not fit."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from curation.shards.errors import RecipeError
from trainer.bubble import closed_form_bubble
from trainer.config import load_config
from trainer.plan import lines, main, make_plan, read_cluster
from trainer.schedule import batches

RECIPES = Path(__file__).parents[2] / "recipes" / "train"


@pytest.fixture(scope="module")
def paper():
    return make_plan(load_config(RECIPES / "mt_nlg_530b.toml"), 3360)


def test_the_plan_of_the_papers_run_prints_fit_and_forecasts_as_such(paper):
    text = "\n".join(lines(paper))
    assert "parameters        529.6 billion" in text
    assert "8 tensor × 35 pipeline × 12 data" in text
    assert "fit       2,240 GPUs: 60.1 s measured" in text
    assert "forecast  2,800 GPUs: 50.9 s, 50.2 s measured (+1.3%)" in text
    assert "forecast  3,360 GPUs: 44.7 s, 44.4 s measured (+0.7%)" in text
    assert "The time model assumes:" in text


def test_the_papers_rate_comes_out(paper):
    hardware, _ = paper.tflops
    assert hardware == pytest.approx(113, rel=0.02)


def test_the_bubble_is_that_of_the_schedule(paper):
    assert paper.bubble == pytest.approx(closed_form_bubble(paper.layout, 80), abs=1e-12)


def test_what_does_not_fit_is_told(paper):
    told = "This does not fit: a GPU has 16 GiB."
    assert told not in list(lines(paper))
    assert told in list(lines(replace(paper, cluster=paper.cluster.model_copy(update={"memory_gib": 16}))))


def test_a_plan_counts_the_steps_that_training_takes(capsys):
    assert main([str(RECIPES / "demo.toml"), "--gpus", "8", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    config = load_config(RECIPES / "demo.toml")
    assert plan["training"]["steps"] == len(list(batches(config, 2)))
    assert plan["layout"] == {"tensor": 2, "pipeline": 2, "data": 2, "virtual": 1}


def test_what_does_not_divide_is_refused():
    with pytest.raises(RecipeError, match="3360 processes, but 3361"):
        make_plan(load_config(RECIPES / "mt_nlg_530b.toml"), 3361)


def test_a_file_that_is_no_cluster_is_refused(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text('name = "x"')
    with pytest.raises(RecipeError, match="not a cluster"):
        read_cluster(str(path))
