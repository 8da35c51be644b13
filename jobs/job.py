"""One run of one recipe on one work folder: what every stage needs to know, and how a stage is begun and ended.

Every entry point of this package takes the same arguments: `RECIPE --work DIR [--input ROOT] [--set key=value]…
[--master MASTER]`.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from curation import commits, storage
from curation.commits import Commit, Manifest
from curation.digests import value_digest
from curation.errors import CurationError, RecipeError
from curation.recipe import Recipe, load_recipe
from curation.registry import Inputs, Registry, fingerprint_of, read_registry, register, survey, write_generation
from curation.shards_table import Shard, shards_of
from curation.stages import Stages, Unit, declare, units
from jobs.log import Log
from jobs.spark import open_session, settings_in_force

UNIT_BYTES = 64 << 20  # small input files read by one task; larger files are tasks of their own


@dataclass
class Job:
    """A recipe, a work folder and the inputs found; Spark starts when a stage first needs it."""

    recipe: Recipe
    recipe_path: str
    root: str
    input_root: str
    master: str | None
    inputs: Inputs
    stages: Stages
    registries: tuple[Registry, Registry]
    seen: "_Seen" = field(repr=False)
    log: Log = field(default_factory=Log)
    _manifests: dict[str, Manifest] = field(default_factory=dict, repr=False)
    _began: float = field(default_factory=time.time, repr=False)
    _spark: Any = field(default=None, repr=False)

    @property
    def spark(self) -> Any:
        """The session, started at first use."""
        if self._spark is None:
            self._spark = open_session(self.master)
            address = self._spark.sparkContext.uiWebUrl
            if address:
                self.log.say(f"Spark UI: {address}", "spark", address=address)
        return self._spark

    def started_spark(self) -> Any:
        """Return the session if a stage has needed it already, else None."""
        return self._spark

    @property
    def recipe_digest(self) -> str:
        """What tells this recipe from another."""
        return value_digest(self.recipe.model_dump(mode="json", by_alias=True))

    @property
    def source_names(self) -> dict[int, str]:
        """The sources by registry number."""
        return {number: name for name, number in self.inputs.numbers.items()}

    @cached_property
    def units(self) -> list[Unit]:
        """The items of ingest."""
        return units(self.inputs, UNIT_BYTES)

    @property
    def partitions(self) -> int:
        """Partitions of a shuffle of narrow rows: four a core, so that a slow one is not waited for alone."""
        return max(4, 4 * int(self.spark.sparkContext.defaultParallelism))

    def register(self) -> None:
        """Append the new input files to the work folder's register."""
        write_generation(self.root, *self.registries)
        self.seen.save()

    def key(self, stage: str) -> str:
        """Return the key of a stage."""
        return self.stages.keys[stage]

    def committed(self, stage: str) -> Manifest | None:
        """Return the manifest of a stage for this run's inputs, or None. It never changes, so it is read once."""
        if stage not in self._manifests:
            found = commits.read_manifest(self.root, stage, self.key(stage), self.inputs.digest)
            if found is None:
                return None
            self._manifests[stage] = found
        return self._manifests[stage]

    def manifest(self, stage: str) -> Manifest:
        """Return the manifest of a stage that another one reads. Raises RecipeError (exit 2) if it is not committed."""
        found = self.committed(stage)
        if found is None:
            raise RecipeError(
                f"{stage} is not committed in {self.root} for this recipe and these inputs; "
                f"run `curate run {self.recipe_path} --work {self.root}`, or the job of {stage} first"
            )
        return found

    def shards(self) -> list[Shard]:
        """Return the shards of documents that ingest committed, in order of doc_id."""
        return shards_of(self.manifest("ingest"))

    def begin(self) -> None:
        """Note when work on what `finish` puts next began."""
        self._began = time.time()

    def finish(self, stage: str, done: Sequence[Commit], notes: Mapping[str, Any] | None = None) -> Manifest:
        """Put the manifest of a stage, and return it."""
        declared = self.stages[stage]
        about = {
            "version": declared.version,
            "parameters": declared.parameters,
            "libraries": declared.libraries,
            "inputs": {name: self.key(name) for name in declared.inputs},
            "spark": settings_in_force(self._spark) if self._spark is not None else {},
            "timing": {"started": round(self._began, 3), "seconds": round(time.time() - self._began, 3)},
            **(notes or {}),
        }
        manifest = Manifest(
            stage, self.key(stage), self.inputs.digest, tuple(done), json.loads(json.dumps(about, default=dict))
        )
        return commits.put_manifest(self.root, manifest)


def arguments(name: str, about: str) -> argparse.ArgumentParser:
    """Return the parser that every entry point shares."""
    parser = argparse.ArgumentParser(prog=name, description=about)
    add_run_arguments(parser)
    return parser


