"""Every layout trains the same model: losses and gradient norms are those of one process.

All runs have a batch that grows, and evaluations in between.
"""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.trainer import tiny

# of losses and, relatively, of gradient norms
TOLERANCES = {"float64": (1e-12, 1e-12), "float32": (1e-5, 1e-4)}
LAYOUTS = {
    "2x2x2, 1F1B, full": ((2, 2, 2), {"training__recompute": "full"}),
    "2x2x2, interleaved, selective": ((2, 2, 2, 2), {"training__recompute": "selective"}),
    "1x4x2": ((1, 4, 2), {"training__recompute": "full"}),
    "4x1x2": ((4, 1, 2), {"training__recompute": "selective"}),
}


def assert_same_curve(found, expected, precision):
    loss, norm = TOLERANCES[precision]
    for ours, theirs, absolute, relative in zip(
        tiny.curve(found), tiny.curve(expected), (loss, 0, loss), (0, norm, 0), strict=True
    ):
        assert ours == pytest.approx(theirs, abs=absolute, rel=relative)


@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_gives_the_curves_of_one_process(layout, precision, shards, alone, tmp_path):
    shape, recompute = LAYOUTS[layout]
    changes = recompute if precision == "float64" else {}  # it takes time, and changes nothing that precision does
    found = tiny.run(tiny.twenty_steps(*shape, **tiny.precise(precision), **changes), shards, tmp_path)
    assert_same_curve(found, alone(**tiny.precise(precision)), precision)


def test_an_untied_model_gives_the_curves_of_one_process(shards, alone, tmp_path):
    untied = {"model__tied": False, **tiny.precise("float64")}
    assert_same_curve(tiny.run(tiny.twenty_steps(2, 2, 1, **untied), shards, tmp_path), alone(**untied), "float64")


def test_nothing_recomputed_gives_the_curves_of_one_process(eight, alone):
    assert_same_curve(tiny.read_metrics(eight), alone(**tiny.precise("float64")), "float64")


def test_training_learns_something(alone):
    losses, norms, held_out = tiny.curve(alone(**tiny.precise("float64")))
    assert len(losses) == tiny.STEPS
    assert losses[-1] < losses[0] - 0.4
    assert len(set(norms)) == tiny.STEPS
    assert held_out[-1] < held_out[0]


def test_the_curves_of_bfloat16_are_near_those_of_float32(shards, alone, tmp_path):
    bfloat16 = {"training__precision": "bfloat16"}
    found = tiny.curve(tiny.run(tiny.twenty_steps(1, 2, 2, **bfloat16), shards, tmp_path))[0]
    assert found == pytest.approx(tiny.curve(alone(**tiny.precise("float32")))[0], abs=0.02)
    assert found != tiny.curve(alone(**tiny.precise("float32")))[0]


def roll_back(folder: Path, copy: Path) -> Path:
    """Copy a run and have it go on from the checkpoint after ten steps."""
    shutil.copytree(folder, copy)
    (copy / "checkpoints" / "latest.json").write_text('{"checkpoint": "step-00000010"}')
    return copy


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 2, 4), (2, 2, 2, 2)], ids=str)
def test_a_run_saved_on_2x2x2_goes_on_the_same_on_another_layout(shape, shards, eight, alone, tmp_path):
    folder = roll_back(eight, tmp_path / "run")
    found = tiny.run(tiny.twenty_steps(*shape, **tiny.precise("float64")), shards, folder)
    assert [line["step"] for line in found if line["kind"] == "step"] == list(range(1, tiny.STEPS + 1))
    assert [line["step"] for line in found if line["kind"] == "run"] == [0, 10]
    assert_same_curve(found, alone(**tiny.precise("float64")), "float64")


def test_a_run_that_is_resumed_on_the_same_layout_goes_on_bit_for_bit(shards, eight, tmp_path):
    before = tiny.curve(tiny.read_metrics(eight))
    folder = roll_back(eight, tmp_path / "run")
    assert tiny.curve(tiny.run(tiny.twenty_steps(2, 2, 2, **tiny.precise("float64")), shards, folder)) == before
