"""The commands that make a corpus: what would run, running it, taking documents out of it, and the demo."""

import argparse

from curation import storage
from curation.errors import RecipeError
from curation.lookup import open_folder
from curation.recipe import load_recipe
from curation.report import collect, write_report
from curation.s3 import is_s3
from curation.takedown import takedown
from curation.trace import blended, shards_folder
from jobs import contamination, shown, train
from jobs.commands.arguments import add_order, command
from jobs.console import Console, say
from jobs.doctor import free_bytes
from jobs.job import add_run_arguments, add_spark_arguments, open_job
from jobs.log import Log
from jobs.readback import snippets

DEMO_WORK = "build/demo/work"


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands of this module."""
    one = command(commands, "plan", _plan, "what would run, and why")
    add_run_arguments(one, "build/NAME/work")
    one.add_argument("--count-cuts", action="store_true", help="judge contamination too, and say what would be cut")
    one = command(commands, "run", _run, "run what is not committed yet, and report")
    add_run_arguments(one, "build/NAME/work")
    one = command(commands, "takedown", _takedown, "run with a longer removal list, and tell what that changed")
    add_run_arguments(one, "build/NAME/work")
    add_order(one)
    one = command(commands, "demo", _demo, "fifteen small real sources, from nothing to shards and a report")
    one.add_argument("--work", default=DEMO_WORK, metavar="DIR", help=f"work folder (default: {DEMO_WORK})")
    add_spark_arguments(one)
    one.add_argument("--update-digests", action="store_true", help="make the digests of this run the committed ones")
    one.add_argument("--train", action="store_true", help="then train on the shards for a minute; needs torch")


def _plan(options: argparse.Namespace, console: Console) -> int:
    from jobs import decontaminate, pipeline

    job = open_job(_with_work(options))
    steps = pipeline.plan(job)
    is_planned = any(step.stage == "decontaminate" and not step.committed for step in steps)
    coming = decontaminate.preview(job) if options.count_cuts and is_planned else None
    if options.json:
        console.json([vars(step) | ({"would": coming} if step.stage == "decontaminate" else {}) for step in steps])
    else:
        free = None if is_s3(job.root) else free_bytes(job.root)
        shown.show_plan(console, steps, pipeline.expected(job), len(job.inputs.files), free)
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
    _, digests = demo.run_demo(work, options.master, options.log)
    _finish(options, console, work)
    if options.update_digests:
        demo.update(digests)
        say(f"demo: {demo.DIGESTS} is now what this run gave")
    else:
        demo.compare(digests)
        say(f"demo: every digest is the one in {demo.DIGESTS.name}")
    return _train_demo(work) if options.train else 0


def _train_demo(work: str) -> int:
    """Train on the demo's shards, and write the report again, which then shows the curve."""
    say("demo: training a small GPT on 2 × 2 × 2 processes")
    code = train.start([str(train.RECIPE), "--shards", work])
    say(f"demo: the loss curve stands in {write_report(work)}")
    return code


def _finish(options: argparse.Namespace, console: Console, root: str) -> None:
    """Write the report, and print the funnel and how to read the corpus back."""
    path = write_report(root)
    report = collect(root)
    if not report.total[-1].out.units:
        say(f"warning: the corpus is empty: no document was kept. `curate ledger {root}` says where they went and why")
    if options.json:
        console.json({**report.to_json(), "work": root, "report": path})
        return
    shown.show_funnel(console, report)
    console.lines(["", *snippets(root, report), f"Report: {path}"])


def _with_work(options: argparse.Namespace) -> argparse.Namespace:
    if options.work is None:
        options.work = f"build/{load_recipe(options.recipe, options.set).name}/work"
        Log(is_json=options.log == "json").say(f"work folder: {options.work}")
    return options
