"""What interrupts a run does not change it."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.trainer import tiny  # noqa: E402
from trainer.checkpoint import complete, latest, read_model  # noqa: E402

FLOAT32 = tiny.precise("float32")


@pytest.fixture(scope="module")
def undisturbed(shards, tmp_path_factory):
    """Return the folder of twenty steps on 1 × 2 × 2 processes."""
    folder = tmp_path_factory.mktemp("undisturbed")
    tiny.run(tiny.twenty_steps(1, 2, 2, **FLOAT32), shards, folder)
    return folder


def wait_for_step(folder: Path, step: int) -> None:
    """Return when a run has reported a step."""
    path = folder / "metrics.jsonl"
    for _ in range(6000):
        if path.exists() and any(line["step"] >= step for line in whole_lines(path) if line["kind"] == "step"):
            return
        time.sleep(0.02)
    raise AssertionError(f"step {step} was not reached")


def whole_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def same_weights(one: Path, other: Path) -> bool:
    ours, theirs = (read_model(folder / "checkpoints")[1].state_dict() for folder in (one, other))
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the processes of a run in /proc")
def test_a_run_whose_rank_was_killed_starts_again_and_ends_the_same_bit_for_bit(shards, undisturbed, tmp_path):
    process = tiny.begin(tiny.twenty_steps(1, 2, 2, **FLOAT32), shards, tmp_path, max_restarts=1)
    wait_for_step(tmp_path, 13)
    os.kill(children(process.pid)[2], signal.SIGKILL)
    process.join()
    assert process.exitcode == 0
    assert [line["step"] for line in tiny.read_metrics(tmp_path, "run")] == [0, 10]
    assert tiny.curve(tiny.read_metrics(tmp_path)) == tiny.curve(tiny.read_metrics(undisturbed))
    assert same_weights(tmp_path, undisturbed)


def test_a_run_that_is_asked_to_end_saves_and_goes_on_where_it_was(shards, undisturbed, tmp_path):
    process = tiny.begin(tiny.twenty_steps(1, 2, 2, **FLOAT32), shards, tmp_path)
    wait_for_step(tmp_path, 3)
    os.kill(process.pid, signal.SIGTERM)
    process.join()
    assert process.exitcode == 128 + signal.SIGTERM
    reached = tiny.read_metrics(tmp_path, "step")[-1]["step"]
    assert reached < tiny.STEPS
    assert latest(tmp_path / "checkpoints").name == f"step-{reached:08}"
    assert tiny.curve(tiny.run(tiny.twenty_steps(1, 2, 2, **FLOAT32), shards, tmp_path)) == tiny.curve(
        tiny.read_metrics(undisturbed)
    )


def test_a_finished_run_that_is_started_again_has_nothing_to_do(shards, undisturbed):
    before = tiny.curve(tiny.read_metrics(undisturbed))
    assert tiny.curve(tiny.run(tiny.twenty_steps(1, 2, 2, **FLOAT32), shards, undisturbed)) == before


def test_the_newest_checkpoints_are_kept_and_half_written_ones_removed(shards, tmp_path):
    config = tiny.twenty_steps(**FLOAT32)
    often = config.model_copy(update={"checkpoint": config.checkpoint.model_copy(update={"every_steps": 4})})
    (tmp_path / "checkpoints" / "step-00000003").mkdir(parents=True)
    tiny.run(often, shards, tmp_path)
    assert [folder.name for folder in complete(tmp_path / "checkpoints")] == ["step-00000016", "step-00000020"]
    assert not (tmp_path / "checkpoints" / "step-00000003").exists()


def test_another_order_of_samples_or_another_model_is_refused(shards, undisturbed):
    longer = tiny.twenty_steps(1, 2, 2, seed=5, **FLOAT32)
    wider = tiny.twenty_steps(1, 2, 2, model__hidden=64, **FLOAT32)
    for config in (longer, wider):
        process = tiny.begin(config, shards, undisturbed)
        process.join()
        assert process.exitcode == 2


def test_what_is_saved_in_the_background_is_the_state_when_saving_began(shards, undisturbed, tmp_path):
    """A canary: PyTorch once wrote what training made of the tensors meanwhile (pytorch#144657)."""
    config = tiny.twenty_steps(1, 2, 2, **FLOAT32)
    waiting = config.model_copy(update={"checkpoint": config.checkpoint.model_copy(update={"asynchronous": False})})
    tiny.run(waiting, shards, tmp_path)
    ours, theirs = (read_model(folder / "checkpoints" / "step-00000010")[1] for folder in (tmp_path, undisturbed))
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))
