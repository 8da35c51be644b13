"""A job: what the command line describes is found, planned without Spark, and refused where it cannot be."""

import argparse
import errno
import json
import os
from pathlib import Path

import pytest

from curation import storage
from curation.errors import InfrastructureError, IntegrityError, RecipeError
from jobs import lock, pipeline, spark
from jobs.job import Job, add_run_arguments, open_job

RECIPE = """
name = "test"
[[source]]
name = "web"
reader = "jsonl"
inputs = ["*.jsonl"]
"""


def opened(folder: Path, work: str, *more: str) -> Job:
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "a.jsonl").touch()
    parser = argparse.ArgumentParser()
    add_run_arguments(parser)
    return open_job(parser.parse_args([str(folder / "recipe.toml"), "--work", work, *more]))


def test_a_plan_says_what_would_run_and_registers_nothing(root, tmp_path):
    plan = pipeline.plan(opened(tmp_path, root))
    assert [(step.stage, step.committed, step.reason) for step in plan] == [
        (stage, False, "it never ran here") for stage in ("ingest", "signals", "filter", "assemble", "tokenize")
    ]
    assert storage.list_names(storage.join(root, "registry")) == []


def test_registering_twice_registers_once(root, tmp_path):
    job = opened(tmp_path, root)
    job.register()
    job.register()
    assert storage.list_names(storage.join(root, "registry")) == ["00000.parquet"]


@pytest.mark.parametrize("left", [b"{", b'{"stages": {"ingest": {"manifest": "ingest/manifests/gone.json"}}}'])
def test_a_last_run_that_cannot_be_read_does_not_stop_the_next(root, tmp_path, left):
    body = left if left == b"{" else json.dumps({"recipe_digest": "", "inputs": "", **json.loads(left)}).encode()
    storage.replace(storage.join(root, "latest.json"), body)
    assert {step.reason for step in pipeline.plan(opened(tmp_path, root))} == {"it never ran here"}


def test_a_file_that_the_recipe_names_and_that_is_not_there_is_named(root, tmp_path):
    url = storage.join(root, "gone.txt")
    with pytest.raises(RecipeError, match=f"{url}: the recipe names this file, and it is not there"):
        opened(tmp_path, str(tmp_path / "work"), "--set", f"removal_list={url}")


def test_a_stage_that_is_not_committed_says_how_to_run_it(root, tmp_path):
    with pytest.raises(RecipeError, match=r"ingest is not committed in .*; run `curate run .*recipe.toml --work"):
        opened(tmp_path, root).shards()


def test_an_input_that_changed_between_runs_stops_the_second(tmp_path):
    work = str(tmp_path / "work")
    opened(tmp_path, work).register()
    (tmp_path / "a.jsonl").write_text('{"text": "other"}')
    with pytest.raises(IntegrityError, match=r"a\.jsonl changed"):
        opened(tmp_path, work)


def test_a_folder_that_cannot_be_written_is_named() -> None:
    told = "/proc/nothing: nothing can be written there; give --work"
    with pytest.raises(InfrastructureError, match=told), lock.run_lock("/proc/nothing", print):
        pass


@pytest.mark.parametrize("master", ["foo", "localhost", "http://x:7077"])
def test_a_master_that_spark_does_not_know_is_refused_before_java_starts(master: str) -> None:
    with pytest.raises(RecipeError, match=rf"--master {master}: Spark has no such master; give local"):
        spark.open_session(master)


def test_a_full_disk_is_told_as_one_and_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(InfrastructureError, match=r"the disk is full.*make room"):
        storage.put_if_absent(str(tmp_path / "a.json"), b"{}")


def test_an_input_root_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"--input \S+/nowhere: there is no such folder"):
        opened(tmp_path, str(tmp_path / "work"), "--input", str(tmp_path / "nowhere"))
