"""Our deduplication as a user runs it: jobs on Spark over a work folder, from signatures to verdicts.

    python dedup_ours.py prepare FOLDER | job FOLDER | session

`prepare` runs what comes before (ingest, signals, filter) over FOLDER/documents.jsonl; `job` runs the annotate job,
which then computes signatures and nothing else, and the dedup job; `session` runs a session with one empty shuffle
through mapInArrow, which is what any Spark program pays.
"""

import argparse
import resource
import sys
from pathlib import Path
from typing import Any

from measured import finish

from curation.identity import unpack
from curation.judging import Part
from curation.parts import read_table
from jobs import annotate, dedup, filter, ingest
from jobs.job import Job, add_run_arguments, open_job
from jobs.spark import collect, open_session

_RECIPE = """
name = "bench"
seed = 1

[[source]]
name = "documents"
reader = "jsonl"
inputs = ["documents.jsonl"]
weight = 1.0
"""
_DEDUP = """
[dedup]
bands = {bands}
rows = {rows}
threshold = {threshold}
removal = "{removal}"
"""


def write_recipes(folder: Path, bands: int, rows: int, threshold: float, removal: str) -> None:
    """Write the recipe without deduplication, and the one with it."""
    (folder / "before.toml").write_text(_RECIPE)
    (folder / "dedup.toml").write_text(
        _RECIPE + _DEDUP.format(bands=bands, rows=rows, threshold=threshold, removal=removal)
    )


def removed(folder: Path) -> dict[int, int]:
    """Return row -> row of the kept document it names, for every document that the last job dropped."""
    job = _job(folder, "dedup.toml")
    return {
        unpack(doc_id).record: unpack(other).record
        for part in job.manifest("dedup").parts("verdicts")
        for doc_id, fate, other in _columns(job, part, ["doc_id", "fate", "other"])
        if fate == "drop"
    }


def band_keys(folder: Path) -> dict[int, bytes]:
    """Return row -> the band keys that annotate committed for it."""
    job = _job(folder, "dedup.toml")
    parts = job.manifest("signatures").parts()
    return {unpack(doc_id).record: keys for part in parts for doc_id, keys in _columns(job, part, ["doc_id", "bands"])}


def verified_pairs(folder: Path) -> int:
    """Return how many pairs the last job found to be duplicates."""
    job = _job(folder, "dedup.toml")
    return sum(
        bool(yes) for part in job.manifest("dedup").parts("pairs") for (yes,) in _columns(job, part, ["accepted"])
    )


def _columns(job: Job, part: Part, names: list[str]) -> Any:
    table = read_table(job.root, part, names)
    return zip(*(table[name].to_pylist() for name in names), strict=True)


def _job(folder: Path, recipe: str) -> Job:
    parser = argparse.ArgumentParser()
    add_run_arguments(parser)
    return open_job(parser.parse_args([str(folder / recipe), "--work", str(folder / "work"), "--input", str(folder)]))


def _prepare(folder: Path) -> None:
    job = _job(folder, "before.toml")
    job.register()
    for stage in (ingest, annotate, filter):
        stage.run(job)


def _measured_job(folder: Path) -> dict[str, Any]:
    job = _job(folder, "dedup.toml")
    annotate.run(job)
    numbers = dict(dedup.run(job).notes["numbers"])
    return {**numbers, "driver_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _session() -> None:
    spark = open_session()
    collect(spark.range(0, 1, 1, 1).repartition(4, "id").mapInArrow(_same, "id long"))


def _same(batches: Any) -> Any:
    yield from batches


def main(argv: list[str]) -> None:
    """Run one of the three programs."""
    if argv[0] == "prepare":
        finish(_prepare(Path(argv[1])))
    elif argv[0] == "job":
        finish(_measured_job(Path(argv[1])))
    else:
        finish(_session())


if __name__ == "__main__":
    main(sys.argv[1:])
