"""`curate plan` and `curate run` as functions: `import curation; curation.run("recipe.toml", work="work")`.

Nothing is printed but progress, on stderr. Errors are those of `curation.errors`.
"""

from argparse import Namespace
from collections.abc import Sequence

from curation.finished import Corpus
from curation.report import write_report
from jobs import pipeline
from jobs.job import Job, open_job
from jobs.pipeline import StagePlan


def plan(
    recipe: str, work: str, root: str | None = None, overrides: Sequence[str] = (), master: str | None = None
) -> list[StagePlan]:
    """Return what `run` would do, stage by stage, and why. Nothing runs and nothing is written.

    Args:
        recipe: path of a recipe.
        work: work folder, a path or s3://bucket/prefix.
        root: folder that the recipe's inputs are relative to; None: the recipe's.
        overrides: `key=value`, as `--set` takes them.
        master: Spark master; None: all cores of this machine.
    """
    return pipeline.plan(_job(recipe, work, root, overrides, master))


def run(
    recipe: str, work: str, root: str | None = None, overrides: Sequence[str] = (), master: str | None = None
) -> Corpus:
    """Run what is not committed yet, write the report, and return the corpus. Arguments are those of `plan`."""
    job = _job(recipe, work, root, overrides, master)
    pipeline.run(job)
    write_report(job.root)
    return Corpus(job.root)


def _job(recipe: str, work: str, root: str | None, overrides: Sequence[str], master: str | None) -> Job:
    return open_job(Namespace(recipe=recipe, work=work, input=root, set=list(overrides), master=master, log="text"))
