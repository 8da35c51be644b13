"""One finished run of the small corpus, shared by the tests that only look at it."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from corpus import write_corpus, write_recipe

from curation.latest import Latest
from jobs import job, pipeline


@dataclass(frozen=True)
class Finished:
    """A corpus and the work folder of its run."""

    root: Path
    recipe: Path
    work: Path
    latest: Latest


def run(recipe: Path, work: Any, *more: str) -> Latest:
    """Run a recipe in this process, as `curate run` does."""
    parser = argparse.ArgumentParser()
    job.add_run_arguments(parser)
    return pipeline.run(job.open_job(parser.parse_args([str(recipe), "--work", str(work), *more])))


def digests(latest: Latest) -> dict[str, str]:
    """Return what a run made, stage by stage, whatever the names of its files."""
    return {name: manifest.digest for name, manifest in latest.manifests.items()}


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    root = tmp_path_factory.mktemp("corpus")
    write_corpus(root)
    recipe = write_recipe(root)
    return Finished(root, recipe, root / "work", run(recipe, root / "work"))
