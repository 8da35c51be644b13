"""Everything that a report tells, gathered from committed files as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from curation import storage
from curation.commits import Manifest
from curation.errors import IntegrityError
from curation.latest import Latest, read_newest
from curation.ledger import Entry, ledger
from curation.lookup import Folder
from curation.registry import read_registry
from curation.report.contamination import Contamination, contamination
from curation.report.distributions import Distributions, distributions
from curation.report.duplicates import Duplicates, duplicates
from curation.report.funnel import Step, funnel, removals, sources
from curation.report.mixture import Ingredient, mixture
from curation.report.quality import quality_card
from curation.report.timeline import Span, timeline
from curation.report.training import Training, training
from curation.shards.blend import Blend
from curation.shards.sidecar import Shards

_Paper = TypeVar("_Paper", bound=BaseModel)


@dataclass(frozen=True)
class StageFact:
    """What a stage's manifest says, for the record."""

    stage: str
    key: str
    digest: str
    version: Any
    rows: int
    bytes: int
    files: int
    manifest: str


@dataclass(frozen=True)
class Report:
    """The contents of a report; `entries` are the ledger's lines."""

    recipe: str
    recipe_digest: str
    inputs: str
    entries: tuple[Entry, ...]
    sources: tuple[str, ...]
    total: tuple[Step, ...]
    by_source: Mapping[str, tuple[Step, ...]]
    mixture: tuple[Ingredient, ...]
    stages: tuple[StageFact, ...]
    software: Mapping[str, str]
    shards: Shards | None
    shards_folder: str | None
    quality: Mapping[str, Any] | None  # the classifier's card, see curation.report.quality
    training_tokens: int | None  # the length of training that epochs are counted for
    contamination: Contamination | None
    duplicates: Duplicates | None
    distributions: Distributions | None
    training: Training | None
    timeline: tuple[Span, ...]

    @property
    def balanced(self) -> bool:
        """Whether every line of the ledger balances."""
        return all(entry.balanced for entry in self.entries)

    @property
    def tokens(self) -> int:
        """Tokens of all pairs."""
        return sum(pair.tokens for pair in self.shards.pairs) if self.shards is not None else 0

    def to_json(self) -> dict[str, Any]:
        """Return plain data, as `curate report --json` prints it."""
        rows = {
            fate: [
                {"stage": stage, "source": source, "reason": reason, **size.to_json()}
                for stage, source, reason, size in removals(self.entries, fate)
            ]
            for fate in ("drop", "quarantine")
        }
        return {
            "recipe": self.recipe,
            "recipe_digest": self.recipe_digest,
            "inputs": self.inputs,
            "balanced": self.balanced,
            "tokens": self.tokens,
            "training_tokens": self.training_tokens,
            "funnel": [step.to_json() for step in self.total],
            "sources": {source: [step.to_json() for step in steps] for source, steps in self.by_source.items()},
            "mixture": [ingredient.to_json() for ingredient in self.mixture],
            **rows,
            "quality_model": self.quality,
            "contamination": self.contamination.to_json() if self.contamination is not None else None,
            "duplicates": self.duplicates.to_json() if self.duplicates is not None else None,
            "distributions": self.distributions.to_json() if self.distributions is not None else None,
            "training": self.training.to_json() if self.training is not None else None,
            "timeline": [span.to_json() for span in self.timeline],
            "stages": [vars(stage) for stage in self.stages],
            "software": dict(self.software),
        }


def collect(root: str) -> Report:
    """Return the contents of the report on the last run of a work folder.

    Raises:
        RecipeError: the folder holds no finished run.
        IntegrityError: a committed file is missing or changed.
    """
    latest = read_newest(root)
    registry = read_registry(root)
    names = {number: name for name, number in registry.numbers.items()}
    entries = tuple(ledger(root, latest.manifests, names))
    found = _in_order(sources(entries), [names[number] for number in sorted(names)])
    folder = _shards_folder(latest)
    shards = _paper(root, folder, "shards.json", Shards)
    blend = _paper(root, folder, "blend.json", Blend)
    return Report(
        latest.recipe,
        latest.recipe_digest,
        latest.inputs,
        entries,
        tuple(found),
        tuple(funnel(entries)),
        {source: tuple(funnel(entries, source)) for source in found},
        tuple(mixture(entries, found, shards, blend)),
        tuple(_fact(manifest) for manifest in latest.manifests.values()),
        _software(latest),
        shards,
        folder,
        quality_card(latest.manifests),
        blend.training_tokens if blend is not None else None,
        contamination(root, latest.manifests),
        duplicates(Folder(root, latest.manifests, registry)),
        distributions(root, latest.manifests.get("filter")),
        training(root, folder),
        timeline(latest.manifests, entries),
    )


def _in_order(found: list[str], registered: list[str]) -> list[str]:
    """Return the sources in the order of the register, which is the recipe's for those of its first run."""
    return [source for source in registered if source in found]


def _shards_folder(latest: Latest) -> str | None:
    tokenize = latest.manifests.get("tokenize")
    folder = tokenize.notes.get("shards") if tokenize is not None else None
    return None if folder is None else str(folder)


def _paper(root: str, folder: str | None, name: str, model: type[_Paper]) -> _Paper | None:
    """Return one of the papers beside the shards; None where no pair was made."""
    if folder is None:
        return None
    try:
        return model.model_validate_json(storage.read_bytes(storage.join(root, folder, name)))
    except FileNotFoundError:
        return None
    except ValidationError:
        raise IntegrityError(f"{folder}/{name} is damaged; run the same recipe again, which writes it anew") from None


def _fact(manifest: Manifest) -> StageFact:
    parts = manifest.parts()
    rows, size = sum(part.rows for part in parts), sum(part.bytes for part in parts)
    version = manifest.notes.get("version")
    return StageFact(manifest.stage, manifest.key, manifest.digest, version, rows, size, len(parts), manifest.path)


def _software(latest: Latest) -> dict[str, str]:
    """Return the versions that the manifests say the run was made with."""
    found: dict[str, str] = {}
    for manifest in latest.manifests.values():
        found |= {name: str(version) for name, version in manifest.notes.get("libraries", {}).items()}
        if "spark.version" in manifest.notes.get("spark", {}):
            found["spark"] = str(manifest.notes["spark"]["spark.version"])
    return dict(sorted(found.items()))
