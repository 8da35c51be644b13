"""The papers of shards: a sidecar beside each pair, and one `shards.json` for all of them.

Megatron's files say neither which tokenizer made them nor whether they are whole; these do. Both are plain JSON.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT_VERSION: Literal[1] = 1

_Sha256 = Field(pattern=r"^[0-9a-f]{64}$")


class _Paper(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PairEntry(_Paper):
    """What `shards.json` says about one pair."""

    name: str = Field(min_length=1, description="file name without .bin or .idx", examples=["wikipedia-train-00000"])
    source: str = Field(
        min_length=1, description="source of the recipe whose documents these are", examples=["wikipedia"]
    )
    split: Literal["train", "valid"] = Field(description="what the pair is for")
    sequences: int = Field(ge=1, description="sequences of the index; one per document")
    documents: int = Field(ge=1, description="documents, or kept pieces of split ones")
    tokens: int = Field(ge=1, description="tokens, end-of-document after each document included")
    bytes: int = Field(ge=1, description="bytes of the .bin")
    sha256_bin: str = _Sha256
    sha256_idx: str = _Sha256


class PairSidecar(PairEntry):
    """`NAME.json`: all a reader needs to trust the pair beside it."""

    version: Literal[1] = FORMAT_VERSION
    tokenizer: str = Field(pattern=r"^[0-9a-f]{64}$", description="sha256 of the tokenizer's canonical form")
    vocabulary_size: int = Field(ge=1, description="distinct tokens of the tokenizer")
    largest_id: int = Field(ge=0, description="largest token id of the tokenizer; what decides the dtype")
    dtype: Literal["uint16", "int32"] = Field(description="of the tokens in the .bin, little-endian")
    eod: int = Field(ge=0, description="id of the end-of-document token, found once in each document: at its end")
    recipe: str = Field(min_length=1, description="digest of the recipe that the documents were curated by")

    def entry(self) -> PairEntry:
        """Return the part of this that stands in `shards.json`."""
        return PairEntry.model_validate(self.model_dump(include=set(PairEntry.model_fields)))


class Shards(_Paper):
    """`shards.json`: the pairs of one run, which share tokenizer and dtype."""

    version: Literal[1] = FORMAT_VERSION
    tokenizer: str = Field(pattern=r"^[0-9a-f]{64}$", description="sha256 of the tokenizer's canonical form")
    dtype: Literal["uint16", "int32"] = Field(description="of the tokens in every .bin, little-endian")
    eod: int = Field(ge=0, description="id of the end-of-document token")
    pairs: tuple[PairEntry, ...]


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of one of these files, or of `blend.json`."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | model.model_json_schema(mode="serialization")
