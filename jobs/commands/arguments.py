"""What commands have in common: how one is declared, and the arguments that several take."""

import argparse
from collections.abc import Callable

from jobs.commands.examples import EXAMPLES
from jobs.console import Console

Command = Callable[[argparse.Namespace, Console], int]


def command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, run: Command, about: str
) -> argparse.ArgumentParser:
    """Declare a command, `run` of which returns the exit code."""
    example = f"example:\n  {EXAMPLES[name]}" if name in EXAMPLES else None
    told = about[0].upper() + about[1:] + "."
    shape = argparse.RawDescriptionHelpFormatter
    one = commands.add_parser(name, help=about, description=told, epilog=example, formatter_class=shape)
    one.set_defaults(command=run)
    one.add_argument("--json", action="store_true", help="print results as JSON")
    return one


def reading(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, run: Command, about: str
) -> argparse.ArgumentParser:
    """Declare a command that reads a work folder."""
    one = command(commands, name, run, about)
    one.add_argument("work", metavar="DIR", help="work folder: a path or s3://bucket/prefix")
    return one


def add_document(one: argparse.ArgumentParser) -> None:
    """Add what names a document."""
    one.add_argument("id", metavar="ID", help="decimal doc_id, SOURCE:PATH:RECORD, or a URL")


def add_order(one: argparse.ArgumentParser) -> None:
    """Add what says in which order training reads its samples."""
    one.add_argument(
        "--sequence-tokens", type=int, default=2048, metavar="N", help="of a sample (default: %(default)s)"
    )
    one.add_argument("--samples", type=int, metavar="N", help="of the whole training (default: as blend.json says)")
    one.add_argument("--seed", type=int, default=1234, metavar="N", help="of the trainer (default: %(default)s)")
