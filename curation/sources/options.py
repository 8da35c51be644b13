"""What a recipe may tell a reader about a file's shape."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """The few choices that readers offer; each has the default that fits the published archives.

    Attributes:
        text_field: field or column that holds the text (jsonl, pile, parquet).
        member_suffixes: names of archive members that are documents (tar_text); others are skipped and counted.
    """

    text_field: str = "text"
    member_suffixes: tuple[str, ...] = (".txt",)
