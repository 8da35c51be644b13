"""Plain-text trees: one file is one document, in any compression, in a charset still to be told.

A file of which only the beginning could be read is no document: books without their end are not let in.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import BinaryIO

from curation.limits import Limits
from curation.sources.compression import Data, Expanded, Gap
from curation.sources.options import ReaderOptions
from curation.sources.units import BadUnit, Event, Record, Skipped, UnitErrorClass


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the one unit of a text file; an empty file has an empty record.

    Raises:
        OSError: storage failed.
    """
    expanded = Expanded(raw, uri, limits)
    held: list[bytes] = []
    digest = sha256()
    size = 0
    error: UnitErrorClass | None = None
    for segment in expanded.segments():
        if isinstance(segment, Gap) and segment.kind == "padding":
            yield Skipped("padding", len(segment.content))
            continue
        if not isinstance(segment, Data | Gap):
            continue
        size += len(segment.content)
        digest.update(segment.content)
        held.append(segment.content)
        if isinstance(segment, Gap) and segment.kind != "padding":
            error = error or segment.kind
        elif size > limits.max_document_bytes:
            error = error or "too_large"
        if error:
            held.clear()
    if error:
        yield BadUnit(0, "", 0, size, error, "file", digest.hexdigest())
    else:
        yield Record(0, "", 0, size, b"".join(held))
    yield expanded.end()
