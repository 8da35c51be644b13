"""Progress: counted from commits, told by the line, and no more than what is known."""

import json
import sys
from pathlib import Path

import pytest

from curation import commits
from curation.commits import Commit
from curation.parts import Part
from curation.stages import Item
from jobs import progress
from jobs.log import Log
from jobs.progress import Progress, Snapshot, watched

ITEMS = [Item("a", "1" * 32, 1000), Item("b", "2" * 32, 3000)]


def commit(item: Item, rows: int) -> Commit:
    part = Part("documents", f"ingest/parts/{item.name}", rows, 10, "0" * 64, "0" * 32)
    counts = {"in": {"web": [rows + 2, item.bytes]}, "quarantined": {"web": 2}}
    return Commit("ingest", item.name, item.key, (part,), counts)


def test_what_stood_before_counts_as_done_and_not_as_speed(tmp_path: Path) -> None:
    commits.put_commit(str(tmp_path), commit(ITEMS[0], 8))
    watch = watched(str(tmp_path), "ingest", ITEMS)
    watch.look()
    assert watch.snapshot(2.0, (0, 0)).line() == "ingest: 1.00 kB of 4.00 kB (25.0 %), 2 s so far"
    commits.put_commit(str(tmp_path), commit(ITEMS[1], 38))
    watch.look()
    now = watch.snapshot(2.0, (0, 0))
    assert (now.items, now.bytes, now.new_bytes, now.documents) == (2, 4000, 3000, 38)
    assert now.details() == "19 documents/s, kept 95.0 %, 2 quarantined"
    assert now.seconds_left is None


def test_the_time_left_follows_from_this_runs_bytes() -> None:
    assert Snapshot("ingest", 10, 2, 4, 4000, 8000, new_bytes=2000).seconds_left == 20
    assert Snapshot("ingest", 10, 0, 4, 0, 8000).seconds_left is None


def test_a_judge_tells_the_tasks_of_its_step(tmp_path: Path) -> None:
    watch = watched(str(tmp_path), "dedup", [])
    watch.look()
    assert watch.snapshot(61.0, (3, 6)).line() == "dedup: 3 of 6 tasks, 1 min 1 s so far"


def test_progress_is_told_while_the_block_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_TOLD_SECONDS", 0.02)
    with Progress(Log(is_json=True), watched(str(tmp_path), "ingest", ITEMS), lambda: (0, 0)) as told:
        commits.put_commit(str(tmp_path), commit(ITEMS[0], 8))
        told._ended.wait(0.3)
    assert told.last.documents == 8
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert lines[-1]["event"] == "progress"
    assert (lines[-1]["bytes"], lines[-1]["of_bytes"], lines[-1]["quarantined"]) == (1000, 4000, 2)
    assert lines[-1]["message"].startswith("ingest: 1.00 kB of 4.00 kB (25.0 %), ")


def test_on_a_terminal_one_line_is_drawn_anew_and_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_REDRAWN_SECONDS", 0.02)
    with Progress(Log(), watched(str(tmp_path), "ingest", ITEMS), lambda: (0, 0)) as told:
        commits.put_commit(str(tmp_path), commit(ITEMS[0], 8))
        told._ended.wait(0.3)
    err = capsys.readouterr().err
    assert "ingest  25 %|" in err
    assert "1.00kB of 4.00kB" in err
    assert "kept 80.0 %, 2 quarantined" in err
    assert "\n" not in err
    assert "\x1b[3" not in err  # no colours, whatever NO_COLOR says


@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_a_file_or_a_dumb_terminal_gets_plain_lines(
    term: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: term == "dumb")
    monkeypatch.setenv("TERM", term)
    assert Log().bar("ingest", 4, 0) is None
    Log().say("ingest: done")
    assert capsys.readouterr().err == "ingest: done\n"
