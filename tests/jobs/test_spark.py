"""Spark: tasks give their results in order, fail as what they were, and never say what a shard held."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from curation.errors import DataBudgetError, InfrastructureError, IntegrityError, RecipeError
from curation.identity import Place, pack
from jobs.spark import (
    LEFT_OUT,
    SETTINGS,
    collect,
    in_batches,
    open_session,
    run_shards,
    settings_in_force,
    settings_left_out,
    shard_rows,
    stream,
)

ROOT = Path(__file__).parents[2]
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # tasks find the jobs, and not the tests


@pytest.fixture(scope="module")
def spark() -> Any:
    return open_session("local[2,4]")


def slow_first(number: int) -> list[int]:
    time.sleep(0.3 if number == 0 else 0)
    return [number, number * number]


def test_results_come_in_the_order_of_their_payloads(spark):
    assert run_shards(spark, slow_first, range(9)) == [[n, n * n] for n in range(9)]


def test_no_payloads_start_nothing():
    assert run_shards(None, slow_first, []) == []


def test_payloads_may_be_any_objects(spark):
    assert run_shards(spark, lambda place: pack(place), [Place(1, 0, 5), Place(0, 0, 7)]) == [2251799813685253, 7]


@pytest.mark.parametrize("kind", [RecipeError, DataBudgetError, IntegrityError, InfrastructureError])
def test_an_error_of_ours_comes_back_as_what_it_was(spark, kind):
    def fail(number: int) -> None:
        raise kind(f"shard {number}: what it means {{braces}}\nand what to do")

    with pytest.raises(kind) as caught:
        run_shards(spark, fail, [3])
    assert type(caught.value) is kind
    assert str(caught.value) == "shard 3: what it means {braces}\nand what to do"


def test_a_special_error_of_ours_keeps_its_exit_code_and_message(spark):
    with pytest.raises(RecipeError, match="record number -1 does not fit") as caught:
        run_shards(spark, lambda _: pack(Place(0, 0, -1)), [0])
    assert caught.value.exit_code == 2


def quote(_: object) -> None:
    try:
        raise KeyError("SECRET key")
    except KeyError as error:
        raise ValueError("cannot parse: SECRET text of a document") from error


def test_a_foreign_error_comes_back_by_class_and_place_alone(spark):
    with pytest.raises(InfrastructureError) as caught:
        run_shards(spark, quote, [0])
    assert "a task failed with ValueError at test_spark.py:" in str(caught.value)
    assert "quote" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None


DRIVER = """
import sys
import pyarrow as pa
from curation.errors import CurationError
from jobs.spark import collect, in_batches, open_session, run_shards, shard_rows

spark = open_session("local[1,2]")

def quote(payload):
    raise ValueError("SECRET " + str(payload)) from KeyError("SECRET")

def rows(payload):
    yield pa.RecordBatch.from_pydict({"n": [1]})
    quote(payload)

def batches(found):
    for batch in found:
        quote(batch)
    yield batch

codes = []
for run in (
    lambda: run_shards(spark, quote, ["SECRET payload"]),
    lambda: collect(shard_rows(spark, rows, ["SECRET payload"], "n long")),
    lambda: collect(spark.sql("SELECT 'SECRET row' AS text").mapInArrow(in_batches(batches), "text string")),
):
    try:
        run()
    except CurationError as error:
        print(error)
        codes.append(error.exit_code)
print(codes, "SECRET"[::-1])
"""


def drive(tmp_path: Path, *command: str, code: str = DRIVER) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "driver.py"
    script.write_text(code)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, str(script)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )


def test_no_output_of_the_driver_shows_what_a_foreign_error_quotes(tmp_path):
    done = drive(tmp_path, sys.executable)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[5, 5, 5] TERCES"
    assert done.stdout.count("a task failed with ValueError at driver.py:") == 3
    assert "SECRET" not in done.stdout + done.stderr


def test_the_master_that_spark_submit_was_given_is_used(tmp_path):
    code = "from jobs.spark import open_session\nprint('master', open_session().sparkContext.master)\n"
    home = Path(cloudpickle.__file__).parents[1]
    submit = [str(home / "bin" / "spark-submit"), "--master", "local[1,3]", "--conf", "spark.ui.enabled=false"]
    done = drive(tmp_path, *submit, code=code)
    assert "master local[1,3]" in done.stdout, done.stderr


def test_a_task_whose_worker_was_killed_is_tried_again(spark, tmp_path):
    def die_once(number: int) -> int:
        marker = tmp_path / str(number)
        if number == 1 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert run_shards(spark, die_once, range(4)) == [0, 1, 2, 3]
    assert (tmp_path / "1").exists()


def test_a_task_whose_worker_is_always_killed_is_an_error_of_the_infrastructure(spark):
    with pytest.raises(InfrastructureError, match="Spark lost a worker or an executor"):
        run_shards(spark, lambda _: os.kill(os.getpid(), signal.SIGKILL), [0])
    assert run_shards(spark, slow_first, [2]) == [[2, 4]]


def test_a_task_that_fails_once_is_tried_again(spark, tmp_path):
    def fail_once(number: int) -> int:
        marker = tmp_path / str(number)
        if not marker.exists():
            marker.touch()
            raise OSError("SECRET weather")
        return number

    assert run_shards(spark, fail_once, [5]) == [5]


def two_batches(payload: int) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"payload": [payload], "row": [0]})
    yield pa.RecordBatch.from_pydict({"payload": [payload, payload], "row": [1, 2]})


def test_shards_can_yield_rows(spark):
    frame = shard_rows(spark, two_batches, [7, 8], "payload long, row long")
    expected = [(payload, row) for payload in (7, 8) for row in range(3)]
    assert sorted(tuple(row) for row in collect(frame)) == expected
    assert [tuple(row) for row in stream(frame)] == expected
    assert collect(shard_rows(spark, two_batches, [], "payload long, row long")) == []


def test_a_function_of_batches_fails_as_what_it_was(spark):
    def fail(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            raise IntegrityError(f"{batch.num_rows} rows")
        yield from ()

    with pytest.raises(IntegrityError, match="1 rows"):
        list(stream(spark.range(1).mapInArrow(in_batches(fail), "id long")))


def test_every_setting_that_this_spark_knows_is_in_force_and_the_others_are_listed(spark):
    found = settings_in_force(spark)
    known = getattr(getattr(spark._jvm.org.apache.spark.sql.internal, "SQLConf$"), "MODULE$")
    unknown = [name for name in SETTINGS if name.startswith("spark.sql.") and not known.containsConfigKey(name)]
    assert settings_left_out(spark.version) == unknown
    assert found.pop(LEFT_OUT, "") == ", ".join(unknown)
    assert found.pop("spark.version") == spark.version
    assert found == {name: value for name, value in SETTINGS.items() if name not in unknown}


def test_a_session_can_be_asked_for_twice(spark):
    assert open_session("local[2,4]").sparkContext is spark.sparkContext
