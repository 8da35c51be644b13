"""The commands that tell what became of a corpus and of each document in it."""

import argparse
from typing import Any

from curation import storage
from curation.clusters import clusters
from curation.errors import RecipeError
from curation.explain import explain, marks_of, text_of
from curation.ledger import ledger, require_balance
from curation.lookup import Folder, open_folder
from curation.nearest import Limit, limits, nearest
from curation.report import collect, write_report
from jobs import shown
from jobs.commands.arguments import add_document, reading
from jobs.console import Console


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands of this module."""
    reading(commands, "ledger", _ledger, "where every unit and byte went, by stage and source")
    one = reading(commands, "report", _report, "one self-contained HTML file about the last run")
    one.add_argument("--output", metavar="FILE", help="where to write it (default: DIR/report.html)")
    one = reading(commands, "explain", _explain, "what became of one document, and why")
    add_document(one)
    one.add_argument("--text", action="store_true", help="print the document's text as well")
    add_document(reading(commands, "duplicates", _duplicates, "the cluster of duplicates a document belongs to"))
    one = reading(commands, "sample", _sample, "the documents nearest to each threshold, on both sides")
    one.add_argument("--signal", metavar="COLUMN", help="column of signals, or quality_ppm (default: all with limits)")
    one.add_argument("--threshold", type=int, metavar="N", help="in the column's unit (default: the last run's limits)")
    one.add_argument("--source", metavar="NAME", help="of this source alone")
    one.add_argument("-n", type=int, default=20, metavar="N", help="documents on each side (default: 20)")


def _ledger(options: argparse.Namespace, console: Console) -> int:
    folder = open_folder(storage.absolute(options.work))
    entries = ledger(folder.root, folder.manifests, folder.source_names)
    if options.json:
        console.json([entry.to_json() for entry in entries])
    else:
        shown.show_ledger(console, entries)
    require_balance(entries)
    return 0


def _report(options: argparse.Namespace, console: Console) -> int:
    root = storage.absolute(options.work)
    path = write_report(root, options.output)
    if options.json:
        console.json({**collect(root).to_json(), "report": path})
    else:
        console.lines([path])
    return 0


def _explain(options: argparse.Namespace, console: Console) -> int:
    root = storage.absolute(options.work)
    stories = explain(root, options.id)
    texts = [text_of(root, story) for story in stories]
    marks = [marks_of(text) for text in texts]
    if options.json:
        steps = [story.to_json() for story in stories]
        for listed, text, found in zip(steps, texts, marks, strict=True):
            listed[0] |= {"marks": found, **({"text": text} if options.text else {})}
        console.json([step for listed in steps for step in listed])
        return 0
    for number, (story, text, found) in enumerate(zip(stories, texts, marks, strict=True)):
        console.lines([""] if number else [])
        shown.show_story(console, story, found)
        console.lines(["", text] if options.text and text is not None else [])
    return 0


def _duplicates(options: argparse.Namespace, console: Console) -> int:
    found = clusters(storage.absolute(options.work), options.id)
    if options.json:
        console.json([cluster.to_json() for cluster in found])
        return 0
    for number, cluster in enumerate(found):
        console.lines([""] if number else [])
        shown.show_cluster(console, cluster)
    return 0


def _sample(options: argparse.Namespace, console: Console) -> int:
    folder = open_folder(storage.absolute(options.work))
    if options.threshold is not None and options.signal is None:
        raise RecipeError("--threshold needs --signal: which column is it a threshold of?")
    asked = limits(folder, options.signal, options.source) if options.threshold is None else [None]
    listed = [_sides(folder, limit, options) for limit in asked]
    if options.json:
        console.json(listed if options.threshold is None else listed[0])
        return 0
    for number, sides in enumerate(listed):
        console.lines([""] if number else [])
        shown.show_sides(console, sides)
    return 0


def _sides(folder: Folder, limit: Limit | None, options: argparse.Namespace) -> dict[str, Any]:
    """Return the documents on both sides of a limit of the last run, or of the threshold that was asked for."""
    if limit is None:
        of = (options.signal, options.threshold, options.n, options.source)
        about = {"signal": options.signal, "threshold": options.threshold}
    else:
        of = (limit.column, limit.last_below, options.n, limit.source)
        kind = "minimum" if limit.is_minimum else "maximum"
        about = {"signal": limit.column, "threshold": limit.number, "source": limit.source, "bound": kind}
    up_to, above = nearest(folder, *of)
    return {**about, "up_to": [vars(row) for row in up_to], "above": [vars(row) for row in above]}
