"""The package: what is declared, what is tested and what is installed agree."""

import re
import shutil
import subprocess
from configparser import ConfigParser
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SHIPPED = ("curation", "jobs", "recipes", "schemas", "trainer")
SUPPORTED_PYTHONS = ("3.11", "3.12", "3.13")


def declared() -> ConfigParser:
    config = ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    return config


def requirements() -> list[Requirement]:
    config = declared()
    blocks = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    return [Requirement(line) for block in blocks for line in block.split("\n") if line and not line.startswith("#")]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_the_distribution_has_a_name_of_its_own_and_one_command():
    config = declared()
    assert config["metadata"]["name"] != "curate"
    assert config["options.entry_points"]["console_scripts"].strip() == "curate = jobs.cli:entry"


def test_every_supported_python_is_declared_and_no_other():
    config = declared()
    assert config["options"]["python_requires"] == ">=3.11,<3.14"
    classifiers = config["metadata"]["classifiers"]
    assert tuple(re.findall(r"Python :: (3\.\d+)", classifiers)) == SUPPORTED_PYTHONS


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_every_requirement_was_tested_at_a_version_it_allows(requirement):
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_tested_versions_are_exact_sorted_and_not_local():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines == sorted(lines, key=lambda line: line.split("==")[0])
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line) for line in lines)


def test_what_is_installed_here_is_what_was_tested():
    different = {}
    for name, expected in pins().items():
        try:
            known = distribution(name)
        except PackageNotFoundError:
            continue  # an extra that this environment was made without
        if "_vendor" in str(known.locate_file("")):
            continue  # a copy that setuptools carries and puts on the path once it is imported
        found = known.version.split("+")[0]
        if found != expected and name not in {"pip", "setuptools"}:
            different[name] = f"{found}, not {expected}"
    assert not different, "install with: pip install -c constraints.txt -e '.[dev,s3]'"


def test_every_data_file_in_a_package_is_shipped():
    patterns = declared()["options.package_data"]["*"].split()
    files = (file for package in SHIPPED for file in (ROOT / package).rglob("*") if file.is_file())
    left_out = [
        file.relative_to(ROOT)
        for file in files
        if "__pycache__" not in file.parts
        and file.suffix != ".py"
        and not any(fnmatch(file.name, pattern) for pattern in patterns)
    ]
    assert not left_out


@pytest.fixture
def bare_checkout(tmp_path):
    """Return a function that runs make in a checkout whose PATH holds a shell, make and the given python3 only."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("needs make")
    checkout, tools = tmp_path / "checkout", tmp_path / "bin"
    checkout.mkdir()
    tools.mkdir()
    for name in ("Makefile", "setup.cfg", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, checkout)
    (tools / "sh").symlink_to("/bin/sh")

    def run(python: str) -> subprocess.CompletedProcess[str]:
        (tools / "python3").write_text(f"#!/bin/sh\n{python}\n")
        (tools / "python3").chmod(0o755)
        return subprocess.run(
            [make, "-C", checkout, "test-core"], env={"PATH": str(tools)}, capture_output=True, text=True, check=False
        )

    return run


def test_make_names_the_pythons_it_needs_when_there_is_none(bare_checkout):
    done = bare_checkout("exit 1")
    assert done.returncode == 2
    assert "error: no Python 3.11, 3.12 or 3.13 among" in done.stderr
    assert "Next: install one" in done.stderr


def test_make_says_how_to_get_a_venv_module_that_debian_left_out(bare_checkout):
    done = bare_checkout('case "$2" in *ensurepip*) exit 1;; esac')
    assert done.returncode == 2
    assert "error: python3 cannot make a virtual environment" in done.stderr
    assert "apt-get install python3-venv" in done.stderr
