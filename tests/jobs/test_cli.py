"""The command line: results on stdout, the rest on stderr, and exit codes that say how it ended."""

import json
import signal
import subprocess
import sys
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from curation.errors import DataBudgetError, InfrastructureError, IntegrityError, RecipeError
from curation.estimate import Corpus
from curation.explain import explain, marks_of
from curation.latest import read_latest
from curation.ledger import Count
from curation.report import collect
from jobs import cli, demo, doctor, pipeline, readback, shown
from jobs.cli import main
from jobs.commands import checking, running
from jobs.console import Console
from jobs.pipeline import StagePlan
from tests.workfolder import WEB, WorkFolder, make_work_folder

ROOT = Path(__file__).parents[2]
COMMANDS = (
    *(
        "init",
        "plan",
        "run",
        "takedown",
        "demo",
        "verify",
        "ledger",
        "explain",
        "duplicates",
        "sample",
        "trace",
        "blend",
    ),
    *("report", "doctor", "clean"),
)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> WorkFolder:
    return make_work_folder(tmp_path_factory.mktemp("work"))


def curate(*words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "jobs.cli", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **more)


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main([*words, "--json"]) in (0, 4)
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"usage: curate {command}" in capsys.readouterr().out


def test_the_command_line_has_these_commands_and_options_and_no_others() -> None:
    [commands] = [action for action in cli.parser()._actions if action.dest not in ("help", "version")]
    found = {name: sorted(o for a in one._actions for o in a.option_strings) for name, one in commands.choices.items()}  # type: ignore[union-attr]
    common = ["--help", "--json", "-h"]
    run = sorted([*common, "--input", "--log", "--master", "--set", "--work"])
    order = ["--samples", "--seed", "--sequence-tokens"]
    assert found == {
        "init": sorted([*common, "--output"]),
        "plan": sorted([*run, "--count-cuts"]),
        "run": run,
        "demo": sorted([*common, "--log", "--master", "--train", "--update-digests", "--work"]),
        "verify": sorted([*common, "--contamination", "--sample"]),
        "contamination": sorted([*common, "--example", "--examples", "--task"]),
        "ledger": common,
        "explain": sorted([*common, "--text"]),
        "duplicates": common,
        "report": sorted([*common, "--output"]),
        "blend": sorted([*common, "--root"]),
        "takedown": sorted([*run, *order]),
        "sample": sorted([*common, "--signal", "--source", "--threshold", "-n"]),
        "trace": sorted([*common, *order, "--batch", "--blend"]),
        "doctor": sorted([*common, "--master", "--spark", "--work"]),
        "train": ["--help", "-h"],
        "clean": sorted([*common, "--dry-run", "--keep"]),
    }


@pytest.mark.parametrize("words", [[], ["fly"], ["explain"], ["verify", "a", "b"], ["plan", "r.toml", "--fly"]])
def test_wrong_usage_ends_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "usage: curate" in err


def test_verify_answers_on_stdout_and_progresses_on_stderr(
    work: WorkFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", work.root]) == 0
    out, err = capsys.readouterr()
    assert "Everything is as it was committed." in out
    assert "ingest: 3 files, 12 rows, as committed" in err
    assert answer(capsys, "verify", work.root)["ok"] is True


def test_verify_ends_with_4_and_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = make_work_folder(tmp_path)
    part = work.part("filter", "verdicts")
    Path(work.url(part.file)).unlink()
    assert main(["verify", work.root]) == 4
    assert f"filter: {part.file}: is missing" in capsys.readouterr().out
    found = answer(capsys, "verify", work.root)
    assert found["ok"] is False
    assert [stage["stage"] for stage in found["stages"] if not stage["ok"]] == ["filter"]


def test_ledger_prints_a_line_for_each_stage_and_source(work: WorkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    lines = answer(capsys, "ledger", work.root)
    fields = {"stage", "source", "in", "keep", "drop", "split", "quarantine", "out", "cut", "balanced"}
    assert all(set(line) >= fields for line in lines)
    [web] = [line for line in lines if (line["stage"], line["source"]) == ("assemble", "web")]
    assert web["cut"] == {"contaminated": 103}
    assert main(["ledger", work.root]) == 0
    assert "Every line balances." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("stage", "table", "change"),
    [
        ("ingest", "documents", lambda rows: rows[1:]),
        ("dedup", "verdicts", lambda rows: [rows[0], *rows]),
        ("decontaminate", "cuts", lambda rows: [{**rows[0], "end": rows[0]["end"] - 1}]),
    ],
    ids=["a row deleted", "a row doubled", "a cut moved by a byte"],
)
@pytest.mark.parametrize("command", ["ledger", "verify"])
def test_changed_rows_with_mended_papers_end_with_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, stage: str, table: str, change: Any
) -> None:
    work = make_work_folder(tmp_path)
    work.mend(stage, table, change)
    assert main([command, work.root]) == 4
    assert main([command, work.root, "--json"]) == 4


