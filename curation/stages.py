"""The stages as plain data, and the keys that say when work is the same work.

A key is a digest of stage, version, parameters, the keys of its inputs, the digests of its assets and the versions
of libraries that can change its bytes. No key needs anything to run: `plan` knows them all. An *item* is the part
of a stage that one commit covers (a group of input files, a shard), and has a key of its own, so that a change to
one source leaves the others' items as they are.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from curation.digests import value_digest
from curation.recipe import Recipe, Source, readings
from curation.registry import InputFile, Inputs

_LIBRARIES = {
    "ingest": ("ftfy", "resiliparse", "trafilatura", "jusText", "pycld2", "fastwarc", "mwparserfromhell", "pylatexenc"),
    "signals": ("pycld2", "pyarrow"),
    "signatures": ("pyarrow",),  # its Unicode tables lower-case shingles
    "quality_model": ("fasttext-numpy2", "pycld2", "numpy"),
    "quality": ("fasttext-numpy2",),
}
_UNICODE = {"ingest", "signals", "quality_model", "quality", "matches"}  # stages that ask Python about characters


@dataclass(frozen=True)
class Stage:
    """What a stage does, as data. `inputs` are the stages it reads."""

    name: str
    version: int
    inputs: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def libraries(self) -> dict[str, str]:
        """Versions of what can change the stage's bytes."""
        found = {name: _version(name) for name in _LIBRARIES.get(self.name, ())}
        return found | ({"unicode": unicodedata.unidata_version} if self.name in _UNICODE else {})


@dataclass(frozen=True)
class Stages:
    """The stages of one recipe in order, with their keys."""

    order: tuple[Stage, ...]
    keys: Mapping[str, str]

    def __getitem__(self, name: str) -> Stage:
        return next(stage for stage in self.order if stage.name == name)

    def __contains__(self, name: str) -> bool:
        return name in self.keys

    @property
    def judges(self) -> list[str]:
        """The judges of this recipe, in order."""
        return [stage.name for stage in self.order if stage.name in ("filter", "dedup", "decontaminate")]


@dataclass(frozen=True)
class Item:
    """What one commit of a stage covers: its name and key, and the bytes it reads (of input files, else of text)."""

    name: str
    key: str
    bytes: int


@dataclass(frozen=True)
class Unit:
    """An item of ingest: consecutive files of one group and generation, read by one task in order."""

    group: str
    files: tuple[InputFile, ...]

    @property
    def item(self) -> str:
        """Its name: numbers of the first and the last file."""
        return f"{self.files[0].file:08d}-{self.files[-1].file:08d}"

    @property
    def bytes(self) -> int:
        """Size of its files."""
        return sum(file.bytes for file in self.files)


def declare(recipe: Recipe, assets: Mapping[str, str]) -> Stages:
    """Return the stages of a recipe. `assets` maps each file the recipe names (benchmarks, models, …) to its digest."""
    order = tuple(_stages(recipe, assets))
    keys: dict[str, str] = {}
    for stage in order:
        keys[stage.name] = _key(stage, [keys[name] for name in stage.inputs])
    return Stages(order, keys)


def item_key(stage: Stage, upstream: Sequence[str], own: Any = None) -> str:
    """Return the key of one item: of the stage's parameters, its inputs' item keys, and what is the item's own."""
    return value_digest([stage.name, stage.version, dict(stage.parameters), stage.libraries, list(upstream), own])


def ingest_key(recipe: Recipe, stage: Stage, unit: Unit, numbers: Mapping[str, int]) -> str:
    """Return the key of a unit: only what concerns its group and its files."""
    files = [[file.uri, file.bytes, file.fingerprint, file.file] for file in unit.files]
    members = {source.name: numbers[source.name] for source in _members(recipe, unit.group)}
    common = {name: value for name, value in stage.parameters.items() if name != "groups"}
    own = [stage.parameters["groups"][unit.group], files, members]
    return value_digest([stage.name, stage.version, common, stage.libraries, own])


def units(inputs: Inputs, unit_bytes: int) -> list[Unit]:
    """Return the units of all files: consecutive files of a group and generation, up to `unit_bytes` together.

    A file that is larger alone is a unit of its own. Files added later never change an earlier unit.
    """
    found: list[Unit] = []
    for group in sorted({file.group for file in inputs.files}):
        found += _pack(group, inputs.of_group(group), unit_bytes)
    return sorted(found, key=lambda unit: unit.files[0].file)


def _pack(group: str, files: Sequence[InputFile], unit_bytes: int) -> list[Unit]:
    packed: list[list[InputFile]] = []
    held = 0
    for file in files:
        if not packed or held + file.bytes > unit_bytes or packed[-1][0].generation != file.generation:
            packed.append([])
            held = 0
        packed[-1].append(file)
        held += file.bytes
    return [Unit(group, tuple(members)) for members in packed]


