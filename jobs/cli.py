"""The `curate` command. Results go to stdout, progress and errors to stderr; the exit code says how it ended."""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from jobs.commands import checking, cleaning, looking, running, starting, training
from jobs.console import Console
from jobs.doctor import DISTRIBUTION
from jobs.endings import Ending

GROUPS = (starting, running, looking, checking, training, cleaning)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    ending = Ending()
    with ending:
        options = parser().parse_args(argv)
        ending.code = options.command(options, Console(sys.stdout, os.environ))
        sys.stdout.flush()
    return ending.code


def entry() -> None:
    """Run as a program."""
    logging.getLogger().setLevel(logging.CRITICAL)  # what libraries log may quote documents; py4j logs interrupts
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code = main()
    _stop_spark()
    sys.exit(code)


def _stop_spark() -> None:
    """Stop the session, if one was started: left to the end of the process, its workers complain of closed pipes."""
    sql = sys.modules.get("pyspark.sql")
    session = sql.SparkSession.getActiveSession() if sql is not None else None
    if session is not None:
        session.stop()


def parser() -> argparse.ArgumentParser:
    """Return the whole command line."""
    top = argparse.ArgumentParser(prog="curate", description="From raw text to a training corpus, and every why.")
    top.add_argument("--version", action="version", version=f"curate {_version()}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for group in GROUPS:
        group.add(commands)
    return top


def _version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "from a checkout"


if __name__ == "__main__":
    entry()
