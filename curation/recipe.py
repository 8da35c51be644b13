"""The recipe: what to read, how to judge it, what to make of it. Frozen models; an unknown key is an error.

The order of `[[source]]` is the priority order of deduplication. Models that belong to one part of the method
stand beside their owner; this module puts them together, checks what they say of each other, and reads TOML.
"""

import dataclasses
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from curation.decontamination.settings import DecontaminationSettings
from curation.dedup.settings import DedupSettings
from curation.errors import RecipeError
from curation.limits import Limits
from curation.profiles import Profile
from curation.published import PUBLISHED
from curation.recipe_errors import in_words, line_of, nearest, worth_telling
from curation.shards.tokenizer import TokenizerSpec
from curation.sources.options import DocumentBoundary
from curation.sources.registry import READERS
from curation.text.clean import RULES
from curation.text.language import LanguageSettings
from curation.text.quality import Parameters as QualityParameters

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=64)]
Share = Annotated[float, Field(ge=0, le=1)]
_SECRET = re.compile(
    r"secret|passw(or)?d|passphrase|credential|(access|api|private|account|ssh)[_-]?key|(auth|access|session|sas)[_-]?token"
    r"|bearer|authorization",
    re.I,
)
_SECRET_VALUE = re.compile(r"://[^/@\s]*:[^/@\s]*@|\bA(KI|SI)A[0-9A-Z]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY")


