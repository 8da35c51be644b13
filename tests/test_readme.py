"""The README tells the truth: its commands exist and run, its folders and links are there."""

import gzip
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from jobs import cli
from tests.workfolder import make_work_folder

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = [
    line.split("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, re.S)
    for line in block.splitlines()
    if line.strip()
]


def of(program: str) -> list[list[str]]:
    return [shlex.split(command)[1:] for command in COMMANDS if command.startswith(program)]


def test_every_command_is_of_a_kind_that_is_tested() -> None:
    known = ("make ", ".venv/bin/curate ", "spark-submit ", ".venv/bin/pip ", ".venv/bin/python benchmarks/")
    assert [command for command in COMMANDS if not command.startswith(known)] == []


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert [target for [target] in of("make ") if not re.search(rf"^{target}:", makefile, re.M)] == []


@pytest.mark.parametrize(
    "words", [w for w in of(".venv/bin/curate ") if w[0] not in ("init", "plan", "run")], ids=lambda words: words[0]
)
def test_reading_commands_work_on_a_finished_run(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_work_folder(tmp_path)
    known = {"build/demo/work": folder.root, "bookcorpus2:bookcorpus2/books1.tar.gz:0": str(folder.wiki[0])}
    assert cli.main([known.get(word, word) for word in words]) == 0
    assert capsys.readouterr().out


def test_the_commands_for_ones_own_files_run_one_after_the_other(tmp_path: Path) -> None:
    from corpus import prose  # type: ignore[import-not-found]

    (tmp_path / "in/deep").mkdir(parents=True)
    rows = b"".join(json.dumps({"text": prose(n)}).encode() + b"\n" for n in range(20))
    (tmp_path / "in/deep/a.jsonl.gz").write_bytes(gzip.compress(rows))
    page = "<html><body><p>" + prose(50).replace("\n\n", "</p><p>") + "</p></body></html>"
    (tmp_path / "in/b.warc").write_bytes(warc(page.encode()))
    places = {"FILES": "in", "FOLDER": "in", "WORK": "work", "mine.toml": "mine.toml"}
    known = {word: str(tmp_path / place) for word, place in places.items()}
    for words in [w for w in of(".venv/bin/curate ") if w[0] in ("init", "plan", "run")]:
        program = "from jobs.cli import entry; entry()"
        subprocess.run(
            [sys.executable, "-c", program, *(known.get(word, word) for word in words)], cwd=ROOT, check=True
        )
    assert (tmp_path / "work/latest.json").is_file()
    assert list((tmp_path / "work/shards").glob("*/shards.json"))


def warc(html: bytes) -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://example.org/\r\n"
        "WARC-Date: 2021-01-15T00:00:00Z\r\n"
        "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000000>\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


def test_jobs_that_are_submitted_exist_and_take_these_arguments() -> None:
    for script, *arguments in of("spark-submit "):
        shown = subprocess.run([sys.executable, script, "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
        assert [a for a in arguments if a.startswith("--") and a not in shown.stdout] == []


def test_every_folder_and_link_is_there() -> None:
    named = re.findall(r"\]\(([^)#:]+)\)", README) + re.findall(r"^\| `(\w+/)`", README, re.M)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_benchmark_is_there_and_explains_itself() -> None:
    for script, *_ in of(".venv/bin/python "):
        subprocess.run([sys.executable, script, "--help"], cwd=ROOT, check=True, capture_output=True)
