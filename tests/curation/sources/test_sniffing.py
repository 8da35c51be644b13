"""Sniffing: the reader follows from the bytes, whatever a file is called."""

import bz2
import gzip
import io
import json
import tarfile
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curation.sources.sniffing import Kind, kind_of, look

TEXT = "The harbour lay quiet in the morning, and the boats had not yet gone out to the banks beyond the point. " * 4
WARC = b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n"


def jsonl(record: object) -> bytes:
    return json.dumps(record).encode() + b"\n"


def tar(name: str) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = 4
        archive.addfile(member, io.BytesIO(b"text"))
    return held.getvalue()


def parquet(**columns: list[object]) -> bytes:
    held = io.BytesIO()
    pq.write_table(pa.table(columns), held)
    return held.getvalue()


def kind(tmp_path: Path, data: bytes) -> Kind | None:
    place = tmp_path / "file"
    place.write_bytes(data)
    return kind_of(str(place), partial(open, mode="rb"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (WARC, Kind("warc")),
        (gzip.compress(WARC), Kind("warc")),
        (b"filedesc://x.arc 0.0.0.0 20010101000000 text/plain 0\n", Kind("arc")),
        (jsonl({"text": TEXT}), Kind("jsonl")),
        (bz2.compress(jsonl({"id": "7", "raw_content": TEXT})), Kind("jsonl", "raw_content")),
        (jsonl({"text": TEXT, "meta": {"pile_set_name": "ArXiv"}}), Kind("pile")),
        (parquet(id=[1], content=[TEXT]), Kind("parquet", "content")),
        (parquet(id=[1]), None),
        (tar("a/book.txt"), Kind("tar_text")),
        (gzip.compress(tar("a/lines.jsonl")), Kind("archive")),
        (b'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">', Kind("wikipedia")),
        (TEXT.encode(), Kind("text")),
        (jsonl({"id": 7, "name": "short"}), None),
        (b"<!DOCTYPE html><p>A page", None),
        (bytes(range(256)) * 20, None),
        (b"", None),
    ],
)
def test_the_reader_follows_from_the_bytes(tmp_path: Path, data: bytes, expected: Kind | None) -> None:
    found = kind(tmp_path, data)
    assert found == expected


def test_a_look_counts_languages_and_what_could_not_be_read(tmp_path: Path) -> None:
    place = tmp_path / "lines"
    german = "Der Hafen liegt im Norden der Stadt und ist seit dem Mittelalter für seine Fischhallen bekannt. " * 3
    place.write_bytes(jsonl({"text": TEXT}) * 3 + jsonl({"text": german}) + b"{broken\n")
    seen = look(str(place), Kind("jsonl"), partial(open, mode="rb"))
    assert (seen.records, seen.bad, seen.markup) == (4, 1, 0)
    assert seen.languages == {"en": 3, "de": 1}