def test_a_ledger_that_does_not_balance_is_printed_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = make_work_folder(tmp_path)
    work.mend("dedup", "verdicts", lambda rows: rows[1:])
    lines = answer(capsys, "ledger", work.root)
    assert [(line["stage"], line["source"]) for line in lines if not line["balanced"]] == [
        ("dedup", "wiki"),
        ("decontaminate", "wiki"),
    ]
    assert main(["ledger", work.root]) == 4
    out, err = capsys.readouterr()
    assert "WRONG" in out
    assert err.startswith("error: the ledger does not balance: dedup wiki")


def test_explain_shows_numbers_beside_thresholds(work: WorkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", work.root, str(work.web[3])]) == 0
    out = capsys.readouterr().out
    assert "near_duplicate  similarity 91.30 % ≥ 80.00 %" in out
    assert f"of wiki:wiki/00.jsonl.gz:0 (doc_id {work.wiki[0]})" in out
    assert "language en 99.0 %; 52 words, about 70 tokens; quality 0.100" in out
    steps = answer(capsys, "explain", work.root, str(work.web[3]))
    assert [step["stage"] for step in steps] == ["ingest", "filter", "dedup"]


def test_explain_says_where_addresses_and_links_lie(work: WorkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    text = "Ärger? Write to ann@example.org or call +49 30 1234567."
    found = marks_of(text)
    data = text.encode()
    assert [(m["kind"], data[m["start"] : m["end"]].decode()) for m in found] == [
        ("email", "ann@example.org"),
        ("phone", "+49 30 1234567"),
    ]
    shown.show_story(Console(sys.stdout, {}), explain(work.root, str(work.web[0]))[0], found)
    assert "email bytes 17–32" in " ".join(capsys.readouterr().out.split())
    assert answer(capsys, "explain", work.root, str(work.web[0]))[0]["marks"] == []


def test_explain_prints_the_text_only_when_asked(work: WorkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", work.root, "https://example.org/walk"]) == 0
    assert WEB[4] not in capsys.readouterr().out
    assert main(["explain", work.root, "https://example.org/walk", "--text"]) == 0
    assert WEB[4] in capsys.readouterr().out
    assert answer(capsys, "explain", work.root, "https://example.org/walk", "--text")[0]["text"] == WEB[4]


def test_an_unknown_document_ends_with_2(work: WorkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", work.root, "12345678901"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: 12345678901: ")


def test_report_writes_one_file_and_says_where(
    work: WorkFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", work.root]) == 0
    assert capsys.readouterr().out == f"{work.root}/report.html\n"
    other = tmp_path / "r.html"
    assert answer(capsys, "report", work.root, "--output", str(other))["report"] == str(other)
    assert other.read_bytes() == Path(work.root, "report.html").read_bytes()


def test_a_folder_without_a_run_ends_with_2_for_every_reader(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["verify"], ["ledger"], ["report"], ["explain", "7"]):
        assert main([command[0], str(tmp_path), *command[1:]]) == 2
        assert "curate run RECIPE" in capsys.readouterr().err


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [
        StagePlan("ingest", "a" * 32, True, "committed"),
        StagePlan("signals", "b" * 32, False, "it was not finished", False, 3, 2, 9600),
        StagePlan("filter", "c" * 32, False, "sources.web.profile.length changed"),
    ]
    inputs = Namespace(files=[1, 2])
    monkeypatch.setattr(running, "open_job", lambda options: Namespace(root=options.work, inputs=inputs))
    monkeypatch.setattr(pipeline, "expected", lambda job: Corpus(100, 260_000, False))
    monkeypatch.setattr(pipeline, "plan", lambda job: steps)


@pytest.mark.usefixtures("planned")
def test_plan_says_what_would_run_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "recipe.toml", "--work", "w"]) == 0
    out = capsys.readouterr().out
    assert "sources.web.profile.length changed" in out
    assert "3 stages: 1 committed, 2 to run" in out
    assert "2 of 3 items committed; it was not finished" in out
    assert "2 input files: about 100 documents, 260 kB of text" in out
    assert "Needs about 9.60 kB in the work folder; " in out
    steps = answer(capsys, "plan", "recipe.toml", "--work", "w")
    assert steps[2] == {
        "stage": "filter",
        "key": "c" * 32,
        "committed": False,
        "reason": "sources.web.profile.length changed",
        "follows": False,
        "items": 0,
        "committed_items": 0,
        "stored_bytes": 0,
        "shuffled_bytes": 0,
    }


def test_clean_says_what_would_go_and_removes_it_when_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work, stale = make_work_folder(tmp_path), "signals/parts/stale-signals-0.parquet"
    Path(work.url(stale)).write_bytes(b"stale")
    assert [file["path"] for file in answer(capsys, "clean", work.root, "--dry-run")["files"]] == [stale]
    assert main(["clean", work.root]) == 0
    assert "attempts that were never committed" in capsys.readouterr().out
    assert main(["clean", work.root]) == 0
    assert capsys.readouterr().out == "Nothing to remove.\n"
    assert not Path(work.url(stale)).exists()


def test_run_prints_the_funnel_and_how_to_read_the_corpus(
    work: WorkFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "open_job", lambda options: Namespace(root=options.work))
    monkeypatch.setattr(pipeline, "run", lambda job: None)
    assert main(["run", "recipe.toml", "--work", work.root]) == 0
    out = capsys.readouterr().out
    assert "1,791 tokens in 2 pairs" in out
    assert "PairReader" in out
    assert "IndexedDataset" in out
    assert out.endswith(f"Report: {work.root}/report.html\n")
    assert answer(capsys, "run", "recipe.toml", "--work", work.root)["report"] == f"{work.root}/report.html"


def test_the_snippets_read_the_corpus(work: WorkFolder) -> None:
    documents, datasets, duckdb, tokens, megatron = readback.snippets(work.root, collect(work.root))
    for program, told in ((documents, "6 [{'source': 'wiki'"), (tokens, "3 uint16 [")):
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout.startswith(told)
    for program in (datasets, duckdb, megatron):
        compile(program, "snippet", "exec")


def test_an_empty_corpus_is_warned_of_and_has_nothing_to_read_back(work: WorkFolder) -> None:
    report = collect(work.root)
    nothing = replace(report.total[-1], out=Count(0, 0))
    [told] = [readback.snippets(work.root, replace(report, total=(nothing,)))]
    assert told == [
        "# Nothing was kept, so there is nothing to read back. What went where, and why:",
        f"curate ledger {work.root}",
    ]


@pytest.mark.parametrize("error", [RecipeError, DataBudgetError, IntegrityError, InfrastructureError])
def test_each_of_our_errors_has_its_exit_code_and_one_line(
    error: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checking, "verify", failing(error("what happened, and what to do")))
    assert main(["verify", "w"]) == error.exit_code
    assert capsys.readouterr().err == "error: what happened, and what to do\n"


def test_an_unexpected_error_tells_class_and_place_and_no_content(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checking, "verify", failing(ValueError("the text of a private letter")))
    assert main(["verify", "w"]) == 5
    out, err = capsys.readouterr()
    assert err.startswith("error: ValueError at test_cli.py:")
    assert "private letter" not in out + err
    assert "Traceback" not in err


def test_an_error_of_the_system_says_what_and_where(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checking, "verify", failing(OSError(28, "No space left on device", "/scratch/a.parquet")))
    assert main(["verify", "w"]) == 5
    assert "No space left on device: /scratch/a.parquet" in capsys.readouterr().err


def test_an_interrupt_ends_with_130_and_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checking, "verify", failing(KeyboardInterrupt()))
    assert main(["verify", "w"]) == 130
    assert capsys.readouterr().err == "interrupted: what is committed stays, the same command goes on from there\n"


def test_the_program_ends_with_the_exit_code_of_its_command(tmp_path: Path) -> None:
    done = curate("ledger", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")


def test_an_interrupted_program_leaves_no_trace_of_python() -> None:
    wait = "lambda *_: print('up', flush=True) or time.sleep(60)"
    # A shell without job control starts background programs with SIGINT ignored, and so would this one be.
    foreground = "import signal, time; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = (
        f"{foreground}; from jobs import cli; from jobs.commands import checking; checking.verify = {wait}; cli.entry()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, "verify", "w"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.count("\n") == 1


def test_a_closed_pipe_is_no_error(work: WorkFolder) -> None:
    command = f"{sys.executable} -m jobs.cli explain {work.root} {work.web[0]} --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[", "")


@pytest.mark.parametrize(
    ("environ", "tty", "coloured"),
    [({}, True, True), ({}, False, False), ({"NO_COLOR": "1"}, True, False), ({"TERM": "dumb"}, True, False)],
)
def test_colours_are_for_terminals_whose_owner_wants_them(
    environ: dict[str, str],
    tty: bool,
    coloured: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty)
    assert ("\x1b[" in cli.Console(sys.stdout, environ).paint("drop", "red")) == coloured


def test_doctor_says_what_is_missing_and_what_to_type(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--work", str(tmp_path / "work")]) == 0
    assert "put if absent, read, list and delete work" in capsys.readouterr().out
    assert not list(tmp_path.rglob("*.json"))
    version = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name in ("ftfy", "numba") else version(name))
    assert main(["doctor"]) == 5
    assert "ftfy: pip install 'ftfy" in capsys.readouterr().out
    checks = {check["name"]: check for check in answer_of_doctor(capsys)["checks"]}
    assert (checks["numba"]["ok"], checks["numba"]["needed"]) == (False, False)


def test_doctor_does_without_what_has_a_fallback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    version = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "numba" else version(name))
    assert main(["doctor"]) == 0


