"""The JSON papers of a work folder as models, and the JSON Schemas of all papers.

The schemas stand in schemas/*.schema.json for readers without Python. They are generated and never edited:
`python -m curation.papers` writes them, and a test holds them equal to the models.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from curation.recipe import Recipe
from curation.shards.blend import Blend
from curation.shards.sidecar import PairSidecar, Shards

SCHEMAS = Path(__file__).parents[1] / "schemas"
_DRAFT = "https://json-schema.org/draft/2020-12/schema"

_DIGEST = r"^[0-9a-f]{32}$"


class _Paper(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PartPaper(_Paper):
    """What a commit says about one file."""

    table: str = Field(description="table whose rows it holds, or model, bin, idx", examples=["documents"])
    file: str = Field(description="path relative to the work folder")
    rows: int = Field(ge=0, description="rows of the table; 0 for a file that is none")
    bytes: int = Field(ge=0, description="size of the file")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="of the file's bytes")
    digest: str = Field(pattern=_DIGEST, description="of the rows, in any order and batching")
    facts: dict[str, Any] = Field(description="what the file is about, e.g. its shard and source")


class CommitPaper(_Paper):
    """`STAGE/commits/ITEM-KEY.json`: one finished item of a stage. Put if absent, never changed."""

    stage: str
    item: str = Field(description="group of input files, shard, pair, or for a judge the set of inputs")
    key: str = Field(description="digest of everything that the item's rows depend on")
    digest: str = Field(description="of tables, rows, digests, facts and counts, not of file names")
    parts: tuple[PartPaper, ...]
    counts: dict[str, Any] = Field(description="what has no row: units and bytes by source, skipped bytes by file")


class ListedCommit(_Paper):
    """A commit as a manifest lists it."""

    commit: str = Field(description="path relative to the work folder")
    digest: str = Field(description="what the commit's digest has to be")


class ManifestPaper(_Paper):
    """`STAGE/manifests/KEY-INPUTS.json`: a finished stage. The only proof that its output exists; put last."""

    stage: str
    key: str = Field(description="digest of the stage's version, parameters, libraries and the keys of its inputs")
    inputs: str = Field(description="digest of the set of input files")
    digest: str = Field(description="of each table's rows, whatever the order and number of parts")
    rows: int = Field(ge=0)
    bytes: int = Field(ge=0)
    commits: tuple[ListedCommit, ...]
    notes: dict[str, Any] = Field(description="version, parameters, libraries, keys of the inputs, Spark's settings")
    notes_digest: str | None = Field(default=None, description="of the notes; manifests of the first release have none")


class LatestStage(_Paper):
    """A stage as latest.json lists it."""

    key: str
    manifest: str = Field(description="path relative to the work folder")
    files: tuple[str, ...] = Field(description="every committed file, relative to the work folder")


class LatestPaper(_Paper):
    """`latest.json`: where the last run's manifests stand. A convenience that proves nothing."""

    recipe: str = Field("", description="name of the recipe")
    recipe_digest: str
    inputs: str = Field(description="digest of the set of input files")
    stages: dict[str, LatestStage]


PAPERS: Mapping[str, type[BaseModel]] = MappingProxyType(
    {
        "recipe": Recipe,
        "commit": CommitPaper,
        "manifest": ManifestPaper,
        "latest": LatestPaper,
        "shards": Shards,
        "sidecar": PairSidecar,
        "blend": Blend,
    }
)


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a paper. A recipe's is of what people write, the others' of what the tool writes."""
    mode: Any = "validation" if name == "recipe" else "serialization"
    return {"$schema": _DRAFT, **PAPERS[name].model_json_schema(mode=mode)}


def text(name: str) -> str:
    """Return the schema as its file holds it."""
    return json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n"


def path(name: str) -> Path:
    """Return where a paper's schema stands."""
    return SCHEMAS / f"{name}.schema.json"


def main() -> int:
    """Write every schema."""
    for name in PAPERS:
        path(name).write_text(text(name), "utf-8")
    return 0


if __name__ == "__main__":
    main()
