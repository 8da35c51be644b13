"""Decontamination in a whole run: what is told is what is committed, and only what depends on it runs again."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import Finished, run
from corpus import BENCHMARK

from curation.decontamination.audit import audit
from curation.latest import Latest
from curation.lookup import open_folder
from curation.parts import read_table
from curation.report import collect, render
from jobs import cli

HERONS = {"task": "herons", "examples": 1, "protected": 1, "ngrams": 4, "found": 1}


@pytest.fixture
def copied(finished: Finished, tmp_path: Path) -> Path:
    """Return a copy of the corpus and its finished run, to go on from."""
    for name in ("books", "news", "pile", "tree", "damaged", "work"):
        shutil.copytree(finished.root / name, tmp_path / name)
    for name in ("benchmark.jsonl", "removal.txt", "recipe.toml"):
        shutil.copy(finished.root / name, tmp_path / name)
    return tmp_path


def commits(work: Path) -> set[str]:
    return {str(path.relative_to(work)) for path in work.glob("*/commits/*.json")}


def rows(work: Path, latest: Latest, table: str) -> list[dict[str, object]]:
    parts = latest.manifests["decontaminate"].parts(table)
    return [row for part in parts for row in read_table(str(work), part).to_pylist()]


def test_what_the_manifest_tells_is_what_is_committed(finished: Finished) -> None:
    notes = finished.latest.manifests["decontaminate"].notes["contamination"]
    verdicts, cuts = (rows(finished.work, finished.latest, table) for table in ("verdicts", "cuts"))
    assert notes["tasks"] == [HERONS]
    [cell] = notes["matrix"]
    dropped = [row for row in verdicts if row["fate"] == "drop"]
    split = [row for row in verdicts if row["fate"] == "split"]
    assert (cell["source"], cell["split"], cell["dropped"]) == ("news", len(split), len(dropped))
    assert cell["documents"] == len(split) + len(dropped) == 4
    assert cell["pieces"] == sum(int(str(row["value"])) for row in split)
    gone = sum(int(str(row["end"])) - int(str(row["start"])) for row in cuts)
    assert cell["characters"] == gone + sum(int(str(row["text_bytes"])) for row in dropped)  # the corpus is ASCII
    news = notes["counters"]["news"]
    assert (news["split"], news["removed"], news["too_many_pieces"], news["trimmed"]) == (2, 2, 1, 0)


def test_the_command_says_where_an_example_was_found(finished: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["contamination", str(finished.work), "--task", "herons", "--example", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["reason"] for row in found} == {"contaminated", "too_many_pieces", "too_short_after_cuts"}
    assert all(row["locator"].startswith("news:news/a.jsonl.gz:") for row in found)
    assert cli.main(["contamination", str(finished.work), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"][0]["found"] == 1
    assert cli.main(["contamination", str(finished.work)]) == 0
    assert "herons" in capsys.readouterr().out


def test_an_evaluation_can_be_told_which_examples_are_unclean(
    finished: Finished, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["contamination", str(finished.work), "--examples"]
    assert cli.main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"herons": {"examples": 1, "found": [0], "unprotected": []}}
    assert cli.main(words) == 0
    assert capsys.readouterr().out.splitlines() == ["herons: 1 examples", "  found: 0", "  unprotected: none"]


@pytest.mark.parametrize("words", [["--example", "0"], ["--task", "x"], ["--task", "herons", "--example", "9"]])
def test_an_example_that_is_not_there_is_an_error_of_usage(finished: Finished, words: list[str]) -> None:
    assert cli.main(["contamination", str(finished.work), *words]) == 2


def test_another_way_of_looking_finds_nothing_left(finished: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", str(finished.work), "--contamination", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["contamination"]
    assert (found["ok"], found["left"], found["set_aside"]) == (True, [], {})
    assert found["pieces"] > 100
    assert 0 < audit(open_folder(str(finished.work)), 0.3).pieces < found["pieces"] / 2


def test_a_recipe_that_only_flags_keeps_what_it_finds_and_says_so(copied: Path) -> None:
    before = commits(copied / "work")
    latest = run(copied / "recipe.toml", copied / "work", "--set", "decontamination.removal=flag")
    new = {path.split("/")[0] for path in commits(copied / "work") - before}
    assert new == {"decontaminate", "assemble", "tokenize"}
    flagged = [row for row in rows(copied / "work", latest, "verdicts") if row["detail"] == "herons"]
    assert {row["fate"] for row in flagged} == {"keep"}
    assert len(flagged) == 4
    assert rows(copied / "work", latest, "cuts") == []
    found = audit(open_folder(str(copied / "work")))
    assert (found.ok, found.flagged) == (True, True)
    assert {left.doc_id for left in found.left} == {row["doc_id"] for row in flagged}


def test_a_plan_says_what_would_go_and_writes_nothing(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", str(copied / "recipe.toml"), "--work", str(copied / "work"), "--json", "--count-cuts"]
    before = {path for path in (copied / "work").rglob("*") if path.name != "seen.json"}
    would = {}
    for removal in ("split", "document"):
        assert cli.main([*words, "--set", f"decontamination.removal={removal}"]) == 0
        would[removal] = next(s for s in json.loads(capsys.readouterr().out) if s["stage"] == "decontaminate")["would"]
    assert would["split"] is None  # it is committed
    assert (would["document"]["removed"], would["document"]["split"]) == (4, 0)
    assert {path for path in (copied / "work").rglob("*") if path.name != "seen.json"} == before
    latest = run(copied / "recipe.toml", copied / "work", "--set", "decontamination.removal=document")
    counted = latest.manifests["decontaminate"].notes["contamination"]["counters"]
    assert counted["news"]["removed"] == 4
    assert sum(source["documents"] for source in counted.values()) == would["document"]["documents"]


def test_what_is_set_aside_is_listed_in_its_words_and_told_apart_by_the_audit(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--set", "decontamination.spare_from_documents=2"]
    latest = run(copied / "recipe.toml", copied / "work", *more)
    notes = latest.manifests["decontaminate"].notes["contamination"]
    assert {(row["task"], row["row"], row["documents"]) for row in notes["set_aside"]} == {("herons", 0, 4)}
    assert all("words" not in row for row in notes["set_aside"])  # a manifest holds no text
    assert cli.main(["contamination", str(copied / "work"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    phrases = [row["words"] for row in told["set_aside"]]
    assert all(len(phrase.split()) == 13 and phrase in BENCHMARK for phrase in phrases)
    assert told["exempted"] == notes["exempted"]
    assert cli.main(["contamination", str(copied / "work")]) == 0
    assert phrases[0] in capsys.readouterr().out
    assert phrases[0] in render(collect(str(copied / "work")))
    found = audit(open_folder(str(copied / "work")))
    assert found.ok
    assert found.set_aside == {}  # the other windows of the sentence still cut it
    assert [cell["set_aside_hits"] > 0 for cell in notes["matrix"]] == [True]


def test_a_benchmark_more_reruns_the_matches_and_what_depends_on_them(copied: Path) -> None:
    short = {"question": "Too short to be protected?"}
    (copied / "more.jsonl").write_text(json.dumps(short) + "\n" + json.dumps({"question": BENCHMARK}) + "\n")
    recipe = (copied / "recipe.toml").read_text()
    recipe = recipe.replace(
        'fields = ["text"] }]', 'fields = ["text"] }, { path = "more.jsonl", fields = ["question"] }]'
    )
    (copied / "recipe.toml").write_text(recipe)
    before = commits(copied / "work")
    latest = run(copied / "recipe.toml", copied / "work")
    new = {path.split("/")[0] for path in commits(copied / "work") - before}
    assert new == {"matches", "decontaminate"}  # nothing more is cut, so that what assemble wrote stands
    report = collect(str(copied / "work"))
    assert report.contamination is not None
    leading = report.contamination.tasks[0]
    assert (leading.task, leading.unprotected, leading.found) == ("more", 1, 1)
    page = render(report)
    assert page.index("1 of 2 examples of more (50.0 %)") < page.index("Funnel")
    assert latest.manifests["decontaminate"].notes["contamination"]["tasks"][0] == HERONS