class Model(BaseModel):
    """A frozen model that refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Reading(Model):
    """How the files of a source or container are found and read."""

    reader: str = Field(description="name of the reader, e.g. jsonl, pile, parquet, text, tar_text, warc")
    inputs: tuple[str, ...] = Field(min_length=1, description="globs relative to the input root; ** crosses folders")
    exclude: tuple[str, ...] = Field((), description="globs of files that `inputs` match and that are left out")
    max_files: int | None = Field(None, gt=0, description="first files by path that are read; none: all")
    text_field: str = Field("text", description="field that holds the text, where records have fields")
    optional: bool = Field(False, description="whether the source may have no files at all")

    @model_validator(mode="after")
    def _reader_is_known(self) -> Self:
        _check_known("reader", self.reader, READERS)
        return self


class Container(Reading):
    """One set of files, read once, that several sources select from."""

    name: Name = Field(description="what sources call it in `from`")


class Source(Model):
    """One source of documents. Its place in the recipe is its priority."""

    name: Name = Field(description="name in every table, report and shard")
    reader: str | None = Field(None, description="name of the reader; absent if `from` names a container")
    inputs: tuple[str, ...] = Field((), description="globs relative to the input root; ** crosses folders")
    exclude: tuple[str, ...] = Field((), description="globs of files that `inputs` match and that are left out")
    max_files: int | None = Field(None, gt=0, description="first files by path that are read; none: all")
    from_: str | None = Field(None, alias="from", description="container the source selects from")
    select: tuple[str, ...] = Field((), description="sets of the container that belong to the source")
    text_field: str = Field("text", description="field that holds the text, where records have fields")
    document_boundary: DocumentBoundary = Field("blank_line", description="where a story of cc_stories ends")
    books: str | None = Field(None, description="PG-19's metadata.csv: titles and years for the pg19 reader")
    optional: bool = Field(False, description="whether the source may have no files at all")
    weight: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="share of the blend; weights are normalised to 1"
    )
    shuffle: bool = Field(False, description="whether documents are permuted in shards; token ids cross the shuffle")
    role: Literal["train", "reference"] = Field("train", description="reference: matched against, never emitted")
    language_before_extraction: tuple[str, ...] = Field((), description="languages of markup that are extracted")
    extract: Literal["none", "justext", "resiliparse", "trafilatura"] = Field("none", description="main-text extractor")
    repair: bool = Field(True, description="whether broken Unicode is repaired (ftfy)")
    clean: tuple[str, ...] = Field((), description="named rules, applied in order")
    profile: str | None = Field(None, description="profile whose rules judge the documents; none drops only empty text")
    sample: float = Field(1.0, gt=0, le=1, description="share of the units to keep, by coin; samples nest")
    max_documents: int | None = Field(None, gt=0, description="largest number of documents, by smallest coin; nests")
    url_block_list: str | None = Field(
        None, description="file of hosts, domains and URL prefixes to leave out, one a line"
    )
    damage: Literal["keep", "quarantine_file"] = Field("keep", description="what becomes of a damaged file's documents")
    max_quarantine_fraction: float = Field(0.01, ge=0, le=1, description="budget, from 1,000 units on")

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if (self.reader is None) == (self.from_ is None):
            raise ValueError(f"source {self.name}: give either `reader` and `inputs`, or `from` and `select`")
        if self.reader is not None:
            _check_known("reader", self.reader, READERS)
            if not self.inputs:
                raise ValueError(f"source {self.name}: `inputs` is missing")
        if self.from_ is not None and not self.select:
            raise ValueError(f"source {self.name}: `select` is missing")
        if self.from_ is not None and self.inputs:
            raise ValueError(f"source {self.name}: `inputs` belong to the container {self.from_}")
        if self.from_ is None and self.select:
            raise ValueError(f"source {self.name}: `select` goes with `from`, the container to select from")
        for rule in self.clean:
            _check_known("clean rule", rule, RULES)
        return self


class QualityModel(Model):
    """How the quality classifier is trained, or which model file is used instead."""

    positives: Mapping[str, int] = Field({}, description="source -> number of documents drawn by smallest coin")
    negatives: tuple[str, ...] = Field((), description="sources an equal number of negatives is drawn from")
    file: str | None = Field(None, description="an existing fastText model to use instead of training one")
    parameters: QualityParameters = Field(QualityParameters(), description="how fastText is trained")
    human_labels: str | None = Field(None, description="JSON lines of text and label (0, 1) that the card is judged by")
    max_sample_kib: int = Field(64, gt=0, description="a drawn text is cut to this size")

    @model_validator(mode="after")
    def _has_texts_or_a_file(self) -> Self:
        if (self.file is None) != bool(self.positives and self.negatives):
            raise ValueError("quality_model: give either `positives` and `negatives`, or `file`")
        return self


class Tokens(Model):
    """How the corpus becomes Megatron shards."""

    tokenizer: TokenizerSpec = Field(TokenizerSpec(builtin="gpt2"), description="vocabulary and merges")
    target_pair_mib: int | None = Field(
        None, gt=0, description="text of consecutive corpus shards that form a pair; none: at most 16 pairs a source"
    )
    count_exactly: bool = Field(False, description="whether signals count tokens with this tokenizer (tokens_exact)")
    validation_fraction: float = Field(0.02, ge=0, lt=1, description="share of documents held out, by coin")
    training_tokens: int | None = Field(
        None, gt=0, description="length of training that epochs are counted for; none: as many tokens as there are"
    )
    max_epochs: float = Field(
        4.0, gt=0, description="a source met more often is warned of; to 4 epochs repeating costs little (2305.16264)"
    )


class Recipe(Model):
    """A whole recipe."""

    name: Name = Field(description="name of the corpus")
    seed: int = Field(1234, ge=0, lt=1 << 63, description="seed of every coin")
    container: tuple[Container, ...] = Field((), description="files that several sources share")
    source: tuple[Source, ...] = Field(min_length=1, description="sources in priority order")
    profile: Mapping[str, Profile] = Field({}, description="named sets of rules")
    language: LanguageSettings = Field(LanguageSettings(), description="how a text's language is told")
    quality_model: QualityModel | None = Field(None, description="the classifier; none: no quality scores")
    dedup: DedupSettings | None = Field(None, description="duplicates; none: only counted nowhere, all kept")
    decontamination: DecontaminationSettings | None = Field(None, description="benchmark text to remove; none: kept")
    tokens: Tokens = Field(Tokens(), description="tokenizer and shards")
    removal_list: str | None = Field(None, description="file of doc_ids, SOURCE:PATH:RECORD or URLs to leave out")
    limits: Limits = Field(Limits(), description="what input may cost")
    shard_mib: int = Field(256, gt=0, description="text after which a shard of documents is sealed")
    max_removed: Mapping[str, Share] = Field({}, description="guards: stage -> largest share of a source it may remove")

    @model_validator(mode="before")
    @classmethod
    def _published_profiles_need_no_section(cls, given: Any) -> Any:
        """A source may name a published profile that the recipe does not spell out."""
        sources = given.get("source", ()) if isinstance(given, Mapping) else ()
        listed = sources if isinstance(sources, Sequence) else ()
        named = {source.get("profile") for source in listed if isinstance(source, Mapping)}
        own = given.get("profile", {}) if isinstance(given, Mapping) else {}
        found = {name: {"like": name} for name in PUBLISHED if name in named and name not in own}
        return {**given, "profile": {**found, **own}} if found else given

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [source.name for source in self.source] + [container.name for container in self.container]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"the name {name} is used twice; sources and containers share one name space")
        containers = {part.name for part in self.container}
        sources = {part.name for part in self.source}
        for source in self.source:
            if source.from_ is not None:
                _check_known(f"source {source.name}: container", source.from_, containers)
            if source.profile is not None:
                _check_known(f"source {source.name}: profile", source.profile, self.profile)
        drawn = (*self.quality_model.positives, *self.quality_model.negatives) if self.quality_model else ()
        for name in drawn:
            _check_known("quality_model: source", name, sources)
        for stage in self.max_removed:
            _check_known("max_removed: stage", stage, ("dedup", "decontaminate"))
        for name in sorted(containers - {source.from_ for source in self.source}):
            raise ValueError(f"container {name}: no source selects from it")
        self._sets_are_selected_once()
        self._weights_are_all_or_none()
        self._scores_are_there()
        self._exact_tokens_are_counted()
        return self

    def _weights_are_all_or_none(self) -> None:
        trained = [source for source in self.source if source.role == "train"]
        missing = [source.name for source in trained if source.weight is None]
        if missing and len(missing) < len(trained):
            raise ValueError(
                f"{', '.join(missing)}: no weight, though others have one; give it to all sources or to none"
            )

    def _sets_are_selected_once(self) -> None:
        taken: dict[tuple[str | None, str], str] = {}
        for source in self.source:
            for name in source.select:
                other = taken.setdefault((source.from_, name), source.name)
                if other != source.name:
                    raise ValueError(f"sources {other} and {source.name} both select {name}")

    def _scores_are_there(self) -> None:
        if self.quality_model is not None:
            return
        for name, profile in self.profile.items():
            if profile.pareto is not None:
                raise ValueError(f"profile {name} has a pareto rule, and there is no [quality_model] to score with")
        if self.dedup is not None and self.dedup.survivor == "quality":
            raise ValueError('dedup.survivor is "quality", and there is no [quality_model] to score with')

    def _exact_tokens_are_counted(self) -> None:
        for name, profile in self.profile.items():
            if not self.tokens.count_exactly and any(rule.column == "tokens_exact" for rule in profile.length):
                raise ValueError(f"profile {name} asks for exact_tokens: set count_exactly = true under [tokens]")

    def source_named(self, name: str) -> Source:
        """Return a source by name."""
        return next(source for source in self.source if source.name == name)


def readings(recipe: Recipe) -> list["Container | Source"]:
    """Return everything that has files of its own: all containers, and the sources that select from none."""
    return [*recipe.container, *(source for source in recipe.source if source.from_ is None)]


def load_recipe(path: str, overrides: Sequence[str] = ()) -> Recipe:
    """Return the recipe in a TOML file, with `key.path=value` overrides applied.

    Raises:
        RecipeError: the file is missing, is no TOML, or says something that cannot be done; the message names the
            place and, for a key that does not exist, the nearest that does.
    """
    try:
        text = Path(path).read_text("utf-8")
        values = tomllib.loads(text)
    except OSError as error:
        raise RecipeError(
            f"{path}: cannot be read ({error.strerror}); give the path of a recipe, e.g. recipes/web.toml"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: is no TOML: {error}") from None
    for override in overrides:
        _apply(values, override)
    return parse_recipe(values, path, "" if overrides else text)  # an override stands on no line


def parse_recipe(values: Mapping[str, Any], origin: str, text: str = "") -> Recipe:
    """Return the recipe that plain data describes; errors name lines of `text`. Raises RecipeError."""
    _refuse_secrets(values, origin)
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        found = worth_telling(error.errors())
        lines = [f"{origin}: {_place(text, item['loc'])}{_explain(item)}" for item in found]
        raise RecipeError("\n".join(lines)) from None


def _apply(values: dict[str, Any], override: str) -> None:
    key, separator, text = override.partition("=")
    if not separator:
        raise RecipeError(f"--set {override}: write key=value, e.g. --set dedup.threshold=0.7")
    *folders, last = key.strip().split(".")
    place: Any = values
    for folder in folders:
        place = _step(place, folder, override)
    if isinstance(place, list):
        raise RecipeError(f"--set {override}: name the entry, e.g. --set source.wikipedia.weight=0.1")
    if not isinstance(place, dict):
        raise RecipeError(f"--set {override}: there is no table for {last}")
    place[last] = _toml_value(text)


def _step(place: Any, name: str, override: str) -> Any:
    if isinstance(place, list):
        found = [entry for entry in place if isinstance(entry, dict) and entry.get("name") == name]
        if not found:
            raise RecipeError(f"--set {override}: there is no entry named {name}")
        return found[0]
    if not isinstance(place, dict):
        raise RecipeError(f"--set {override}: there is no table for {name}")
    return place.setdefault(name, {})


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _refuse_secrets(values: Any, origin: str) -> None:
    if isinstance(values, Mapping):
        for key, value in values.items():
            if _SECRET.search(key):
                raise RecipeError(
                    f"{origin}: {key} looks like a credential; credentials come from the environment only"
                )
            _refuse_secrets(value, origin)
    elif isinstance(values, list):
        for value in values:
            _refuse_secrets(value, origin)
    elif isinstance(values, str) and _SECRET_VALUE.search(values):
        raise RecipeError(f"{origin}: a value looks like a credential; credentials come from the environment only")


def _check_known(what: str, name: str, known: Any) -> None:
    if name not in known:
        raise ValueError(f"{what} {name!r} does not exist{nearest(name, known)}; there are: {', '.join(sorted(known))}")


def _place(text: str, location: tuple[int | str, ...]) -> str:
    line = line_of(text, location) if text else None
    told = f"line {line}: " if line is not None else ""
    return told + (".".join(str(step) for step in location) + ": " if location else "")


def _explain(item: Any) -> str:
    if item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"there is no such key{nearest(str(item['loc'][-1]), _keys_at(item['loc']))}"
    return in_words(item)


def _keys_at(location: tuple[int | str, ...]) -> list[str]:
    """Return the keys that the model at a location knows."""
    model: Any = Recipe
    for step in location[:-1]:
        if isinstance(step, str):
            model = _inner_model(model, step)
    if dataclasses.is_dataclass(model):
        return [field.name for field in dataclasses.fields(model)]
    return [field.alias or name for name, field in model.model_fields.items()]


def _inner_model(model: Any, step: str) -> Any:
    fields = getattr(model, "model_fields", {})
    pending = [field.annotation for name, field in fields.items() if step in (name, field.alias)]
    while pending:
        kind = pending.pop()
        if isinstance(kind, type) and (issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)):
            return kind
        pending.extend(getattr(kind, "__args__", ()))
    return model
