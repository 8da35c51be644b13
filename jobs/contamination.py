"""The commands about benchmarks: `curate contamination`, and the scan of `curate verify --contamination`."""

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from curation import storage
from curation.decontamination.audit import Audit, audit
from curation.decontamination.findings import Finding, check_task, contamination_notes, example_rows, find_example
from curation.decontamination.tally import CELL
from curation.errors import RecipeError
from curation.lookup import open_folder
from curation.report.contamination import Contamination, contamination
from curation.report.numbers import bytes_text, percent
from jobs.console import Console

_MOST = 20  # lines of what is left in an audited corpus, and of examples


def add_arguments(one: argparse.ArgumentParser) -> None:
    """Add what `curate contamination` takes besides the work folder."""
    one.add_argument("--task", metavar="T", help="only this benchmark")
    one.add_argument("--example", type=int, metavar="N", help="where this one of its examples was found, rows from 0")
    one.add_argument(
        "--examples", action="store_true", help="rows of all found and of all unprotected, for evaluations"
    )


def add_scan_arguments(one: argparse.ArgumentParser) -> None:
    """Add what asks `curate verify` for the scan."""
    one.add_argument("--contamination", action="store_true", help="look for benchmark text in the corpus, another way")
    one.add_argument("--sample", type=float, default=1.0, metavar="F", help="share of the documents to look at so")


def command(options: argparse.Namespace, console: Console) -> int:
    """Print what was found of all benchmarks, of one, or of one example."""
    folder = open_folder(storage.absolute(options.work))
    notes = contamination_notes(folder)
    if options.task is not None:
        check_task(notes, options.task)
    elif options.example is not None:
        raise RecipeError("--example N is of a task: give --task T as well")
    if options.examples:
        show_example_rows(console, example_rows(folder), options)
        return 0
    if options.example is not None:
        found = find_example(folder, options.task, options.example)
        if options.json:
            console.json([finding.to_json() for finding in found])
        else:
            show_findings(console, found)
        return 0
    report = contamination(folder.root, folder.manifests)
    assert report is not None  # the notes are there
    if options.json:
        console.json(report.of_task(options.task).to_json())
    else:
        show_contamination(console, report.of_task(options.task))
    return 0


def scan(options: argparse.Namespace, root: str, tell: Callable[[str], None]) -> Audit | None:
    """Return the audit that the options ask for, if they do."""
    return audit(open_folder(root), options.sample, tell) if options.contamination else None


def show_contamination(console: Console, found: Contamination) -> None:
    """Print the tasks, unprotected ones first, then the matrix, the paper's counters and the examples found most."""
    rows = [
        [
            task.task,
            f"{task.examples:,}",
            f"{task.unprotected:,}",
            percent(task.unprotected_share),
            f"{task.found:,}",
            percent(task.found_share),
            f"{task.exempted:,}",
        ]
        for task in found.tasks
    ]
    head = ["task", "examples", "unprotected", "% of examples", "found", "% of protected", "exempted"]
    console.table(head, rows, right=range(1, 7))
    cells = [[cell["task"], cell["source"], *(f"{cell[name]:,}" for name in CELL)] for cell in found.matrix]
    console.lines([""])
    console.table(["task", "source", *(name.replace("_", " ") for name in CELL)], cells, right=range(2, 10))
    console.lines(["", _counted(found.total)])
    _show_set_aside(console, found)
    most = sorted(found.most_found, key=lambda row: (-row["documents"], row["task"], row["row"]))[:_MOST]
    examples = [[row["task"], f"{row['row']}", f"{row['documents']:,}"] for row in most]
    console.table(["task", "example", "documents"], examples, right=(1, 2))


def show_example_rows(console: Console, tasks: Mapping[str, Mapping[str, Any]], options: argparse.Namespace) -> None:
    """Print which examples are unclean, of all tasks or of one."""
    chosen = {task: rows for task, rows in tasks.items() if options.task in (None, task)}
    if options.json:
        console.json(chosen)
        return
    for task, rows in chosen.items():
        told = [" ".join(map(str, rows[name])) or "none" for name in ("found", "unprotected")]
        console.lines([f"{task}: {rows['examples']:,} examples", f"  found: {told[0]}", f"  unprotected: {told[1]}"])


def _show_set_aside(console: Console, found: Contamination) -> None:
    """Print the phrases that most documents have, in their words, and the examples found by phrases alone."""
    console.lines([f"n-grams set aside as phrases: {len(found.set_aside):,}"])
    most = sorted(found.set_aside, key=lambda row: -row["documents"])[:_MOST]
    phrases = [[row["task"], f"{row['row']}", f"{row['documents']:,}", row["words"]] for row in most]
    if phrases:
        console.table(["task", "example", "documents", "phrase"], phrases, right=(1, 2))
    exempted = [f"{row['task']} {row['row']}" for row in found.exempted]
    if exempted:
        rest = f", and {len(exempted) - _MOST:,} more" if len(exempted) > _MOST else ""
        console.lines([f"examples found by phrases alone: {', '.join(exempted[:_MOST])}{rest}"])
    console.lines([""])


def show_preview(console: Console, coming: Mapping[str, int] | None) -> None:
    """Print what a planned decontaminate would do, if that can be known."""
    console.lines([f"decontaminate would find: {_counted(coming)}"] if coming is not None else [])


def _counted(counters: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counters.items())


def show_findings(console: Console, found: Sequence[Finding]) -> None:
    """Print one line per document."""
    rows = [
        [f"{f.doc_id}", f.locator, f"{f.hits:,}", f"{f.start:,}–{f.end:,}", console.fate(f.fate), f.reason]
        for f in found
    ]
    console.table(["doc_id", "document", "hits", "bytes", "fate", "reason"], rows, right=(2,))
    console.lines(["", f"{len(found):,} documents"])


def show_audit(console: Console, found: Audit | None) -> None:
    """Print what was scanned, what is left of it, and what was set aside on purpose."""
    if found is None:
        return
    console.lines(["", f"Benchmarks: {found.pieces:,} pieces, {bytes_text(found.bytes)} of text looked at"])
    aside = ", ".join(f"{task} {count:,}" for task, count in found.set_aside.items())
    console.lines([f"phrases set aside: {aside}"] if aside else [])
    by_task = Counter(left.task for left in found.left)
    told = ", ".join(f"{task} {count:,}" for task, count in sorted(by_task.items()))
    if not found.left:
        console.lines([console.paint("No protected n-gram is left.", "green")])
        return
    console.lines([console.paint(f"left{', as the recipe only flags' if found.flagged else ''}: {told}", "red")])
    console.lines(
        f"document {left.doc_id}, piece {left.piece}, word {left.word}: {left.words} words of {left.task} {left.row}"
        for left in found.left[:_MOST]
    )
