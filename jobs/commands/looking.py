"""The commands that tell what became of a corpus and of each document in it."""

import argparse

from curation import storage
from curation.clusters import clusters
from curation.explain import explain, text_of
from curation.ledger import ledger, require_balance
from curation.lookup import open_folder
from curation.nearest import nearest
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
    one = reading(commands, "sample", _sample, "the documents nearest to a threshold, on both sides")
    one.add_argument("--signal", required=True, metavar="COLUMN", help="column of signals, or quality_ppm")
    one.add_argument("--threshold", required=True, type=int, metavar="N", help="in the column's unit")
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
    texts = [text_of(root, story) for story in stories] if options.text else [None] * len(stories)
    if options.json:
        steps = [story.to_json() for story in stories]
        for listed, text in zip(steps, texts, strict=True):
            listed[0] |= {"text": text} if options.text else {}
        console.json([step for listed in steps for step in listed])
        return 0
    for number, (story, text) in enumerate(zip(stories, texts, strict=True)):
        console.lines([""] if number else [])
        shown.show_story(console, story)
        console.lines(["", text] if text is not None else [])
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
    up_to, above = nearest(folder, options.signal, options.threshold, options.n, options.source)
    if options.json:
        console.json({"up_to": [vars(row) for row in up_to], "above": [vars(row) for row in above]})
        return 0
    for heading, rows in ((f"{options.signal} up to {options.threshold:,}", up_to), ("above", above)):
        console.lines([heading, *(f"{row.value:>12,}  {row.doc_id}  {row.locator}" for row in rows)])
    return 0
