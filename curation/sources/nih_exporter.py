"""NIH ExPorter's and CRISP's project abstracts: zipped CSV files, one row one abstract.

Bytes are a mixture of encodings and are decoded row by row. The phrases with which forms began an abstract are taken
off. The same abstract stands in many years: duplicates are for `dedup`.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

from curation.limits import Limits
from curation.sources.archives import read_archive
from curation.sources.csv_rows import Row, read_rows
from curation.sources.options import ReaderOptions
from curation.sources.units import Event, Record

_ID, _TEXT = "APPLICATION_ID", "ABSTRACT_TEXT"
# What the application forms of four decades printed in front of the abstract.
_FORM_PHRASE = re.compile(
    r"""\s*(?:
      (?:project\s+)?(?:description|summary|abstract|narrative)(?:\s*(?:/|and|of)\s*(?:the\s+)?(?:research|project)?
        \s*(?:abstract|summary|description|project))*
        \s*(?:\((?:[^()]{0,60}(?:applicant|investigator|application|abstract)[^()]{0,60})\))?\s*[:.\-\n]
    | \((?:[^()]{0,40}(?:provided|adapted|verbatim|taken)[^()]{0,60})\)\s*:?
    | (?:description|abstract|project\s+summary)\s*\([^()]{0,100}\)\s*:?
    )\s*""",
    re.IGNORECASE | re.VERBOSE,
)


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the abstracts of one zip, or of one CSV file outside a zip.

    Raises:
        OSError: storage failed.
    """
    yield from read_archive(raw, uri, limits, options, lambda name: _read if _is_csv(name) else None, _read)


def without_form_phrases(abstract: str) -> str:
    """Return an abstract without the phrases a form put in front of it.

    >>> without_form_phrases("DESCRIPTION (provided by applicant): We study bees.")
    'We study bees.'
    """
    while (match := _FORM_PHRASE.match(abstract)) and match.end():
        abstract = abstract[match.end() :]
    return abstract.strip()


def _is_csv(name: str) -> bool:
    return name.lower().endswith(".csv")


def _read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    for item in read_rows(raw, uri, limits):
        if not isinstance(item, Row):
            yield item
            continue
        abstract = without_form_phrases(item.fields.get(_TEXT, ""))
        metadata = {"application_id": item.fields.get(_ID, "")}
        yield Record(item.ordinal, "", item.offset, item.raw_bytes, abstract, metadata=metadata, charset="utf-8")
