"""A driver killed once in every stage: nothing committed is written again, nothing ends up different."""

from pathlib import Path

from conftest import Finished, digests
from corpus import write_corpus, write_recipe
from program import commits, digests_of, kill_when, start, wait_for_jvm

STAGES = ("ingest", "quality_model", "signals", "filter", "dedup", "decontaminate", "assemble", "tokenize")


def test_a_run_killed_in_each_stage_ends_as_an_undisturbed_one(finished: Finished, tmp_path: Path) -> None:
    """AT-03, from outside: the driver is killed once in every stage, each time after the stage began to write."""
    write_corpus(tmp_path)
    recipe, work = write_recipe(tmp_path), tmp_path / "work"
    killed = 0
    for stage in STAGES:
        before = commits(work)
        process = start(recipe, str(work), "--master", "local[1,4]")
        killed += kill_when(process, lambda stage=stage: any((work / stage / "parts").glob("*")))  # type: ignore[misc]
        wait_for_jvm(process)
        assert before.items() <= commits(work).items()
    before = commits(work)
    assert digests_of(start(recipe, str(work))) == digests(finished.latest)
    assert before.items() <= commits(work).items()
    assert killed == len(STAGES)
