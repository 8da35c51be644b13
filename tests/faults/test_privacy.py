"""Canaries in text, in broken records and in the environment, looked for in everything that is not a table of text."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from corpus import prose
from program import ROOT

CANARIES = {
    "mail": "jane.canary@mail.example",
    "phone": "+49 170 5550199",
    "key": "AKIACANARY0CANARY000",
    "word": "xyzzycanary",
}
SECRET = "environmentcanarysecret"
RECIPE = """
name = "canaries"
[[source]]
name = "web"
reader = "jsonl"
inputs = ["*.jsonl*"]
profile = "web"
max_quarantine_fraction = 1.0
[profile.web]
length = { min_words = 20 }
[dedup]
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run documents and broken records that hold canaries; return the work folder and all output."""
    root = tmp_path_factory.mktemp("canaries")
    planted = " ".join(CANARIES.values())
    good = [json.dumps({"text": f"{prose(n)} {planted}"}) for n in range(20)]
    bad = [f'{{"text": "{planted}', f'{{"text": ["{planted}", 7]}}', f'{{"text": "\\ud800 {planted}", }}']
    lines = "\n".join([*good, *bad, json.dumps({"text": planted})]) + "\n"
    (root / "a.jsonl").write_text(lines)
    (root / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode())[:-60])
    recipe = root / "recipe.toml"
    recipe.write_text(RECIPE)
    secrets = {"AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ACCESS_KEY_ID": CANARIES["key"]}
    output = ""
    work = str(root / "work")
    for words in (["run", str(recipe), "--work", work], ["report", work], ["doctor", "--work", work]):
        command = [sys.executable, "-m", "jobs.cli", *words]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **secrets}, capture_output=True, text=True, check=True
        )
        output += done.stdout + done.stderr
    return root / "work", output


def test_no_log_shows_a_canary(ran: tuple[Path, str]) -> None:
    """AT-19."""
    _, output = ran
    assert [canary for canary in (*CANARIES.values(), SECRET) if canary in output] == []


def test_no_manifest_commit_or_report_holds_a_canary(ran: tuple[Path, str]) -> None:
    """AT-19."""
    work, _ = ran
    papers = [path for path in work.rglob("*") if path.suffix in (".json", ".html")]
    assert any(path.suffix == ".html" for path in papers)
    for path in papers:
        held = path.read_text()
        assert [canary for canary in (*CANARIES.values(), SECRET) if canary in held] == [], path


def test_an_error_of_a_task_shows_no_canary() -> None:
    """AT-19: whatever a library raises about a document reaches nobody."""
    program = f"""
from jobs.spark import open_session, run_shards
def fail(text): raise ValueError("cannot parse: " + text)
try:
    run_shards(open_session("local[1,2]"), fail, [{CANARIES["word"]!r}])
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "InfrastructureError" in done.stdout
    assert CANARIES["word"] not in done.stdout + done.stderr
