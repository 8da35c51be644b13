"""Layers: arrows point one way, the method needs neither Spark nor torch, and errors are caught broadly twice."""

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import curation

ROOT = Path(__file__).parents[1]
PACKAGES = ("schemas", "curation", "jobs", "trainer")
# what each package may import of this project, with everything below
ALLOWED = {
    "schemas": ("schemas",),
    "curation": ("schemas", "curation"),
    "jobs": ("schemas", "curation", "jobs"),
    "trainer": ("schemas", "trainer", "curation.shards", "curation.decontamination.benchmarks"),
}
OURS = {*PACKAGES, "tests", "benchmarks"}
ENGINES = {"pyspark", "py4j", "torch"}
FOREIGN = {"schemas": ENGINES, "curation": ENGINES, "jobs": {"torch"}, "trainer": {"pyspark", "py4j"}}
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Return the full names of what a file imports anywhere, in functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            found |= {str(name.value) for name in node.args if isinstance(name, ast.Constant)}
    return found


def is_within(name: str, packages: tuple[str, ...]) -> bool:
    return any(f"{name}.".startswith(f"{package}.") for package in packages)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_what_its_layer_may(path):
    """AT-21."""
    package = path.relative_to(ROOT).parts[0]
    tops = {name: name.partition(".")[0] for name in imported(path)}
    assert not {name for name, top in tops.items() if top in FOREIGN[package]}
    assert not {name for name, top in tops.items() if top in OURS and not is_within(name, ALLOWED[package])}


BLOCKED = """
import importlib, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "py4j", "torch", "jobs", "trainer"}:
            raise ModuleNotFoundError(f"{name} is blocked", name=name)

sys.meta_path.insert(0, Blocker())
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def test_every_module_of_the_method_imports_where_spark_and_torch_are_missing():
    """AT-21."""
    names = [module.name for module in pkgutil.walk_packages(curation.__path__, "curation.")]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *names, "schemas.tables"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_method_names_the_engine_in_one_place_alone_where_programs_ask_for_it():
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "curation").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("jobs.")
    }
    assert naming == {"curation/__init__.py"}


def test_no_job_bears_a_name_of_the_standard_library():
    """A script's folder comes first on the path: jobs/queue.py would be what `import queue` finds."""
    assert not {path.stem for path in (ROOT / "jobs").glob("*.py")} & sys.stdlib_module_names


def broad_excepts(path: Path) -> list[str]:
    """Return the functions of a file that catch everything."""
    found = []
    for function in (
        node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)
    ):
        for handler in (node for node in ast.walk(function) if isinstance(node, ast.ExceptHandler)):
            caught = ast.unparse(handler.type) if handler.type is not None else "BaseException"
            if {"Exception", "BaseException"} & set(caught.strip("()").replace(" ", "").split(",")):
                found.append(f"{path.relative_to(ROOT)}:{function.name}")
    return found


def test_errors_are_caught_broadly_at_the_two_boundaries_and_nowhere_else():
    found = [place for path in MODULES for place in broad_excepts(path)]
    assert found == ["curation/quarantine.py:guarded", "jobs/spark.py:_task_boundary"]


def test_no_setting_lets_spark_pass_over_damaged_files():
    for path in MODULES:
        for line in path.read_text("utf-8").splitlines():
            assert not ("ignoreCorruptFiles" in line and "true" in line.lower()), path


def test_what_a_task_counts_is_read_from_what_it_committed():
    """Accumulators and observe() count a task twice that was tried twice."""
    for path in MODULES:
        source = path.read_text("utf-8")
        assert ".accumulator(" not in source, path
        assert ".observe(" not in source, path
