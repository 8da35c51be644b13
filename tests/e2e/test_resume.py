"""Runs that are killed, and inputs that grow: nothing committed is written again, nothing ends up different."""

from pathlib import Path

import pytest
from conftest import Finished, digests, run
from corpus import add_file, write_corpus, write_recipe
from program import commits, digests_of, kill_when, start, wait_for_jvm

from jobs import job, pipeline


def test_a_killed_run_goes_on_and_ends_as_an_undisturbed_one(finished: Finished, tmp_path: Path) -> None:
    """AT-03, once; tests/faults kills in every stage and at every point of it."""
    write_corpus(tmp_path)
    recipe, work = write_recipe(tmp_path), tmp_path / "work"
    process = start(recipe, str(work), "--master", "local[1,4]")
    assert kill_when(process, lambda: any((work / "assemble" / "parts").glob("*")))
    wait_for_jvm(process)
    before = commits(work)
    assert digests_of(start(recipe, str(work))) == digests(finished.latest)
    assert before.items() <= commits(work).items()


def test_a_new_file_adds_shards_and_redoes_none(finished: Finished, tmp_path: Path) -> None:
    """One file more, named between the others; then the same three files registered as the same two generations."""
    write_corpus(tmp_path)
    recipe, work = write_recipe(tmp_path), tmp_path / "work"
    first = run(recipe, work)
    assert digests(first) == digests(finished.latest)
    before = commits(work)
    add_file(tmp_path)
    grown = run(recipe, work)
    assert before.items() <= commits(work).items()
    new = {path for path in commits(work) if path not in before}
    for stage in ("ingest", "signals", "signatures", "matches", "assemble", "tokenize"):
        assert len([path for path in new if path.startswith(f"{stage}/commits/")]) == 1, stage
    fates = {row["doc_id"]: row["fate"] for row in _rows(work, first, "dedup")}
    assert fates.items() <= {row["doc_id"]: row["fate"] for row in _rows(work, grown, "dedup")}.items()
    again = tmp_path / "again"
    (again / "registry").mkdir(parents=True)
    for path in (work / "registry").iterdir():
        (again / "registry" / path.name).write_bytes(path.read_bytes())
    assert digests(run(recipe, again)) == digests(grown)


def _rows(work: Path, latest: object, stage: str) -> list[dict[str, object]]:
    import pyarrow.parquet as pq

    parts = latest.manifests[stage].parts("verdicts")  # type: ignore[attr-defined]
    return [row for part in parts for row in pq.read_table(work / part.file, columns=["doc_id", "fate"]).to_pylist()]


@pytest.mark.parametrize(
    ("change", "stale"),
    [
        ("dedup.threshold=0.9", {"dedup", "decontaminate", "assemble", "tokenize"}),
        (
            "profile.news.length.min_words=30",
            {"quality_model", "quality", "filter", "dedup", "decontaminate", "assemble", "tokenize"},
        ),
        ("decontamination.max_pieces=20", {"decontaminate", "assemble", "tokenize"}),
        ("dedup.bands=10", {"signatures", "dedup", "decontaminate", "assemble", "tokenize"}),
        ("tokens.validation_fraction=0.2", {"tokenize"}),
    ],
)
def test_a_changed_value_reruns_what_depends_on_it(finished: Finished, change: str, stale: set[str]) -> None:
    """AT-08: the plan names exactly the stages that depend on the value, and why."""
    import argparse

    parser = argparse.ArgumentParser()
    job.add_run_arguments(parser)
    changed = job.open_job(parser.parse_args([str(finished.recipe), "--work", str(finished.work), "--set", change]))
    steps = pipeline.plan(changed)
    assert {step.stage for step in steps if not step.committed} == stale
    first = next(step for step in steps if not step.committed)
    assert change.split("=")[0].rsplit(".", 1)[-1] in first.reason


def test_a_changed_weight_changes_the_blend_and_runs_no_stage(finished: Finished) -> None:
    blend = finished.work / str(finished.latest.manifests["tokenize"].notes["shards"]) / "blend.json"
    before, standing = blend.read_bytes(), commits(finished.work)
    run(finished.recipe, finished.work, "--set", "source.books.weight=0.1")
    assert blend.read_bytes() != before
    assert commits(finished.work) == standing
    run(finished.recipe, finished.work)
    assert blend.read_bytes() == before


def test_a_changed_threshold_runs_as_planned(finished: Finished) -> None:
    before = commits(finished.work)
    run(finished.recipe, finished.work, "--set", "dedup.threshold=0.9")
    new = {path.split("/")[0] for path in commits(finished.work) if path not in before and "/manifests/" in path}
    run(finished.recipe, finished.work)
    assert new == {"dedup", "decontaminate", "assemble", "tokenize"}