def test_doctor_ends_with_5_where_there_is_no_java(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "ensure_java", failing(InfrastructureError("no Java: pip install it")))
    assert main(["doctor"]) == 5
    assert "Java: no Java: pip install it" in capsys.readouterr().out


def test_doctor_ends_with_5_where_the_store_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("no folder")
    assert main(["doctor", "--work", str(tmp_path / "file")]) == 5
    assert "check that the folder or bucket exists" in capsys.readouterr().out


def test_doctor_looks_at_every_machine_that_runs_tasks(tmp_path: Path) -> None:
    done = curate("doctor", "--work", str(tmp_path), "--master", "local[2,4]", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 0, done.stderr
    assert checks["Spark"]["found"].endswith("on local[2,4], 2 tasks at once")
    [executor] = [check for name, check in checks.items() if name.startswith("executor ")]
    assert executor["ok"]
    assert list(tmp_path.iterdir()) == []


def test_the_demo_compares_its_digests_and_names_the_first_stage_that_differs(work: WorkFolder, tmp_path: Path) -> None:
    found = demo.digests_of(read_latest(work.root), "f" * 64)
    committed = tmp_path / "digests.json"
    with pytest.raises(RecipeError, match="--update-digests"):
        demo.compare(found, committed)
    demo.update(found, committed)
    demo.compare(found, committed)
    changed = json.loads(committed.read_text())
    changed["dedup"]["verdicts"] = changed["assemble"]["corpus"] = "0" * 32
    committed.write_text(json.dumps(changed))
    with pytest.raises(IntegrityError, match=r"first in dedup verdicts: [0-9a-f]{32}, committed 0{32} \(2 differ\)"):
        demo.compare(found, committed)


def test_a_demo_with_other_digests_ends_with_4(
    work: WorkFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    digests = demo.digests_of(read_latest(work.root), "f" * 64)
    monkeypatch.setattr(demo, "run_demo", lambda work, master, log: (None, digests))
    monkeypatch.setattr(demo.compare, "__defaults__", (tmp_path / "digests.json",))
    monkeypatch.setattr(demo.update, "__defaults__", (tmp_path / "digests.json",))
    assert main(["demo", "--work", work.root, "--update-digests"]) == 0
    assert main(["demo", "--work", work.root]) == 0
    digests["filter"]["verdicts"] = "0" * 32  # type: ignore[index]
    capsys.readouterr()
    assert main(["demo", "--work", work.root]) == 4
    out, err = capsys.readouterr()
    assert "1,791 tokens in 2 pairs" in out
    assert "first in filter verdicts" in err


def answer_of_doctor(capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["doctor", "--json"]) == 5
    return json.loads(capsys.readouterr().out)


def failing(error: BaseException) -> Any:
    def fail(*_: object) -> None:
        raise error

    return fail
