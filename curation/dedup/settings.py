"""What a recipe may say about deduplication."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ShingleSettings(BaseModel):
    """What a document is made of when it is compared."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    unit: Literal["word", "character", "auto"] = Field(
        "word", description="words, or code points for scripts without spaces; auto: by the script of most letters"
    )
    length: int = Field(5, gt=0, le=64, description="units in a shingle")
    hash: Literal["rolling", "sha1"] = Field("rolling", description="sha1: as datasketch hashes, 50 times slower")


class DedupSettings(BaseModel):
    """How duplicates are found and which of them goes. Defaults are the paper's where it states one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shingle: ShingleSettings = Field(ShingleSettings(), description="what is compared")
    bands: int = Field(20, gt=0, le=256, description="bands of the signature; more find more (paper: 20)")
    rows: int = Field(13, gt=0, le=64, description="values in a band; more find less (paper: 13)")
    scheme: Literal["affine32", "legacy"] = Field("affine32", description="permutations of datasketch 2, or of 1")
    seed: int = Field(1, ge=0, lt=1 << 32, description="seed of the permutations (datasketch's default)")
    threshold: float = Field(0.8, gt=0, le=1, description="least Jaccard similarity of a duplicate (paper: 0.8)")
    removal: Literal["greedy", "component"] = Field("greedy", description="component: one of each connected component")
    survivor: Literal["first", "longest", "quality"] = Field("first", description="who stays within one source")
    max_kept_per_band: int = Field(1024, gt=0, description="kept members a document is compared with per band")
    max_cluster_share: float | None = Field(
        None, gt=0, le=1, description="guard: largest share of all documents that one cluster may hold"
    )
    driver_pairs: int = Field(
        100_000_000, ge=0, description="edges up to which one process finds connected components; above it, all do"
    )

    @property
    def rule(self) -> dict[str, object]:
        """What decides about documents: all but guards and who works."""
        return self.model_dump(mode="json", exclude={"max_cluster_share", "driver_pairs"})

    @model_validator(mode="after")
    def _signature_is_bounded(self) -> Self:
        if self.bands * self.rows > 2048:
            raise ValueError(f"bands × rows is {self.bands * self.rows}; a signature may have 2048 values")
        return self

    @property
    def threshold_ppm(self) -> int:
        """The threshold as the integer that decides."""
        return round(self.threshold * 1_000_000)
