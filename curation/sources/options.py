"""What a recipe may tell a reader about a file's shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

DocumentBoundary = Literal["blank_line", "file"]


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """The few choices that readers offer; each has the default that fits the published archives.

    Attributes:
        text_field: field or column that holds the text (jsonl, pile, parquet).
        member_suffixes: names of archive members that are documents (tar_text, texts); others are skipped and counted.
        document_boundary: where a document ends in a file of lines (cc_stories).
        books: book number -> (title, year) (pg19).
    """

    text_field: str = "text"
    member_suffixes: tuple[str, ...] = (".txt",)
    document_boundary: DocumentBoundary = "blank_line"
    books: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