def _stages(recipe: Recipe, assets: Mapping[str, str]) -> list[Stage]:
    signals = Stage("signals", 2, ("ingest",), _signal_parameters(recipe, assets))
    stages = [Stage("ingest", 2, (), _ingest_parameters(recipe, assets)), signals]
    judged = ["signals"]
    if recipe.quality_model is not None:
        model = recipe.quality_model
        trained = () if model.file else ("ingest",)
        parameters = {
            "model": _plain(model),
            "seed": recipe.seed,
            "asset": assets.get(model.file or ""),
            "human_labels": assets.get(model.human_labels or ""),
            "rules": _drawing_rules(recipe),
            "language": _language_parameters(recipe, assets),
        }
        stages += [Stage("quality_model", 3, trained, parameters), Stage("quality", 2, ("ingest", "quality_model"))]
        judged.append("quality")
    if recipe.dedup is not None:
        signature = recipe.dedup.model_dump(include={"shingle", "bands", "rows", "scheme", "seed"})
        stages.append(Stage("signatures", 1, ("ingest",), signature))
    if recipe.decontamination is not None:
        benchmarks = [[_plain(benchmark), assets[benchmark.path]] for benchmark in recipe.decontamination.benchmarks]
        index = recipe.decontamination.model_dump(include=recipe.decontamination.index_fields)
        stages.append(Stage("matches", 3, ("ingest",), {**index, "benchmarks": benchmarks}))
    stages.append(Stage("filter", 2, tuple(judged), _filter_parameters(recipe, assets)))
    kept = "filter"
    if recipe.dedup is not None:
        order = [[source.name, source.role] for source in recipe.source]
        stages.append(Stage("dedup", 2, (kept, "signatures"), {**recipe.dedup.rule, "order": order}))
        kept = "dedup"
    if recipe.decontamination is not None:
        rule = recipe.decontamination.model_dump(exclude=recipe.decontamination.index_fields | {"benchmarks"})
        stages.append(Stage("decontaminate", 2, (kept, "matches"), rule))
    judges = tuple(stage.name for stage in stages if stage.name in ("filter", "dedup", "decontaminate"))
    stages.append(Stage("assemble", 1, ("ingest", *judged, *judges)))
    stages.append(Stage("tokenize", 1, ("assemble",), _token_parameters(recipe, assets)))
    return stages


def _signal_parameters(recipe: Recipe, assets: Mapping[str, str]) -> dict[str, Any]:
    tokenizer = recipe.tokens.tokenizer
    counted = {**_plain(tokenizer), "files": [assets[name] for name in tokenizer.files]}
    exact = {"tokenizer": counted} if recipe.tokens.count_exactly else {}
    return {"language": _language_parameters(recipe, assets), **exact}


def _language_parameters(recipe: Recipe, assets: Mapping[str, str]) -> dict[str, Any]:
    library = {"library": _version("fasttext-numpy2")} if recipe.language.detector == "fasttext" else {}
    return {**_plain(recipe.language), "model": assets.get(recipe.language.model or ""), **library}


def _ingest_parameters(recipe: Recipe, assets: Mapping[str, str]) -> dict[str, Any]:
    groups = {reading.name: _group_parameters(recipe, reading.name, assets) for reading in readings(recipe)}
    common = recipe.model_dump(mode="json", include={"limits", "shard_mib", "seed"})
    return {"groups": groups, **common}


def _group_parameters(recipe: Recipe, group: str, assets: Mapping[str, str]) -> dict[str, Any]:
    reading = next(reading for reading in readings(recipe) if reading.name == group)
    how = {"reader": reading.reader, "text_field": reading.text_field}
    fields = {"name", "select", "language_before_extraction", "extract", "repair", "clean", "sample"}
    fields |= {"document_boundary", "books", "url_block_list"}
    members = _members(recipe, group)
    named = {path: assets[path] for source in members for path in (source.books, source.url_block_list) if path}
    plain = [source.model_dump(include=fields, mode="json") for source in members]
    return {**how, "sources": plain, "assets": named}


def _members(recipe: Recipe, group: str) -> list[Source]:
    return [source for source in recipe.source if group in (source.from_, source.name)]


def _rules(recipe: Recipe) -> dict[str, Any]:
    """What `filter` knows of each source."""
    rules: dict[str, Any] = {}
    for source in recipe.source:
        profile = recipe.profile[source.profile] if source.profile else None
        rules[source.name] = {"profile": profile and _plain(profile), "damage": source.damage, "role": source.role}
        if source.max_documents is not None:
            rules[source.name]["max_documents"] = source.max_documents
    return rules


def _drawing_rules(recipe: Recipe) -> dict[str, Any]:
    """What a document passes before the classifier may learn from it; a threshold on anything else trains nothing."""
    model = recipe.quality_model
    drawn = {*model.positives, *model.negatives} if model is not None else set()
    profiles = {name: recipe.source_named(name).profile for name in sorted(drawn)}
    return {name: _plain(recipe.profile[own].language_and_length()) if own else None for name, own in profiles.items()}


def _filter_parameters(recipe: Recipe, assets: Mapping[str, str]) -> dict[str, Any]:
    removal = assets[recipe.removal_list] if recipe.removal_list else None
    return {"sources": _rules(recipe), "seed": recipe.seed, "removal_list": removal}


def _token_parameters(recipe: Recipe, assets: Mapping[str, str]) -> dict[str, Any]:
    files = [assets[name] for name in recipe.tokens.tokenizer.files]
    own = recipe.tokens.model_dump(mode="json", exclude={"training_tokens", "max_epochs", "count_exactly"})
    shuffled = [source.name for source in recipe.source if source.shuffle]
    return {**own, "files": files, "seed": recipe.seed, "shuffle": shuffled}


def _plain(model: Any) -> dict[str, Any]:
    return dict(model.model_dump(mode="json", by_alias=True))


def _key(stage: Stage, upstream: Sequence[str]) -> str:
    return item_key(stage, upstream)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
