"""`latest.json`: what the last run of a work folder finished. A convenience that manifests can be found by.

It proves nothing and may be lost: the manifests it names are the proof.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from curation import commits, storage
from curation.commits import Manifest
from curation.errors import IntegrityError, RecipeError

NAME = "latest.json"
UNFINISHED = "unfinished.json"


@dataclass(frozen=True)
class Latest:
    """The last run: digest of its recipe, of its inputs, and its manifests in stage order."""

    recipe_digest: str
    inputs: str
    manifests: Mapping[str, Manifest]
    recipe: str = ""  # its name


def write_latest(root: str, latest: Latest) -> None:
    """Replace the file; the last act of a run."""
    _write(root, NAME, latest)
    storage.delete(storage.join(root, UNFINISHED))


def write_unfinished(root: str, latest: Latest) -> None:
    """Say which stages a run has finished so far, to be looked at while it runs or after a kill."""
    _write(root, UNFINISHED, latest)


def _write(root: str, name: str, latest: Latest) -> None:
    stages = {
        name: {
            "key": manifest.key,
            "manifest": manifest.path,
            "files": sorted({part.file for part in manifest.parts()}),
        }
        for name, manifest in latest.manifests.items()
    }
    body = {"recipe": latest.recipe, "recipe_digest": latest.recipe_digest, "inputs": latest.inputs, "stages": stages}
    storage.replace(storage.join(root, name), json.dumps(body, indent=1).encode())


def read_newest(root: str) -> Latest:
    """Return the last finished run of a work folder or, where none ever finished, what the first has done so far.

    Raises:
        RecipeError: the folder holds no finished stage.
        IntegrityError: a manifest or commit is missing or changed.
    """
    if storage.exists(storage.join(root, NAME)):
        return read_latest(root)
    return read_latest(root, UNFINISHED)


def read_latest(root: str, name: str = NAME) -> Latest:
    """Return the last run of a work folder, its manifests loaded.

    Raises:
        RecipeError: the folder holds no finished run.
        IntegrityError: a manifest or commit is missing or changed.
    """
    try:
        body = json.loads(storage.read_bytes(storage.join(root, name)))
        paths = {name: about["manifest"] for name, about in body["stages"].items()}
        recipe_digest, inputs, recipe = body["recipe_digest"], body["inputs"], str(body.get("recipe", ""))
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        raise RecipeError(f"{root}: no finished run here; `curate run RECIPE --work {root}` makes one") from None
    return Latest(recipe_digest, inputs, {name: _manifest(root, name, path) for name, path in paths.items()}, recipe)


def _manifest(root: str, stage: str, path: str) -> Manifest:
    try:
        return commits.load_manifest(root, path)
    except FileNotFoundError:
        raise IntegrityError(
            f"{path}: {stage} has no manifest there, though latest.json names it; restore it, or run the recipe again"
        ) from None
