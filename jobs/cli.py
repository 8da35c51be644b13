"""The `curate` command. Results go to stdout, progress and errors to stderr; the exit code says how it ended.

0 done, 2 usage or recipe, 3 a data budget stopped the run, 4 integrity, 5 infrastructure, 130 interrupted.
"""

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Self

from curation import storage
from curation.clusters import clusters
from curation.errors import CurationError, InfrastructureError, IntegrityError, RecipeError
from curation.explain import explain, text_of
from curation.ledger import ledger, require_balance
from curation.lookup import open_folder
from curation.nearest import nearest
from curation.recipe import load_recipe
from curation.report import collect, write_report
from curation.s3 import is_s3
from curation.shards.blend import megatron_arguments, megatron_splits
from curation.takedown import takedown
from curation.trace import blended, read_blend, shards_folder, trace_sample, trace_sequence
from curation.verify import verify
from jobs import contamination, shown
from jobs.console import Console, say
from jobs.doctor import DISTRIBUTION, examine
from jobs.job import open_job
from jobs.readback import snippets

INTERRUPTED, PIPE_CLOSED = 130, 141  # 128 + the number of the signal, as shells say it
DEMO_WORK = "build/demo/work"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    ending = _Ending()
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

    one = _command(commands, "plan", _plan, "what would run, and why")
    _add_run(one)
    one.add_argument("--count-cuts", action="store_true", help="judge contamination too, and say what would be cut")
    one = _command(commands, "run", _run, "run what is not committed yet, and report")
    _add_run(one)
    one = _command(commands, "takedown", _takedown, "run with a longer removal list, and tell what that changed")
    _add_run(one)
    _add_order(one)
    one = _command(commands, "demo", _demo, "fifteen small real sources, from nothing to shards and a report")
    one.add_argument("--work", default=DEMO_WORK, metavar="DIR", help=f"work folder (default: {DEMO_WORK})")
    one.add_argument("--master", metavar="MASTER", help="Spark master (default: all cores of this machine)")
    one.add_argument("--update-digests", action="store_true", help="make the digests of this run the committed ones")
    one = _reading(commands, "verify", _verify, "check everything committed again, without Spark")
    contamination.add_scan_arguments(one)
    one = _reading(commands, "contamination", contamination.command, "which benchmark examples were found, and where")
    contamination.add_arguments(one)
    one = _reading(commands, "ledger", _ledger, "where every unit and byte went, by stage and source")
    one = _reading(commands, "explain", _explain, "what became of one document, and why")
    one.add_argument("id", metavar="ID", help="decimal doc_id, SOURCE:PATH:RECORD, or a URL")
    one.add_argument("--text", action="store_true", help="print the document's text as well")
    one = _reading(commands, "duplicates", _duplicates, "the cluster of duplicates a document belongs to")
    one.add_argument("id", metavar="ID", help="decimal doc_id, SOURCE:PATH:RECORD, or a URL")
    one = _reading(commands, "sample", _sample, "the documents nearest to a threshold, on both sides")
    one.add_argument("--signal", required=True, metavar="COLUMN", help="column of signals, or quality_ppm")
    one.add_argument("--threshold", required=True, type=int, metavar="N", help="in the column's unit")
    one.add_argument("--source", metavar="NAME", help="of this source alone")
    one.add_argument("-n", type=int, default=20, metavar="N", help="documents on each side (default: 20)")
    one = _reading(commands, "trace", _trace, "from trained tokens back to document, verdicts, file and byte")
    one.add_argument("pair", nargs="?", metavar="PAIR", help="name of a .bin/.idx pair")
    one.add_argument("sequence", nargs="?", type=int, metavar="SEQUENCE", help="number of a sequence in it, from 0")
    one.add_argument("--blend", nargs=2, type=int, metavar=("STEP", "ROW"), help="a row of a step's batch, both from 0")
    one.add_argument("--batch", type=int, default=1920, metavar="N", help="rows of a step (default: %(default)s)")
    _add_order(one)
    one = _reading(commands, "blend", _blend, "weights, epochs, and the data arguments of Megatron")
    one.add_argument("--root", metavar="FOLDER", help="where training finds the pairs (default: where they are)")
    one = _reading(commands, "report", _report, "one self-contained HTML file about the last run")
    one.add_argument("--output", metavar="FILE", help="where to write it (default: DIR/report.html)")
    one = _command(commands, "doctor", _doctor, "whether machine, store and cluster can run the jobs")
    one.add_argument("--work", metavar="DIR", help="work folder whose store and disk are tried")
    one.add_argument("--spark", action="store_true", help="start Spark and look at every executor")
    one.add_argument("--master", metavar="MASTER", help="the same on this Spark master")
    return top


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, run: object, about: str
) -> argparse.ArgumentParser:
    one = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
    one.set_defaults(command=run)
    one.add_argument("--json", action="store_true", help="print results as JSON")
    return one


