"""What a recipe may say about decontamination."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from curation.decontamination.benchmarks import Benchmark


class DecontaminationSettings(BaseModel):
    """Which benchmark texts are looked for, and what is cut where they are found. Defaults are the paper's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index_fields: ClassVar[set[str]] = {"mode"}  # with the benchmarks, all that matches depend on

    mode: Literal["paper", "extended"] = Field("paper", description="which fields protect, and how words are read")
    benchmarks: tuple[Benchmark, ...] = Field(min_length=1, description="files of benchmark examples")
    spare_from_documents: int = Field(10, gt=1, description="an n-gram found in so many documents is a common phrase")
    min_piece_characters: int = Field(200, ge=0, description="a piece of so many code points or fewer goes")
    max_pieces: int = Field(10, gt=0, description="a document that falls into more pieces goes whole")
