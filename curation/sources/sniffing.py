"""What a file is, told by its first bytes and not by its name: the reader for it, and what its first records look like.

A look costs a few hundred records, whatever the file's size.
"""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from curation.limits import Limits
from curation.sources.compression import Data, Expanded
from curation.sources.options import ReaderOptions
from curation.sources.registry import read_file
from curation.sources.units import BadUnit, Record, UnitError
from curation.text.language import detect_one
from curation.text.pipeline import document_text

_HEAD_BYTES = 1 << 20
_RECORDS = 200
_SEVEN_ZIP, _ZIP, _PARQUET = b"7z\xbc\xaf\x27\x1c", b"PK\x03\x04", b"PAR1"
_LONG = 200  # bytes: a field this long is text and no title
_SHARE_OF_TEXT = 0.95  # printable characters of what is taken for text

Open = Callable[[str], BinaryIO]


@dataclass(frozen=True)
class Kind:
    """How a file is read."""

    reader: str
    text_field: str = "text"


@dataclass(frozen=True)
class Look:
    """What the first records of a file showed. `languages` counts documents by code, `und` where none was told."""

    records: int
    bad: int
    text_bytes: int
    markup: int
    languages: Mapping[str, int]


def kind_of(url: str, open_stream: Open) -> Kind | None:
    """Return how a file is read, None if it is of no kind that is known. Raises OSError."""
    head = _head(url, open_stream)
    if head.startswith(_PARQUET):
        with closing(open_stream(url)) as file:
            return _parquet(pq.read_schema(file))
    if head.startswith((_SEVEN_ZIP, _ZIP)):
        return Kind("stack_exchange") if head.startswith(_SEVEN_ZIP) else Kind("archive")
    text = _decoded(url, open_stream)
    if text.startswith(b"WARC/"):
        return Kind("warc")
    if text.startswith(b"filedesc://"):
        return Kind("arc")
    if text[257:262] == b"ustar":
        return Kind("archive") if b".json" in text[:100] else Kind("tar_text")
    return _of_text(text)


def look(url: str, kind: Kind, open_stream: Open) -> Look:
    """Return what the first records of a file show."""
    languages: Counter[str] = Counter()
    bad = size = markup = 0
    units = _units(url, kind, open_stream)
    for unit in itertools.islice(units, _RECORDS):
        text = _text(unit)
        if text is None:
            bad += 1
            continue
        size += len(text.encode())
        markup += isinstance(unit, Record) and unit.form != "text"
        languages[detect_one(text)[0]] += 1
    units.close()
    return Look(languages.total(), bad, size, markup, dict(languages))


def _text(unit: Record | BadUnit) -> str | None:
    try:
        return document_text(unit, extract="resiliparse").text if isinstance(unit, Record) else None
    except UnitError:
        return None


def _units(url: str, kind: Kind, open_stream: Open) -> Generator[Record | BadUnit, None, None]:
    events = read_file(kind.reader, url, open_stream, Limits(), ReaderOptions(text_field=kind.text_field))
    yield from (event for event in events if isinstance(event, Record | BadUnit))


def _head(url: str, open_stream: Open) -> bytes:
    with closing(open_stream(url)) as file:
        return file.read(16)


def _decoded(url: str, open_stream: Open) -> bytes:
    """Return the first decoded bytes."""
    found = b""
    with closing(open_stream(url)) as file:
        for segment in Expanded(file, url, Limits()).segments():
            found += segment.content if isinstance(segment, Data) else b""
            if len(found) >= _HEAD_BYTES:
                break
    return found[:_HEAD_BYTES]


def _of_text(head: bytes) -> Kind | None:
    start = head[:4096].lstrip()
    if b"<mediawiki" in start:
        return Kind("wikipedia")
    if b"<PubmedArticleSet" in start:
        return Kind("pubmed")
    first = _first_object(head)
    if first is not None:
        return _of_object(first)
    text = head.decode("utf-8", "replace")
    readable = sum(character.isprintable() or character.isspace() for character in text) - text.count("�")
    is_markup = start[:15].lower().startswith((b"<!doctype html", b"<html", b"<?xml"))
    return Kind("text") if text and readable > _SHARE_OF_TEXT * len(text) and not is_markup else None


def _first_object(head: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(head.lstrip().split(b"\n", 1)[0])
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _of_object(record: Mapping[str, Any]) -> Kind | None:
    """Return the reader for JSON lines, by the fields of the first: the Pile says its set, others have a text field."""
    meta = record.get("meta")
    if "pile_set_name" in (meta if isinstance(meta, dict | str) else ()):
        return Kind("pile")
    texts = {name: len(value) for name, value in record.items() if isinstance(value, str)}
    if "text" in record:
        return Kind("jsonl")
    longest = max(texts, key=lambda name: texts[name], default=None)
    return Kind("jsonl", longest) if longest is not None and texts[longest] >= _LONG else None


def _parquet(schema: pa.Schema) -> Kind | None:
    names = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]
    likely = [name for name in ("text", "content", "raw_content", "body", "document") if name in names]
    found = [*likely, *names]
    return Kind("parquet", found[0]) if found else None
