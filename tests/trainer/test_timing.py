"""One constant, fitted to one published time, forecasts the others; the terms behave as their physics."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from trainer.config import Layout, load_config
from trainer.plan import read_cluster
from trainer.timing import DGX_A100, Work, calibrate, fit_efficiency, paper_work, step_seconds

RECIPES = Path(__file__).parents[2] / "recipes" / "train"


@pytest.fixture(scope="module")
def calibration():
    return calibrate()


def test_the_fit_to_280_servers_forecasts_350_and_420_within_two_percent(calibration):
    assert calibration.fit.seconds == 60.1
    fitted = step_seconds(paper_work(2240), DGX_A100, calibration.efficiency).total
    assert fitted == pytest.approx(60.1, abs=0.01)
    assert [row.seconds for row, _ in calibration.forecasts] == [50.2, 44.4]
    for row, seconds in calibration.forecasts:
        assert seconds == pytest.approx(row.seconds, rel=0.02)


def test_the_papers_run_is_the_recipes():
    config = load_config(RECIPES / "mt_nlg_530b.toml")
    for gpus in (2240, 2800, 3360):
        assert Work.of(config, config.layout(gpus), config.batch.sequences) == paper_work(gpus)


def test_the_parts_of_a_step_are_its_whole(calibration):
    step = step_seconds(paper_work(2240), DGX_A100, calibration.efficiency)
    parts = [getattr(step, name) for name in type(step).__dataclass_fields__]
    assert step.total == pytest.approx(sum(parts))
    assert all(part > 0 for part in parts)


def test_one_process_waits_for_nobody():
    work = replace(paper_work(2240), layout=Layout(1, 1, 1), microbatches=2)
    step = step_seconds(work, DGX_A100, 0.5)
    assert step.waiting == step.tensor_messages == step.reduction == 0


def test_recomputing_less_takes_less_time():
    times = [
        step_seconds(replace(paper_work(2240), recompute=what), DGX_A100, 0.6).total
        for what in ("none", "selective", "full")
    ]
    assert times == sorted(times)


def test_tensor_parallelism_over_servers_is_slow():
    work = replace(paper_work(2240), layout=Layout(16, 5, 1), microbatches=8)
    within = DGX_A100.model_copy(update={"gpus_per_server": 16})
    across = step_seconds(work, DGX_A100, 0.6).tensor_messages
    assert across == pytest.approx(step_seconds(work, within, 0.6).tensor_messages * 230 / 20)


def test_a_time_that_no_efficiency_gives_is_refused():
    with pytest.raises(ValueError, match=r"1\.0 s"):
        fit_efficiency(paper_work(2240), DGX_A100, 1.0)


def test_a_cluster_is_read_from_a_file(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text("\n".join(f"{k} = {v!r}" for k, v in DGX_A100.model_dump().items() if v is not None))
    assert read_cluster(str(path)) == DGX_A100
