"""One unit of files to shards, quarantine rows and an account: what a task of ingest does, without an engine."""

import hashlib
import io
import json
import tarfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from curation.commits import Commit
from curation.identity import unpack
from curation.parts import read_table
from curation.recipe import parse_recipe
from curation.registry import InputFile
from curation.sources import intake
from curation.sources.intake import UnitTask, ingest_unit
from curation.stages import Unit

PAGE = "<html><body><article><p>{}</p></article></body></html>"


@pytest.fixture
def ingest(tmp_path: Path):
    """Return a function that ingests one file's bytes with a source of these settings, below `tmp_path`."""

    def ingest(name: str, data: bytes, shard_mib: int = 256, **source: Any) -> Commit:
        (tmp_path / "inputs").mkdir(exist_ok=True)
        (tmp_path / "inputs" / name).write_bytes(data)
        about = {"name": "own", "inputs": [name], **source}
        recipe = parse_recipe({"name": "test", "shard_mib": shard_mib, "source": [about]}, "test")
        file = InputFile("own", name, len(data), f"sha256:{hashlib.sha256(data).hexdigest()}", 3, 0)
        return ingest_unit(
            UnitTask(str(tmp_path / "work"), str(tmp_path / "inputs"), recipe, Unit("own", (file,)), "key", {"own": 1})
        )

    return ingest


def rows(tmp_path: Path, commit: Commit, table: str) -> list[dict[str, Any]]:
    parts = [part for part in commit.parts if part.table == table]
    return [row for part in parts for row in read_table(str(tmp_path / "work"), part).to_pylist()]


def warc(bodies: list[tuple[str, bytes]]) -> bytes:
    records = []
    for number, (mime, body) in enumerate(bodies):
        block = f"HTTP/1.1 200 OK\r\nContent-Type: {mime}\r\n\r\n".encode() + body
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/{number}\r\n"
            f"Content-Type: application/http\r\nContent-Length: {len(block)}\r\n\r\n"
        )
        records.append(head.encode() + block + b"\r\n\r\n")
    return b"".join(records)


def test_pages_texts_and_bad_units_keep_their_order_however_they_are_batched(tmp_path, ingest, monkeypatch) -> None:
    bodies = []
    for number in range(40):
        page = PAGE.format(f"The page of number {number} says so. " * 20).encode()
        bodies.append(("text/html", page) if number % 3 else ("text/plain", f"text {number}".encode()))
    bodies[7] = bodies[20] = ("text/html", bytes(500) + b"<html>")  # not readable
    data = warc(bodies) + b"WARC/1.0\r\nno length\r\n\r\n" + warc(bodies[:5])
    found = []
    for batch in (1, 4, 64):
        monkeypatch.setattr(intake, "_BATCH_RECORDS", batch)
        commit = ingest("a.warc", data, reader="warc", extract="resiliparse")
        found.append((rows(tmp_path, commit, "documents"), rows(tmp_path, commit, "quarantine"), commit.counts))
    assert found[0] == found[1] == found[2]
    documents, quarantine, counts = found[0]
    ordinals = [unpack(row["doc_id"]).record for row in documents]
    assert ordinals == sorted(ordinals)
    assert len(documents) + len(quarantine) == counts["in"]["own"][0]
    assert [row["record"] for row in quarantine] == sorted(row["record"] for row in quarantine)
    assert documents[0]["text"] == "text 0"
    assert documents[1]["text"].startswith("The page of number 1 says so.")


def test_a_row_holds_the_texts_bytes_and_their_digest(tmp_path, ingest) -> None:
    texts = ["plain", "", "naïve — 文字 🙂", "x" * 3_000_000, "end"]
    lines = b"".join(json.dumps({"text": text, "lang": "ü\ud800"}).encode() + b"\n" for text in texts)
    commit = ingest("a.jsonl", lines, reader="jsonl", repair=False)
    found = rows(tmp_path, commit, "documents")
    assert [row["text"] for row in found] == texts
    assert [row["text_bytes"] for row in found] == [len(text.encode()) for text in texts]
    assert {row["metadata"] for row in found} == {'{"lang":"ü\ufffd"}'}


def test_one_large_archive_becomes_many_shards_of_consecutive_ids(tmp_path, ingest) -> None:
    lines = b"".join(b'{"text": "%d %s"}\n' % (number, b"word " * 20_000) for number in range(560))
    commit = ingest("one.jsonl.zst", zstd.compress(lines), shard_mib=1, reader="jsonl", repair=False)
    shards = [part for part in commit.parts if part.table == "documents"]
    assert len(shards) >= 50  # of the one file, as 15 GB of zstd are at 256 MiB of text each
    assert len({part.facts["shard"] for part in shards}) == len(shards)
    ends = [(part.facts["first_doc_id"], part.facts["last_doc_id"]) for part in shards]
    assert all(last + 1 == first for (_, last), (first, _) in pairwise(ends))
    assert max(part.facts["text_bytes"] for part in shards) < (1 << 20) + 100_010
    assert sum(part.rows for part in shards) == 560


def test_nothing_of_a_file_that_changed_while_it_was_read_remains(tmp_path, ingest, monkeypatch) -> None:
    monkeypatch.setattr(intake.Witness, "check", lambda self: (_ for _ in ()).throw(RuntimeError("changed")))
    with pytest.raises(RuntimeError, match="changed"):
        ingest("a.jsonl", b'{"text": "a"}\n', reader="jsonl")
    assert not list((tmp_path / "work").rglob("*.parquet"))


def test_a_member_of_a_tar_is_named_in_its_row(tmp_path, ingest) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        info = tarfile.TarInfo("books/one.txt")
        info.size = 4
        tar.addfile(info, io.BytesIO(b"text"))
    commit = ingest("a.tar", stream.getvalue(), reader="tar_text")
    assert [(row["member"], row["text"]) for row in rows(tmp_path, commit, "documents")] == [("books/one.txt", "text")]
