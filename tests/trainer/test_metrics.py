"""The record of a run: one line a step, and none twice after a resume."""

import json
import math

import pytest

torch = pytest.importorskip("torch")

from tests.trainer import tiny  # noqa: E402
from trainer.checkpoint import Progress  # noqa: E402
from trainer.metrics import Losses, Metrics  # noqa: E402
from trainer.optim import Update  # noqa: E402

CONFIG = tiny.twenty_steps()
LOSSES = Losses(("books", "web"), [30.0, 10.0], [12.0, 4.0])


def progress(step):
    return Progress(step, step * 16, step, 0, {"books": step * 192, "web": step * 64})


def record(folder):
    return Metrics(folder, CONFIG, CONFIG.layout(1), torch.device("cpu"))


def write(metrics, *steps):
    for step in steps:
        metrics.step(progress(step), 16, 1e-3, Update(0.5, False), LOSSES, 0.5)


def test_a_step_tells_losses_speed_and_what_was_trained_on(tmp_path):
    metrics = record(tmp_path)
    metrics.begin(1000, progress(0), "d" * 32, "key")
    write(metrics, 1)
    run, step = tiny.read_metrics(tmp_path)
    assert (run["parameters"], run["order"], run["shards"]) == (1000, "d" * 32, "key")
    assert (step["loss"], step["losses"]) == (2.5, {"books": 2.5, "web": 2.5})
    assert (step["consumed"], step["tokens"], step["tokens_per_second"]) == (16, 256, 512)
    assert step["trained_tokens"] == {"books": 192, "web": 64}
    assert (step["mfu"], step["peak_memory_bytes"]) == (None, None)


def test_a_resumed_run_drops_the_lines_after_its_checkpoint(tmp_path):
    metrics = record(tmp_path)
    metrics.begin(1000, progress(0), "d", "key")
    write(metrics, 1, 2, 3)
    metrics.evaluation(3, {"books": 2.0}, {"books": 5})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "step", "st')
    record(tmp_path).begin(1000, progress(2), "d", "key")
    assert [(line["kind"], line["step"]) for line in tiny.read_metrics(tmp_path)] == [
        ("run", 0),
        ("step", 1),
        ("step", 2),
        ("run", 2),
    ]


def test_a_run_from_the_start_begins_an_empty_record(tmp_path):
    for _ in range(2):
        metrics = record(tmp_path)
        metrics.begin(1000, progress(0), "d", "key")
        write(metrics, 1)
    assert [line["kind"] for line in tiny.read_metrics(tmp_path)] == ["run", "step"]


def test_what_is_not_finite_is_written_as_json_knows_it(tmp_path):
    metrics = record(tmp_path)
    metrics.step(progress(1), 16, 1e-3, Update(math.inf, True), Losses(("books",), [math.nan], [16.0]), 0.5)
    (line,) = (json.loads(line, parse_constant=pytest.fail) for line in (tmp_path / "metrics.jsonl").open())
    assert (line["loss"], line["losses"], line["gradient_norm"], line["skipped"]) == (None, {"books": None}, None, True)


def test_the_loss_of_an_evaluation_is_the_mean_over_all_rows(tmp_path):
    metrics = record(tmp_path)
    metrics.evaluation(7, {"books": 2.0, "web": 4.0}, {"books": 3, "web": 1})
    assert tiny.read_metrics(tmp_path)[0]["loss"] == 2.5
