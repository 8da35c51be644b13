"""Every stage given to spark-submit, as a user of a cluster does."""

import subprocess
import sys
from pathlib import Path

from conftest import Finished, digests, run
from corpus import write_corpus, write_recipe

ROOT = Path(__file__).parents[2]
JOBS = ("ingest", "quality_model", "annotate", "filter", "dedup", "decontaminate", "assemble", "tokenize_corpus")
SPARK_SUBMIT = Path(sys.executable).with_name("spark-submit")


def test_the_stages_by_spark_submit_make_what_one_run_makes(finished: Finished, tmp_path: Path) -> None:
    write_corpus(tmp_path)
    recipe, work = write_recipe(tmp_path), tmp_path / "work"
    for job in JOBS:
        command = [
            SPARK_SUBMIT,
            "--master",
            "local[2,4]",
            f"jobs/{job}.py",
            recipe,
            "--work",
            work,
            "--input",
            tmp_path,
        ]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    assert digests(run(recipe, work)) == digests(finished.latest)
