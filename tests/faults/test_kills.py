"""Drivers, Python workers and executors that are killed: nothing committed is written again, nothing ends different."""

from pathlib import Path

import pytest
from conftest import Finished
from suffering import STAGES, Fault, sufferer

from tests.faults.planted.striking import POINTS


@pytest.mark.parametrize("point", POINTS)
def test_a_driver_killed_at_a_point_of_every_stage_loses_nothing(
    finished: Finished, tmp_path: Path, point: str
) -> None:
    """AT-03: each of the points × each stage, one after the other in one work folder."""
    victim = sufferer(tmp_path)
    for stage in STAGES:
        ended = victim.run(Fault(stage, point, "driver"))
        assert ended.returncode == -9
        assert victim.rewritten() == []
    victim.recover()
    victim.assert_whole(finished)


def test_a_worker_killed_in_every_stage_is_replaced(finished: Finished, tmp_path: Path) -> None:
    """AT-04: one run, in which each stage loses a Python worker in the middle of a part."""
    victim = sufferer(tmp_path)
    ended = victim.run(*(Fault(stage, "write", "worker") for stage in STAGES))
    assert ended.returncode == 0, ended.stderr
    victim.assert_whole(finished)


def test_a_lost_executor_is_replaced(finished: Finished, tmp_path: Path) -> None:
    """A master with executors of their own; one is killed while it holds shuffled rows, one in the middle of a part."""
    victim = sufferer(tmp_path)
    victim.options = ("--master", "local-cluster[2,1,1024]")
    ended = victim.run(Fault("signals", "write", "executor"), Fault("dedup", "write", "executor"))
    assert ended.returncode == 0, ended.stderr
    victim.assert_whole(finished)


def test_a_driver_whose_jvm_is_killed_says_what_to_do(finished: Finished, tmp_path: Path) -> None:
    """With a local master the executor is the driver's own JVM."""
    victim = sufferer(tmp_path)
    ended = victim.run(Fault("assemble", "write", "executor"))
    assert ended.returncode == 1  # the program of tests/e2e lets the error out
    assert "InfrastructureError: Spark lost a worker or an executor" in ended.stderr
    assert "run the same command again" in ended.stderr
    victim.recover()
    victim.assert_whole(finished)
