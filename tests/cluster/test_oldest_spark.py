"""The oldest Spark that is supported, in an environment of its own, makes the same bytes as the newest.

`CURATION_OLD_SPARK` names the Python of an environment with Spark 3.5 and else the pinned versions; docs/cluster.md
tells how to make one. Spark 3.5 starts on Java 8, 11 or 17.
"""

import json
import os
from pathlib import Path

import pytest
from conftest import Finished, digests
from corpus import write_corpus, write_recipe
from program import digests_of, start

from jobs.spark import LEFT_OUT


@pytest.fixture
def old_python() -> str:
    python = os.environ.get("CURATION_OLD_SPARK")
    if not python:
        pytest.skip("CURATION_OLD_SPARK is not set")
    return python


def test_spark_3_5_makes_the_same_corpus_and_lists_what_it_does_not_know(
    finished: Finished, tmp_path: Path, old_python: str
) -> None:
    write_corpus(tmp_path)
    recipe, work = write_recipe(tmp_path), tmp_path / "work"
    process = start(recipe, str(work), python=old_python, PYSPARK_PYTHON=old_python)
    assert digests_of(process) == digests(finished.latest)
    [path] = (work / "signals/manifests").glob("*.json")
    told = json.loads(path.read_text())["notes"]["spark"]
    assert told["spark.version"].startswith("3.5.")
    assert "spark.sql.execution.arrow.maxBytesPerBatch" in told[LEFT_OUT]
