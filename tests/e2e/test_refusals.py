"""Runs that must stop: damaged commits, too much quarantined, too much removed. What was committed stays as it was."""

import argparse
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import Finished, run
from corpus import prose

from curation import storage
from curation.errors import DataBudgetError, IntegrityError
from curation.explain import explain
from jobs import cli, job, pipeline


def copied(finished: Finished, tmp_path: Path) -> Path:
    work = tmp_path / "work"
    shutil.copytree(finished.work, work)
    return work


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_the_next_stage_refuses_a_part_with_a_flipped_byte(finished: Finished, tmp_path: Path) -> None:
    """AT-06."""
    work = copied(finished, tmp_path)
    largest = max(finished.latest.manifests["ingest"].parts("documents"), key=lambda part: part.bytes)
    part = work / largest.file
    flip(part, part.stat().st_size // 2)  # in the text, which is most of the file and which assemble reads
    shutil.rmtree(work / "assemble")
    with pytest.raises(IntegrityError, match=part.name):
        run(finished.recipe, work, "--input", str(finished.root))
    assert not list(work.glob("assemble/manifests/*"))


def test_the_next_stage_refuses_a_part_that_is_gone(finished: Finished, tmp_path: Path) -> None:
    """AT-06."""
    work = copied(finished, tmp_path)
    part = work / finished.latest.manifests["ingest"].parts("documents")[0].file
    part.unlink()
    shutil.rmtree(work / "assemble")
    with pytest.raises(IntegrityError, match=part.name):
        run(finished.recipe, work, "--input", str(finished.root))


def test_verify_exits_with_4_and_names_the_file(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """AT-06."""
    work = copied(finished, tmp_path)
    part = work / finished.latest.manifests["assemble"].parts("corpus")[0].file
    flip(part, 100)
    assert cli.main(["verify", str(work), "--json"]) == 4
    told = json.loads(capsys.readouterr().out)
    assert not told["ok"]
    [stage] = [stage for stage in told["stages"] if not stage["ok"]]
    assert stage["stage"] == "assemble"
    assert part.name in " ".join(stage["problems"])


def test_an_input_that_changed_under_its_name_is_refused(finished: Finished, tmp_path: Path) -> None:
    root = tmp_path / "corpus"
    shutil.copytree(finished.root, root)
    path = root / "tree/03.txt"
    path.write_text(prose(99))
    with pytest.raises(IntegrityError, match=r"tree/03\.txt changed"):
        run(root / "recipe.toml", root / "work")


def few_broken(root: Path, broken: int) -> Path:
    rows = [json.dumps({"text": prose(n, 2)}) for n in range(1_200 - broken)] + ['{"text": "cut'] * broken
    (root / "a.jsonl").write_text("\n".join(rows) + "\n")
    recipe = root / "r.toml"
    recipe.write_text('name = "b"\n[[source]]\nname = "a"\nreader = "jsonl"\ninputs = ["a.jsonl"]\n[dedup]\n')
    return recipe


def test_too_much_quarantined_stops_the_run_with_3(tmp_path: Path) -> None:
    """AT-13: the budget is 1 % from 1,000 units on."""
    with pytest.raises(DataBudgetError, match=r"a: 13 of 1,200 units quarantined = 1\.08%") as caught:
        run(few_broken(tmp_path, 13), tmp_path / "work")
    assert caught.value.exit_code == 3
    assert not list((tmp_path / "work").glob("*/manifests/*"))


def test_a_guard_stops_a_judge_before_it_commits(tmp_path: Path) -> None:
    recipe = few_broken(tmp_path, 0)
    rows = [json.dumps({"text": prose(n % 600, 2)}) for n in range(1_200)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows) + "\n")
    with pytest.raises(DataBudgetError, match=r"a: 600 of 1,200 documents = 50\.0%"):
        run(recipe, tmp_path / "work", "--set", "max_removed.dedup=0.4")
    assert list((tmp_path / "work").glob("filter/manifests/*"))
    assert not list((tmp_path / "work").glob("dedup/manifests/*"))


def test_a_guard_and_a_budget_hold_for_what_is_committed_too(tmp_path: Path) -> None:
    recipe = few_broken(tmp_path, 13)
    rows = (tmp_path / "a.jsonl").read_text().splitlines()
    (tmp_path / "a.jsonl").write_text("\n".join([*rows[:600], *rows[:600], *rows[-13:]]) + "\n")
    loose = ("--set", "source.a.max_quarantine_fraction=0.5")
    run(recipe, tmp_path / "work", *loose)
    with pytest.raises(DataBudgetError, match=r"max_removed\.dedup"):
        run(recipe, tmp_path / "work", *loose, "--set", "max_removed.dedup=0.4")
    with pytest.raises(DataBudgetError, match="13 of 1,213 units quarantined"):
        run(recipe, tmp_path / "work")


def opened(recipe: Path, work: Path) -> job.Job:
    parser = argparse.ArgumentParser()
    job.add_run_arguments(parser)
    return job.open_job(parser.parse_args([str(recipe), "--work", str(work)]))


def test_a_file_that_changes_between_planning_and_reading_is_refused(tmp_path: Path) -> None:
    recipe = few_broken(tmp_path, 0)
    planned = opened(recipe, tmp_path / "work")
    path = tmp_path / "a.jsonl"
    path.write_bytes(path.read_bytes().replace(b"the", b"teh"))  # the same size
    with pytest.raises(IntegrityError, match=r"a\.jsonl changed while it was read"):
        pipeline.run(planned)
    assert not list((tmp_path / "work").glob("ingest/commits/*"))


def test_planning_writes_nothing_and_the_work_folder_is_no_input(tmp_path: Path) -> None:
    recipe = few_broken(tmp_path, 0)
    recipe.write_text(recipe.read_text().replace('"a.jsonl"', '"**/*.json*"'))
    work = tmp_path / "work"
    assert [file.uri for file in opened(recipe, work).inputs.files] == ["a.jsonl"]
    assert not work.exists()
    work.mkdir()
    (work / "latest.json").write_text("{}")
    assert [file.uri for file in opened(recipe, work).inputs.files] == ["a.jsonl"]


def test_a_second_run_warns_of_the_first(finished: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    lock = storage.join(str(finished.work), "locks", "other.json")
    storage.put_if_absent(lock, json.dumps({"host": "node7", "pid": 4711, "started": "2026-01-01T00:00:00Z"}).encode())
    run(finished.recipe, finished.work)
    storage.delete(lock)
    assert "process 4711 on node7" in capsys.readouterr().err


def test_every_fate_and_reason_can_be_explained(finished: Finished) -> None:
    """AT-20: a complete timeline, thresholds beside values, the kept document of a duplicate resolvable."""
    told: set[tuple[str, str]] = set()
    for stage in ("filter", "dedup", "decontaminate"):
        for part in finished.latest.manifests[stage].parts("verdicts"):
            for verdict in pq.read_table(finished.work / part.file).to_pylist():
                if (stage, verdict["reason"]) in told:
                    continue
                told.add((stage, verdict["reason"]))
                [story] = explain(str(finished.work), str(verdict["doc_id"]))
                [row] = [row for row in map(asdict, story.steps) if row["stage"] == stage]
                assert (row["fate"], row["reason"] or "") == (verdict["fate"], verdict["reason"])
                assert (row["value"], row["threshold"]) == (verdict["value"], verdict["threshold"])
                if verdict["other"] is not None:
                    assert explain(str(finished.work), str(verdict["other"]))
    assert len({reason for _, reason in told}) >= 14
