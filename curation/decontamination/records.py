"""The records of a small trusted file: JSON, JSON lines, CSV, TSV or Parquet, plain, compressed or in an archive.

Compression and archives are told by their magic bytes, whatever the file is called.
"""

import bz2
import csv
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

Container = Literal["jsonl", "json", "csv", "tsv", "parquet"]

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz")
_ENDINGS: dict[str, Container] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}


class WrongFile(ValueError):
    """A file or record is not what it was taken for. The message names the place and never the content."""


class Record(NamedTuple):
    """One record, and where it stands in its file."""

    value: dict[str, Any]
    place: str


def container_of(name: str) -> Container | None:
    """Tell the container by the end of a file name, compression aside; None if it does not say."""
    path = PurePosixPath(name.lower())
    while path.suffix in _COMPRESSED:
        path = path.with_suffix("")
    return _ENDINGS.get(path.suffix)


def _container_by_content(data: bytes) -> Container | None:
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:4] == b"PAR1":
        return "parquet"
    if start[:1] in (b"{", b"["):
        return "json"
    return "tsv" if b"\t" in start.split(b"\n")[0] else None


def read_records(
    stream: BinaryIO, name: str, container: Container | None, members: str, columns: tuple[str, ...]
) -> Iterator[Record]:
    """Yield the records of a file, or of the members of an archive that match a pattern, sorted by name.

    Without a container, the name's ending or the first bytes tell it; `columns` names those of a table without header.

    Raises:
        WrongFile: something is damaged, not UTF-8, not an object, or of no known container.
    """
    for member, data in _files(stream.read(), members):
        kind = container or container_of(member or name) or _container_by_content(data)
        where = f"{member} " if member else ""
        if kind is None:
            raise WrongFile(f'{where}is of no known kind; write container = "jsonl", "json", "csv", "tsv" or "parquet"')
        for value, place in _PARSERS[kind](data, columns):
            if not isinstance(value, dict):
                raise WrongFile(f"{where}{place} is not an object")
            yield Record(value, where + place)


def values(record: dict[str, Any], field: str) -> list[str]:
    """Return the texts of a field: dots go into objects, `*` into all of their values, lists are gone through.

    Numbers are written out.

    Raises:
        WrongFile: no such field, or it holds an object or nothing.
    """
    return [_as_text(value, field) for value in _walk(record, field)]


def elements(record: dict[str, Any], field: str) -> list[dict[str, Any]]:
    """Return the objects of a field, on the same terms as `values`."""
    found = _walk(record, field)
    if not all(isinstance(item, dict) for item in found):
        raise WrongFile(f"field {field!r} is not made of objects")
    return found


def _walk(record: dict[str, Any], field: str) -> list[Any]:
    found: list[Any] = [record]
    for name in field.split("."):
        found = [item for value in found for item in _step(value, name, field)]
    return list(_flat(found))


def _step(value: Any, name: str, field: str) -> Iterator[Any]:
    for item in _flat([value]):
        if isinstance(item, dict) and name == "*":
            yield from item.values()
        elif isinstance(item, dict) and name in item:
            yield item[name]
        else:
            raise WrongFile(f"no field {field!r}")


def _flat(items: list[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, list):
            yield from _flat(item)
        else:
            yield item


def _as_text(value: Any, field: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise WrongFile(f"field {field!r} is no text")


def _files(data: bytes, members: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of the file itself (with an empty name), or of an archive's members."""
    try:
        data = _decompressed(data)
        if data[:4] == b"PK\x03\x04":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for name in sorted(archive.namelist()):
                    if not name.endswith("/") and fnmatch(name, members):
                        yield name, archive.read(name)
        elif data[257:262] == b"ustar":
            with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                for entry in sorted(tar.getmembers(), key=lambda entry: entry.name):
                    if (file := tar.extractfile(entry)) and fnmatch(entry.name, members):
                        yield entry.name, file.read()
        else:
            yield "", data
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, ValueError) as error:
        if isinstance(error, WrongFile):
            raise
        raise WrongFile(f"the file is damaged: {type(error).__name__}") from None


def _decompressed(data: bytes) -> bytes:
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:3] == b"BZh":
        return bz2.decompress(data)
    if data[:6] == b"\xfd7zXZ\x00":
        return lzma.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return pa.input_stream(io.BytesIO(data), compression="zstd").read()  # type: ignore[no-any-return]
    return data


def _jsonl(data: bytes, columns: tuple[str, ...]) -> Iterator[tuple[Any, str]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield _loads(line, f"line {number}"), f"line {number}"


def _json(data: bytes, columns: tuple[str, ...]) -> Iterator[tuple[Any, str]]:
    """Yield the elements of a list; of an object that wraps one list as `data`, its elements; else the object."""
    try:
        whole = _loads(data, "the file")
    except WrongFile:
        if data.lstrip()[:1] == b"{" and len(data.splitlines()) > 1:  # JSON lines are often called .json
            yield from _jsonl(data, columns)
            return
        raise
    if isinstance(whole, dict) and isinstance(whole.get("data"), list):
        whole = whole["data"]
    if isinstance(whole, list):
        yield from ((value, f"element {number}") for number, value in enumerate(whole, 1))
    else:
        yield whole, "the file"


def _loads(data: bytes, place: str) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise WrongFile(f"{place} is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise WrongFile(f"{place} is not JSON at character {error.pos}") from None


def _csv(data: bytes, columns: tuple[str, ...]) -> Iterator[tuple[Any, str]]:
    yield from _table(data, columns, dialect="excel", strict=True)


def _tsv(data: bytes, columns: tuple[str, ...]) -> Iterator[tuple[Any, str]]:
    yield from _table(data, columns, delimiter="\t", quoting=csv.QUOTE_NONE)


def _table(data: bytes, columns: tuple[str, ...], **dialect: Any) -> Iterator[tuple[Any, str]]:
    """Yield rows as objects; the first row names the columns, unless `columns` does."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WrongFile(f"the file is not UTF-8 at byte {error.start}") from None
    rows = csv.reader(io.StringIO(text, newline=""), **dialect)
    line = 1
    try:
        names = list(columns) or next(rows, [])
        line = rows.line_num + 1
        for row in rows:
            if row and len(row) != len(names):
                raise WrongFile(f"line {line} has {len(row)} columns instead of {len(names)}")
            if row:
                yield dict(zip(names, row, strict=True)), f"line {line}"
            line = rows.line_num + 1
    except csv.Error:
        raise WrongFile(f"line {line} is no row of a table") from None


def _parquet(data: bytes, columns: tuple[str, ...]) -> Iterator[tuple[Any, str]]:
    try:
        table = pq.read_table(io.BytesIO(data))
    except (pa.ArrowInvalid, OSError):
        raise WrongFile("the file is no Parquet") from None
    for start in range(0, len(table), 1000):
        rows = table.slice(start, 1000).to_pylist()
        yield from ((value, f"row {start + number}") for number, value in enumerate(rows, 1))


_PARSERS = {"jsonl": _jsonl, "json": _json, "csv": _csv, "tsv": _tsv, "parquet": _parquet}
