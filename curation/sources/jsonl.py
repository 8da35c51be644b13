"""JSON lines: one record per LF-ended line, text under one key, everything else metadata.

Accepted, because published archives have it: a bare JSON string as the whole record, `text` as a list of paragraphs
(joined by a blank line), `meta` or `metadata` as an object or as a string that holds one. A line that is none of this
becomes a bad unit, and the next line is read as if nothing had happened.
"""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, BinaryIO

from curation.limits import Limits
from curation.sources.compression import Expanded
from curation.sources.json_values import parse_json
from curation.sources.lines import Line, LostLine, read_lines
from curation.sources.options import ReaderOptions
from curation.sources.units import BadUnit, Event, Record, Skipped, UnitError

SetName = Callable[[dict[str, Any]], str | None]

_META_FIELDS = ("meta", "metadata")
_TIMESTAMP_FIELDS = ("timestamp", "publish_date", "warc_date", "date")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the records of one JSON lines file in any compression; blank lines are skipped and counted.

    Raises:
        OSError: storage failed.
    """
    return read_with_sets(raw, uri, limits, options, lambda metadata: None)


def read_with_sets(
    raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions, set_name: SetName
) -> Iterator[Event]:
    """Like `read`, with the set of each record told from its metadata by `set_name`."""
    expanded = Expanded(raw, uri, limits)
    ordinal = 0
    damage = None
    for line in read_lines(expanded, limits.max_document_bytes):
        if isinstance(line, Skipped):
            yield line
            continue
        if isinstance(line, LostLine):
            damage = damage if line.error == "too_large" else "recovered"
            yield BadUnit(ordinal, "", line.offset, line.raw_bytes, line.error, line.detail, line.sha256)
        elif not line.content or line.content.isspace():
            yield Skipped("blank_line", line.raw_bytes)
            continue
        else:
            yield _unit(line, ordinal, damage, options.text_field, set_name)
        ordinal += 1
    yield expanded.end()


def _unit(line: Line, ordinal: int, damage: str | None, text_field: str, set_name: SetName) -> Record | BadUnit:
    try:
        return _record(line, ordinal, damage, text_field, set_name)
    except UnitError as problem:
        error, detail = problem.error, problem.detail
        ended = line.raw_bytes > len(line.content)
        if not ended and error != "too_large":  # the writer was cut off before the LF
            error, detail = "truncated", "last_line"
        raw = line.content + b"\n" if ended else line.content
        return BadUnit(ordinal, "", line.offset, line.raw_bytes, error, detail, sha256(raw).hexdigest())


def _record(line: Line, ordinal: int, damage: str | None, text_field: str, set_name: SetName) -> Record:
    content = line.content
    if line.offset == 0:
        content = content.removeprefix(_BYTE_ORDER_MARK)
    value = parse_json(content)
    fields = {text_field: value} if isinstance(value, str) else value
    if not isinstance(fields, dict):
        raise UnitError("parse", "not_an_object")
    if text_field not in fields:
        raise UnitError("parse", "no_text")
    text = _text(fields.pop(text_field))
    metadata = flatten_metadata(fields)
    name = set_name(metadata)
    url, title, timestamp = take_facts(metadata)
    return Record(
        ordinal, "", line.offset, line.raw_bytes, text, "text", url, title, timestamp, metadata, name, damage, "utf-8"
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(paragraph, str) for paragraph in value):
        return "\n\n".join(value)
    raise UnitError("parse", "text_type")


def flatten_metadata(fields: dict[str, Any]) -> dict[str, Any]:
    """Return one flat object: the record's own fields, and those of its `meta` object where names do not collide.

    A colliding entry stays under `meta.NAME`; a `meta` that is no object stays as it is.
    """
    metadata = fields
    for key in _META_FIELDS:
        meta = _as_object(fields.get(key))
        if meta is None:
            continue
        metadata = {name: value for name, value in metadata.items() if name != key}
        for name, value in meta.items():
            metadata[f"{key}.{name}" if name in metadata else name] = value
    return metadata


def _as_object(meta: Any) -> dict[str, Any] | None:
    if isinstance(meta, str) and meta.lstrip().startswith("{"):
        try:
            meta = parse_json(meta.encode())
        except UnitError:
            return None
    return meta if isinstance(meta, dict) else None


def take_facts(metadata: dict[str, Any]) -> tuple[str | None, str | None, str | None]:
    """Remove and return url, title and timestamp, where they are strings."""
    url = _take(metadata, "url")
    title = _take(metadata, "title")
    timestamp = next((_take(metadata, key) for key in _TIMESTAMP_FIELDS if isinstance(metadata.get(key), str)), None)
    return url, title, timestamp


def _take(metadata: dict[str, Any], key: str) -> str | None:
    value = metadata.get(key)
    if not isinstance(value, str):
        return None
    del metadata[key]
    return value
