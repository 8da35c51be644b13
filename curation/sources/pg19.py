"""PG-19: one book per file, its title and year in a CSV beside; the evaluation splits are left out.

Books of the folders `validation` and `test` are dropped as `not_selected`: language models are measured on them.
`metadata.csv` has no header line; by position it holds the book's number, title and year of publication. The file
itself, where a glob takes it in, is skipped and counted.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import BinaryIO

from curation.limits import Limits
from curation.sources import text_tree
from curation.sources.options import ReaderOptions
from curation.sources.units import Dropped, Event, Record, Skipped

_EVALUATION_FOLDERS = {"validation", "valid", "val", "test"}


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the book in one file.

    Raises:
        OSError: storage failed.
    """
    path = PurePosixPath(uri)
    number = path.name.split(".")[0]
    for event in text_tree.read(raw, uri, limits, options):
        if not isinstance(event, Record):
            yield event
        elif path.suffix == ".csv":
            yield Skipped("metadata", event.raw_bytes)
        elif path.parent.name in _EVALUATION_FOLDERS:
            yield Dropped(event.ordinal, event.member, event.offset, event.raw_bytes, "not_selected")
        else:
            title, year = options.books.get(number, (None, None))
            yield replace(event, title=title, timestamp=year, metadata={"book_id": number})


def read_books(content: bytes) -> Mapping[str, tuple[str, str | None]]:
    """Return book number -> (title, year) from the bytes of `metadata.csv`; further columns are ignored."""
    rows = csv.reader(io.StringIO(content.decode("utf-8", "replace"), newline=""))
    return {row[0].strip(): (row[1], row[2].strip() or None) for row in rows if len(row) >= 3}
