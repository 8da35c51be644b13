"""How often text is read: once for all that is measured, and never for what is only told."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import Finished, digests
from program import ROOT

from curation.annotate import PARTS
from jobs import annotate, job


def test_all_measurements_are_one_spark_job(finished: Finished, tmp_path: Path) -> None:
    """AT-18."""
    work = tmp_path / "work"
    shutil.copytree(finished.work, work, ignore=lambda folder, names: PARTS if Path(folder) == finished.work else ())
    parser = argparse.ArgumentParser()
    job.add_run_arguments(parser)
    words = [str(finished.recipe), "--work", str(work), "--input", str(finished.root)]
    opened = job.open_job(parser.parse_args(words))
    tracker = opened.spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup())
    made = annotate.run(opened)
    assert len(set(tracker.getJobIdsForGroup()) - before) == 1
    assert {part: manifest.digest for part, manifest in made.items()}.items() <= digests(finished.latest).items()


def test_reading_commands_work_where_spark_is_missing(finished: Finished) -> None:
    """AT-18: a report adds no job, since it cannot."""
    program = "import sys; sys.modules['pyspark'] = None; from jobs.cli import main; sys.exit(main(sys.argv[1:]))"
    for command in ("report", "ledger", "verify"):
        subprocess.run([sys.executable, "-c", program, command, str(finished.work)], cwd=ROOT, check=True)