def add_run_arguments(parser: argparse.ArgumentParser, work: str | None = None) -> None:
    """Add what says which run is meant; without a default for it, `--work` must be given."""
    parser.add_argument("recipe", metavar="RECIPE", help="path of a recipe, e.g. recipes/web.toml")
    told = f" (default: {work})" if work is not None else ""
    where = f"work folder: a path or s3://bucket/prefix{told}"
    parser.add_argument("--work", required=work is None, metavar="DIR", help=where)
    parser.add_argument(
        "--input", metavar="ROOT", help="folder the recipe's inputs are relative to (default: the recipe's)"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override a value of the recipe"
    )
    add_spark_arguments(parser)


def add_spark_arguments(parser: argparse.ArgumentParser) -> None:
    """Add where the work is done, and how progress is told."""
    parser.add_argument("--master", metavar="MASTER", help="Spark master (default: all cores of this machine)")
    parser.add_argument("--log", choices=("text", "json"), default="text", help="progress for people, or JSON lines")


def open_job(options: argparse.Namespace) -> Job:
    """Return the job that the command line describes; nothing is written yet. Raises RecipeError, IntegrityError."""
    recipe = load_recipe(options.recipe, options.set)
    root = storage.absolute(options.work)
    input_root = storage.absolute(options.input or os.path.dirname(os.path.abspath(options.recipe)))
    before = read_registry(root)
    found = survey(recipe, input_root, root)
    seen = _Seen(root)
    after, inputs = register(before, recipe, found, lambda entry: seen.fingerprint(input_root, entry))
    stages = declare(recipe, _assets(recipe, input_root))
    log = Log(is_json=options.log == "json")
    return Job(recipe, options.recipe, root, input_root, options.master, inputs, stages, (before, after), seen, log)


def run_stage(name: str, about: str, argv: Sequence[str] | None, run: Callable[[Job], Manifest]) -> int:
    """Run one stage as a program of its own: the `main` of each entry point. Returns the exit code."""
    options = arguments(f"jobs/{name}.py", about).parse_args(argv)
    try:
        job = open_job(options)
        job.register()
        started = time.monotonic()
        job.begin()
        manifest = run(job)
    except CurationError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(f"{manifest.stage}: {manifest.path} ({time.monotonic() - started:.1f} s)", file=sys.stderr)
    return 0


def _assets(recipe: Recipe, input_root: str) -> dict[str, str]:
    """Return the sha256 of every file that the recipe names by path."""
    paths = [*recipe.tokens.tokenizer.files]
    paths += [path for source in recipe.source for path in (source.books, source.url_block_list) if path is not None]
    if recipe.removal_list is not None:
        paths.append(recipe.removal_list)
    if recipe.quality_model is not None and recipe.quality_model.file is not None:
        paths.append(recipe.quality_model.file)
    if recipe.quality_model is not None and recipe.quality_model.human_labels is not None:
        paths.append(recipe.quality_model.human_labels)
    if recipe.language.model is not None:
        paths.append(recipe.language.model)
    if recipe.decontamination is not None:
        paths += [benchmark.path for benchmark in recipe.decontamination.benchmarks]
    return {path: _asset_digest(storage.resolve(input_root, path)) for path in paths}


def _asset_digest(url: str) -> str:
    try:
        return storage.sha256(url)
    except FileNotFoundError:
        raise RecipeError(f"{url}: the recipe names this file, and it is not there") from None


class _Seen:
    """Fingerprints of local files by size and modification time, so that a second plan does not read them again.

    A convenience beside the register: losing it costs one reading of the inputs, a wrong entry cannot be made
    without changing a file behind its modification time.
    """

    def __init__(self, root: str) -> None:
        self._url = storage.join(root, "seen.json")
        try:
            rows = json.loads(storage.read_bytes(self._url)).items()
            self._known = {str(name): (str(state), str(print_)) for name, (state, print_) in rows}
        except (FileNotFoundError, ValueError, TypeError, AttributeError):
            self._known = {}
        self._used: dict[str, tuple[str, str]] = {}

    def fingerprint(self, input_root: str, entry: storage.Entry) -> str:
        """Return the file's fingerprint, from memory if nothing about it changed."""
        name, state = storage.join(input_root, entry.path), f"{entry.bytes} {entry.version}"
        known = self._known.get(name)
        print_ = known[1] if known is not None and known[0] == state else fingerprint_of(input_root, entry)
        self._used[name] = (state, print_)
        return print_

    def save(self) -> None:
        """Remember for the next plan."""
        if self._used != self._known:
            storage.replace(self._url, json.dumps(self._used, sort_keys=True).encode())
