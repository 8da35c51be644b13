"""RealNews: JSON lines, by themselves or in the release's tar; dates in one form.

`publish_date` stands as MM-DD-YYYY and becomes YYYY-MM-DD; `split` is a random draw of its makers and stays metadata.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from curation.limits import Limits
from curation.sources.archived import read_jsonl_archive
from curation.sources.options import ReaderOptions
from curation.sources.units import Event, Record

_AMERICAN_DATE = re.compile(r"(\d\d)-(\d\d)-(\d{4})")


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the articles of one file.

    Raises:
        OSError: storage failed.
    """
    for event in read_jsonl_archive(raw, uri, limits, options):
        yield _dated(event) if isinstance(event, Record) else event


def _dated(article: Record) -> Record:
    match = _AMERICAN_DATE.fullmatch(article.timestamp or "")
    timestamp = f"{match[3]}-{match[1]}-{match[2]}" if match else article.timestamp
    metadata = {name: value for name, value in article.metadata.items() if value is not None}  # summary is always null
    return replace(article, timestamp=timestamp, metadata=metadata)
