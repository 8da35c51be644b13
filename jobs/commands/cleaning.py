"""The command that frees disk: `curate clean`."""

import argparse

from curation import storage
from curation.cleaning import Leftover, leftovers, remove
from curation.errors import RecipeError
from jobs.commands.arguments import reading
from jobs.console import Console, say
from jobs.lock import run_lock, running_since

_TOLD = {
    "manifest": "manifests of earlier runs",
    "commit": "commits that no kept manifest lists",
    "part": "parts of those commits",
    "attempt": "attempts that were never committed",
    "published": "published shards of earlier runs",
    "beside": "indexes and solutions of earlier runs",
}


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    one = reading(commands, "clean", _clean, "remove what no run needs any more")
    one.add_argument(
        "--keep",
        default="latest",
        metavar="latest|N",
        help="keep what the last run uses (default), or also the N newest manifests of each stage",
    )
    one.add_argument("--dry-run", action="store_true", help="say what would go, and remove nothing")


def _clean(options: argparse.Namespace, console: Console) -> int:
    root, keep = storage.absolute(options.work), _kept(options.keep)
    began = running_since(root)
    if began is not None:
        say("a run is under way here: only attempts older than it are looked at")
    gone = leftovers(root, keep, began)
    if not options.dry_run:
        with run_lock(root, lambda line: None):
            remove(root, gone)
    if options.json:
        console.json({"removed": not options.dry_run, "files": [vars(left) for left in gone]})
    else:
        _show(console, gone, options.dry_run)
    return 0


def _kept(words: str) -> int:
    if words == "latest":
        return 0
    if not words.isdecimal() or int(words) < 1:
        raise RecipeError(f"--keep {words}: give `latest`, or how many manifests of each stage to keep, from 1")
    return int(words)


def _show(console: Console, gone: list[Leftover], dry: bool) -> None:
    kinds = [(told, [left.bytes for left in gone if left.kind == kind]) for kind, told in _TOLD.items()]
    rows = [[told, f"{len(sizes):,}", f"{sum(sizes) / 1e6:,.1f} MB"] for told, sizes in kinds if sizes]
    if rows:
        console.table(["would go" if dry else "gone", "files", "size"], rows, right=(1, 2))
    else:
        console.lines(["Nothing to remove."])