def _reading(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, run: object, about: str
) -> argparse.ArgumentParser:
    one = _command(commands, name, run, about)
    one.add_argument("work", metavar="DIR", help="work folder: a path or s3://bucket/prefix")
    return one


def _add_order(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--sequence-tokens", type=int, default=2048, metavar="N", help="of a sample (default: %(default)s)"
    )
    one.add_argument("--samples", type=int, metavar="N", help="of the whole training (default: as blend.json says)")
    one.add_argument("--seed", type=int, default=1234, metavar="N", help="of the trainer (default: %(default)s)")


def _add_run(one: argparse.ArgumentParser) -> None:
    one.add_argument("recipe", metavar="RECIPE", help="path of a recipe, e.g. recipes/web.toml")
    one.add_argument(
        "--work", metavar="DIR", help="work folder: a path or s3://bucket/prefix (default: build/NAME/work)"
    )
    one.add_argument(
        "--input", metavar="ROOT", help="folder the recipe's inputs are relative to (default: the recipe's)"
    )
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a value of the recipe")
    one.add_argument("--master", metavar="MASTER", help="Spark master (default: all cores of this machine)")


def _plan(options: argparse.Namespace, console: Console) -> int:
    from jobs import decontaminate, pipeline

    job = open_job(_with_work(options))
    steps = pipeline.plan(job)
    is_planned = any(step.stage == "decontaminate" and not step.committed for step in steps)
    coming = decontaminate.preview(job) if options.count_cuts and is_planned else None
    if options.json:
        console.json([vars(step) | ({"would": coming} if step.stage == "decontaminate" else {}) for step in steps])
    else:
        shown.show_plan(console, steps)
        contamination.show_preview(console, coming)
    return 0


def _run(options: argparse.Namespace, console: Console) -> int:
    from jobs import pipeline

    job = open_job(_with_work(options))
    pipeline.run(job)
    _finish(options, console, job.root)
    return 0


def _takedown(options: argparse.Namespace, console: Console) -> int:
    from jobs import pipeline

    job = open_job(_with_work(options))
    if job.recipe.removal_list is None:
        raise RecipeError(f"{options.recipe}: names no removal_list; add one, and to its file what is to go")
    before = open_folder(job.root)
    samples = None if is_s3(job.root) else blended(before, options.sequence_tokens, options.samples, options.seed)
    pipeline.run(job)
    found = takedown(before, open_folder(job.root), samples)
    if options.json:
        console.json(found.to_json())
    else:
        shown.show_takedown(console, found, shards_folder(before))
    return 0


def _demo(options: argparse.Namespace, console: Console) -> int:
    from jobs import demo

    work = storage.absolute(options.work)
    _, digests = demo.run_demo(work, options.master)
    _finish(options, console, work)
    if options.update_digests:
        demo.update(digests)
        say(f"demo: {demo.DIGESTS} is now what this run gave")
    else:
        demo.compare(digests)
        say(f"demo: every digest is the one in {demo.DIGESTS.name}")
    return 0


def _finish(options: argparse.Namespace, console: Console, root: str) -> None:
    """Write the report, and print the funnel and how to read the corpus back."""
    path = write_report(root)
    report = collect(root)
    if options.json:
        console.json({**report.to_json(), "work": root, "report": path})
        return
    shown.show_funnel(console, report)
    console.lines(["", *snippets(root, report), f"Report: {path}"])


