"""The documentation: its reference is current, its commands exist, and it builds without a warning."""

import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from jobs import cli, reference

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def test_the_reference_pages_are_current() -> None:
    written = {name: (reference.PLACE / name).read_text("utf-8") for name in reference.pages()}
    assert written == reference.pages(), "python -m jobs.reference"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_block_parses(page: Path) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.S)
    lines = [line.split("#")[0] for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    for line in lines:
        words = shlex.split(line)
        if words and words[0].rpartition("/")[2] == "curate" and words[1] != "train":
            cli.parser().parse_args(words[1:])


def test_every_command_shows_an_example_that_parses(capsys: pytest.CaptureFixture[str]) -> None:
    for name, example in reference.EXAMPLES.items():
        if name != "train":
            cli.parser().parse_args(shlex.split(example)[1:])
            assert cli.main([name, "--help"]) == 0
            assert f"example:\n  {example}" in capsys.readouterr().out


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="needs mkdocs-material: pip install '.[docs]'")
def test_the_pages_build_strictly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
