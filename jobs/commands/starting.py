"""The command that begins: a recipe for files that a person points at."""

import argparse
import os
import re
from pathlib import Path

from curation.drafting import Found, draft
from curation.errors import RecipeError
from jobs.commands.arguments import command
from jobs.console import Console, say


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands of this module."""
    one = command(commands, "init", _init, "write a recipe for your files, after looking at them")
    one.add_argument("files", nargs="+", metavar="FILE", help="files, or folders of files")
    one.add_argument("--output", default="recipe.toml", metavar="FILE", help="where to write it (default: recipe.toml)")


def _init(options: argparse.Namespace, console: Console) -> int:
    place = Path(options.output)
    if place.exists():
        raise RecipeError(f"{place}: is there already; remove it, or give --output another name")
    name = re.sub(r"[^a-z0-9]+", "-", place.stem.lower()).strip("-") or "corpus"
    made = draft(options.files, name)
    place.write_text(made.text, "utf-8")
    if made.unknown:
        say(f"warning: left out {len(made.unknown):,} files of no kind that is known, e.g. {made.unknown[0]}")
    here = os.path.abspath(made.root) == str(place.parent.absolute())
    following = f"curate run {place}" + ("" if here else f" --input {made.root}")
    if options.json:
        sources = [{"reader": one.kind.reader, "text_field": one.kind.text_field, "files": list(one.files),
                    "languages": one.languages} for one in made.found]  # fmt: skip
        console.json({"recipe": str(place), "root": made.root, "sources": sources, "unknown": list(made.unknown)})
        return 0
    console.table(["reader", "files", "languages"], [_row(one) for one in made.found], right=(1,))
    console.lines(["", f"Wrote {place}. Next:", f"  {following.replace('run', 'plan', 1)}", f"  {following}"])
    return 0


def _row(one: Found) -> list[str]:
    return [one.kind.reader, f"{len(one.files):,}", ", ".join(list(one.languages)[:4])]