def _verify(options: argparse.Namespace, console: Console) -> int:
    root = storage.absolute(options.work)
    found = verify(root, say)
    scanned = contamination.scan(options, root, say) if found.ok else None
    if options.json:
        console.json({**found.to_json(), **({"contamination": scanned.to_json()} if scanned else {})})
    else:
        shown.show_verification(console, found)
        contamination.show_audit(console, scanned)
    return 0 if found.ok and (scanned is None or scanned.ok) else IntegrityError.exit_code


def _ledger(options: argparse.Namespace, console: Console) -> int:
    folder = open_folder(storage.absolute(options.work))
    entries = ledger(folder.root, folder.manifests, folder.source_names)
    if options.json:
        console.json([entry.to_json() for entry in entries])
    else:
        shown.show_ledger(console, entries)
    require_balance(entries)
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


def _trace(options: argparse.Namespace, console: Console) -> int:
    folder = open_folder(storage.absolute(options.work))
    if options.blend is not None:
        step, row = options.blend
        if options.pair is not None or not 0 <= row < options.batch:
            raise RecipeError(f"trace: give PAIR SEQUENCE, or --blend STEP ROW with a row below {options.batch}")
        samples = blended(folder, options.sequence_tokens, options.samples, options.seed)
        origins = trace_sample(folder, samples, step * options.batch + row)
    elif options.sequence is not None:
        origins = [trace_sequence(folder, options.pair, options.sequence)]
    else:
        raise RecipeError("trace: give PAIR SEQUENCE, or --blend STEP ROW")
    if options.json:
        console.json([origin.to_json() for origin in origins])
    else:
        shown.show_origins(console, origins)
    return 0


def _blend(options: argparse.Namespace, console: Console) -> int:
    folder = open_folder(storage.absolute(options.work))
    blend, root = read_blend(folder), options.root or shards_folder(folder)
    arguments = megatron_arguments(blend, root)
    if options.json:
        splits = megatron_splits(blend, root)
        console.json({**blend.model_dump(mode="json"), "splits": splits, "arguments": arguments})
    else:
        shown.show_blend(console, blend, arguments)
    return 0


def _report(options: argparse.Namespace, console: Console) -> int:
    root = storage.absolute(options.work)
    path = write_report(root, options.output)
    if options.json:
        console.json({**collect(root).to_json(), "report": path})
    else:
        console.lines([path])
    return 0


def _doctor(options: argparse.Namespace, console: Console) -> int:
    work = storage.absolute(options.work) if options.work else None
    checks = list(examine(work, options.master, options.spark))
    stopped = [check for check in checks if check.stops]
    if options.json:
        console.json({"ok": not stopped, "checks": [check.to_json() for check in checks]})
    else:
        shown.show_checks(console, checks)
    return InfrastructureError.exit_code if stopped else 0


def _with_work(options: argparse.Namespace) -> argparse.Namespace:
    if options.work is None:
        options.work = f"build/{load_recipe(options.recipe, options.set).name}/work"
        say(f"work folder: {options.work}")
    return options


def _version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "from a checkout"


class _Ending:
    """Turns how a command ended into its exit code, with one line on stderr where something went wrong.

    An error that is none of ours is told by its class and place alone: its words may quote a document.
    """

    code = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self.code = _exit_code(error)
        return True


def _exit_code(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0
    if isinstance(error, KeyboardInterrupt):
        say("interrupted: what is committed stays, the same command goes on from there")
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    if isinstance(error, CurationError):
        say(f"error: {error}")
        return error.exit_code
    say(f"error: {_where(error)}; this is a fault in the tool or the machine. `curate doctor` looks at the machine")
    return InfrastructureError.exit_code


def _where(error: BaseException) -> str:
    """Return an unexpected error's class and its place in the code; the system's own also say what and which file."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    place = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    told = f" ({error.strerror}: {error.filename})" if isinstance(error, OSError) and error.strerror else ""
    return f"{type(error).__name__}{told} at {place}"


if __name__ == "__main__":
    entry()
