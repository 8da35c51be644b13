"""The command line of the trainer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.trainer import tiny
from trainer.__main__ import main

ROOT = Path(__file__).parents[2]
RECIPE = str(ROOT / "recipes" / "train" / "demo.toml")
SMALL = [
    *("model.hidden=32", "model.layers=2", "model.sequence_tokens=16", "model.vocabulary=60"),
    *("model.padded_vocabulary=64", "parallel.tensor=1", "parallel.data=1", "training.tokens=10_240"),
]


def words(shards: Path, folder: Path, *more: str) -> list[str]:
    sets = [word for change in SMALL for word in ("--set", change)]
    return [RECIPE, "--shards", str(shards), "--folder", str(folder), *sets, *more]


def test_a_recipe_trains(shards, tmp_path):
    command = [sys.executable, "-m", "trainer", *words(shards, tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    steps = tiny.read_metrics(tmp_path, "step")
    assert steps[-1]["tokens"] == 10_240
    assert f"step {steps[-1]['step']}: loss" in done.stderr
    assert "Warning" not in done.stderr


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--set", "model.heads=5"], "model.heads = 5"),
        (["--processes", "3"], "but 3 were started"),
        (["--set", "model.vocabulary=40"], "model.vocabulary = 40"),
        (["--shards", "/nowhere"], "/nowhere: no blend.json"),
    ],
)
def test_what_cannot_be_is_answered_with_2_and_one_line(more, told, shards, tmp_path, capsys):
    assert main(words(shards, tmp_path, *more)) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
