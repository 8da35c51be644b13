"""Every stage as a program of its own, by python and by spark-submit."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Finished, digests
from corpus import write_corpus, write_recipe

from curation.commits import load_manifest

ROOT = Path(__file__).parents[2]
JOBS = ("ingest", "quality_model", "annotate", "filter", "dedup", "decontaminate", "assemble", "tokenize_corpus")
SPARK_SUBMIT = Path(sys.executable).with_name("spark-submit")


@pytest.mark.parametrize("program", [sys.executable, SPARK_SUBMIT], ids=["python", "spark-submit"])
@pytest.mark.parametrize("job", JOBS)
def test_each_job_explains_itself_as_a_script(program: str, job: str) -> None:
    command = [program, f"jobs/{job}.py", "--help"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "RECIPE" in shown.stdout
    assert "--work" in shown.stdout


def test_a_stage_whose_input_is_not_committed_exits_with_2(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    command = [sys.executable, "jobs/filter.py", str(write_recipe(tmp_path)), "--work", str(tmp_path / "work")]
    refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "not committed" in refused.stderr


def test_a_stage_by_spark_submit_makes_what_a_run_makes(finished: Finished, tmp_path: Path) -> None:
    """The first of the stages; tests/cluster submits them all."""
    write_corpus(tmp_path)
    recipe, work = write_recipe(tmp_path), tmp_path / "work"
    command = [SPARK_SUBMIT, "--master", "local[2,4]", "jobs/ingest.py", recipe, "--work", work]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    [path] = work.glob("ingest/manifests/*.json")
    assert load_manifest(str(work), f"ingest/manifests/{path.name}").digest == digests(finished.latest)["ingest"]
