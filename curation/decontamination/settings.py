"""What a recipe may say about decontamination."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from curation.decontamination.benchmarks import Benchmark

Common = Literal["megatron", "gpt3", "none"]
"""Which n-grams are phrases rather than leaks; `curation.decontamination.frequency` tells how each counts."""

Removal = Literal["split", "document", "flag"]
"""What goes where a benchmark is found: its surroundings, the whole document, or nothing but a note in the verdict."""


class DecontaminationSettings(BaseModel):
    """Which benchmark texts are looked for, and what is cut where they are found. Defaults are the paper's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index_fields: ClassVar[set[str]] = {"mode"}  # with the benchmarks, all that matches depend on

    mode: Literal["paper", "extended"] = Field("paper", description="which fields protect, and how words are read")
    benchmarks: tuple[Benchmark, ...] = Field(min_length=1, description="files of benchmark examples")
    common: Common = Field("megatron", description="which n-grams are set aside as phrases: by whose rule, or none")
    spare_from_documents: int | None = Field(
        None, gt=1, description="documents from which on an n-gram is set aside; default: 10 by megatron, 11 by gpt3"
    )
    removal: Removal = Field("split", description="what goes: the cut, the whole document, or nothing (flag)")
    min_piece_characters: int = Field(200, ge=0, description="a piece of so many code points or fewer goes")
    max_pieces: int = Field(10, gt=0, description="a document that falls into more pieces goes whole")
