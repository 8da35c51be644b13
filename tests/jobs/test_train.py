"""`curate train` hands its words on to the trainer, whose process it neither imports nor outlives."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from curation.errors import InfrastructureError, RecipeError
from curation.latest import read_latest
from jobs import cli, demo, train
from tests.workfolder import WorkFolder, make_work_folder


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> WorkFolder:
    return make_work_folder(tmp_path_factory.mktemp("work"))


def test_a_work_folder_stands_for_the_shards_of_its_last_run(work: WorkFolder) -> None:
    words = train.of_work_folder(["recipe.toml", "--shards", work.root, "--set", "seed=3"])
    shards = words[2]
    assert Path(shards, "blend.json").exists()
    key = Path(shards).name
    assert words == ["recipe.toml", "--shards", shards, "--set", "seed=3", "--folder", f"{work.root}/train/{key}"]


def test_an_evaluation_reads_shards_and_has_no_run_folder(work: WorkFolder) -> None:
    words = train.of_work_folder(["evaluate", "checkpoints", "--shards", work.root])
    assert Path(words[3], "blend.json").exists()
    assert len(words) == 4


def test_a_run_folder_that_was_given_is_kept(work: WorkFolder) -> None:
    assert train.of_work_folder(["r", "--shards", work.root, "--folder", "/there"])[3:] == ["--folder", "/there"]


@pytest.mark.parametrize("words", [["plan", "r"], ["r", "--shards"], ["r", "--shards", "/shards/themselves"], []])
def test_other_words_are_handed_on_as_they_are(words: list[str]) -> None:
    assert train.of_work_folder(words) == words


def test_shards_in_a_store_are_refused() -> None:
    with pytest.raises(RecipeError, match="copy the folder to a disk"):
        train.of_work_folder(["r", "--shards", "s3://bucket/work"])


def test_training_without_torch_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "find_spec", lambda name: None)
    with pytest.raises(InfrastructureError, match=r"pip install -e '\.\[train\]'"):
        train.start(["r"])


CHILD = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print("ready", flush=True)
time.sleep(60)
"""

PARENT = f"""
import sys
from jobs import train
train.find_spec = lambda name: True
class Popen(train.subprocess.Popen):
    def __init__(self, command):
        super().__init__([sys.executable, "-c", {CHILD!r}])
train.subprocess.Popen = Popen
sys.exit(train.start(["r"]))
"""


def test_a_signal_reaches_the_trainer_and_its_exit_code_comes_back() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        parent.send_signal(signal.SIGTERM)
        assert parent.wait() == 7


def test_the_demo_trains_on_its_shards_and_then_writes_the_report_again(
    work: WorkFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = demo.digests_of(read_latest(work.root), "f" * 64)
    monkeypatch.setattr(demo, "run_demo", lambda *_: (None, digests))
    monkeypatch.setattr(demo.update, "__defaults__", (tmp_path / "digests.json",))
    started: list[list[str]] = []

    def start(words: list[str]) -> int:
        started.append(words)
        folder = Path(train.of_work_folder(words)[-1])
        folder.mkdir(parents=True)
        run = {"kind": "run", "name": "demo", "parameters": 1, "layout": {"tensor": 2, "pipeline": 2, "data": 2}}
        steps = [{"kind": "step", "step": n, "tokens": n, "loss": 9.0 - n} for n in (1, 2)]
        (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in (run, *steps)))
        return 0

    monkeypatch.setattr(train, "start", start)
    assert cli.main(["demo", "--work", work.root, "--train", "--update-digests"]) == 0
    assert started == [[str(train.RECIPE), "--shards", work.root]]
    assert "<h2>Training</h2>" in Path(work.root, "report.html").read_text("utf-8")
