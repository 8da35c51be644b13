"""The report shows the curve of a training on its shards, and has no such section without one."""

import json
import re
from pathlib import Path

import pytest

from curation.report import collect, render
from curation.report.training import Axis, axis, path, run_folder
from tests.workfolder import WorkFolder, make_work_folder


@pytest.fixture
def work(tmp_path: Path) -> WorkFolder:
    return make_work_folder(tmp_path)


def write_metrics(work: WorkFolder, *lines: dict, tail: str = "") -> None:
    folder = Path(run_folder(work.root, str(collect(work.root).shards_folder)))
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines) + tail)


RUN = {"kind": "run", "name": "demo", "parameters": 3_423_616, "layout": {"tensor": 2, "pipeline": 2, "data": 2}}
STEPS = [{"kind": "step", "step": n, "tokens": 100 * n, "loss": 10.5 - n} for n in (1, 2, 3)]
EVALUATION = {"kind": "evaluation", "step": 2, "loss": 8.25, "losses": {"wiki": 8.25}, "rows": {"wiki": 4}}


def test_there_is_no_section_without_a_training(work: WorkFolder) -> None:
    report = collect(work.root)
    assert report.training is None
    assert "<h2>Training</h2>" not in render(report)
    assert report.to_json()["training"] is None


def test_the_curve_is_the_metrics(work: WorkFolder) -> None:
    write_metrics(work, RUN, *STEPS, EVALUATION, tail='{"kind": "st')
    report = collect(work.root)
    found = report.training
    assert found is not None
    assert found.losses == ((100, 9.5), (200, 8.5), (300, 7.5))
    assert found.held_out == ((200, 8.25),)
    assert found.by_source == (("wiki", 8.25, 4),)
    page = render(report)
    assert "3 steps, 300 tokens. The loss went from 9.50 to 7.50." in page
    assert "(2 tensor × 2 pipeline × 2 data-parallel processes)" in page
    (line,) = re.findall(r'<polyline class="line kept" points="([^"]*)"', page)
    xs, ys = zip(*(map(float, point.split(",")) for point in line.split()), strict=True)
    assert list(xs) == sorted(xs)
    assert list(ys) == sorted(ys)  # a falling loss: further down is a larger y
    assert page.count("<circle") == 1
    json.dumps(report.to_json())


def test_a_training_on_other_shards_is_not_shown(work: WorkFolder) -> None:
    folder = Path(work.root, "train", "another-key")
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text(json.dumps(RUN) + "\n" + json.dumps(STEPS[0]) + "\n")
    assert collect(work.root).training is None


def test_steps_whose_loss_was_not_finite_are_left_out(work: WorkFolder) -> None:
    write_metrics(work, RUN, STEPS[0], {**STEPS[1], "loss": None}, STEPS[2])
    found = collect(work.root).training
    assert found is not None
    assert [tokens for tokens, _ in found.losses] == [100, 300]


@pytest.mark.parametrize(("low", "high"), [(7.2, 10.9), (0, 40_960), (3.11, 3.12), (5.0, 5.0), (0, 1)])
def test_an_axis_holds_its_values_between_a_few_round_marks(low: float, high: float) -> None:
    found = axis(low, high)
    assert found.low <= low <= high <= found.high
    assert 2 <= len(found.marks) <= 7


def test_points_are_placed_from_the_bottom_left() -> None:
    unit = Axis(0, 10, (0, 10))
    assert path([(0, 0), (10, 10), (5, 2)], unit, unit, 100, 50) == "0.0,50.0 100.0,0.0 50.0,40.0"
