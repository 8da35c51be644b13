"""The hostile set in one process: each file ends as quarantine rows or a reported file, in bounded memory.

Ingest runs in a child, so that its peak of memory is its own, in an empty folder that is its temporary folder too, so
that whatever it writes shows.
"""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from backports import zstd
from built_files import tar_of, zip_of

ROOT = Path(__file__).parents[3]
MAX_RSS_BYTES = 1.5 * (1 << 30)
_MIB = 1 << 20
ZEROS = bytes(100 * _MIB)  # a ratio is looked at from 64 MiB on
INGEST = """
import hashlib, json, os, resource, sys
from curation import commits
from curation.recipe import parse_recipe
from curation.registry import InputFile
from curation.sources.intake import UnitTask, ingest_unit
from curation.stages import Unit

inputs, work, readers = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
for number, (name, reader) in enumerate(sorted(readers.items())):
    with open(os.path.join(inputs, name), "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    source = {"name": "own", "reader": reader, "inputs": [name]}
    limits = {"max_cpu_seconds": 2}
    recipe = parse_recipe({"name": "hostile", "limits": limits, "source": [source]}, "hostile")
    unit = Unit("own", (InputFile("own", name, 0, "sha256:" + digest, number, 0),))
    commit = ingest_unit(UnitTask(work, inputs, recipe, unit, "key", {"own": 1}))
    [file] = commit.counts["files"]
    balanced = file["bytes"] == file["records"] + sum(file["skipped"].values())
    tables = ("documents", "quarantine")
    rows = {table: sum(part.rows for part in commit.parts if part.table == table) for table in tables}
    peak = 1024 * max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({"name": name, **rows, "balanced": balanced, "peak": peak}), flush=True)
"""


def unsafe_tar() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name in ("../up.txt", "/tmp/absolute.txt", "a/../../b.txt", "same.txt", "same.txt", "caf\udce9.txt"):
            info = tarfile.TarInfo(name)
            info.size = 4
            tar.addfile(info, io.BytesIO(b"text"))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo("link.txt")
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
    return stream.getvalue()


def nested_zip(depth: int) -> bytes:
    data = b"text"
    for level in range(depth):
        data = zip_of((f"level{level}.zip", data), (f"level{level}.txt", b"text"))
    return data


ENTITIES = b'<!DOCTYPE m [<!ENTITY a "lol">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9)
)
EXTERNAL = b'<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
PAGE = b"<page><title>T</title><ns>0</ns><id>1</id><revision><id>1</id><text>%s</text></revision></page>"

# name -> (reader, bytes, documents, quarantine rows)
HOSTILE = {
    "bomb.jsonl.gz": ("jsonl", lambda: gzip.compress(ZEROS, 1), 0, 1),
    "bomb.jsonl.zst": ("jsonl", lambda: zstd.compress(ZEROS), 0, 1),
    "bomb.jsonl.bz2": ("jsonl", lambda: bz2.compress(ZEROS), 0, 1),
    "bomb.jsonl.xz": ("jsonl", lambda: lzma.compress(ZEROS, preset=0), 0, 1),
    "bomb.txt.gz": ("text", lambda: gzip.compress(ZEROS, 1), 0, 1),
    "bomb.zip": ("texts", lambda: zip_of(("a.txt", ZEROS), ("b.txt", b"text")), 1, 2),
    "line.jsonl": ("jsonl", lambda: b'{"text": "' + b"x" * (64 * _MIB) + b'"}\n{"text": "next"}\n', 1, 1),
    "row.csv": (
        "nih_exporter",
        lambda: b'APPLICATION_ID,ABSTRACT_TEXT\n1,"' + (b"x" * 99 + b"\n") * 200_000,
        0,
        32_228,
    ),
    "unsafe.tar": ("tar_text", unsafe_tar, 3, 8),
    "unsafe.zip": ("texts", lambda: zip_of(("../a.txt", b"a"), ("/b.txt", b"b"), ("c.txt", b"c")), 1, 2),
    "laughs.xml": ("wikipedia", lambda: ENTITIES + b"]>" + PAGE % b"&j;" + PAGE % b"text", 1, 1),
    "external.xml": ("wikipedia", lambda: EXTERNAL + PAGE % b"&x;", 0, 1),
    "deep.xml": ("wikipedia", lambda: PAGE % (b"{{" * 200_000), 1, 0),
    "page.xml": ("wikipedia", lambda: PAGE % (b"x" * (64 * _MIB)), 0, 1),
    "recursive.zip": ("texts", lambda: nested_zip(50), 1, 0),
    "papers.tar": ("arxiv", lambda: tar_of(("2101/2101.00001.gz", gzip.compress(ZEROS, 1))), 0, 1),
    "deep.jsonl": ("jsonl", lambda: b'{"text": "a", "x": ' + b"[" * 100_000 + b"\n", 0, 1),
    "record.warc": ("warc", lambda: b"WARC/1.0\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * (64 * _MIB), 0, 1),
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """Ingest the whole set in one child; return what became of each file."""
    inputs, work, outside = (tmp_path_factory.mktemp(name) for name in ("inputs", "work", "outside"))
    for name, (_, make, _, _) in HOSTILE.items():
        (inputs / name).write_bytes(make())
    before = {path: hashlib.sha256(path.read_bytes()).digest() for path in inputs.iterdir()}
    readers = json.dumps({name: reader for name, (reader, *_) in HOSTILE.items()})
    done = subprocess.run(
        [sys.executable, "-c", INGEST, str(inputs), str(work), readers],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(outside)},
        cwd=outside,
        stdout=subprocess.PIPE,
        check=True,
        timeout=300,
    )
    assert list(outside.iterdir()) == []
    assert {path: hashlib.sha256(path.read_bytes()).digest() for path in inputs.iterdir()} == before
    assert {path.parent.name for path in work.rglob("*") if path.is_file()} <= {"parts"}
    found = map(json.loads, done.stdout.splitlines())
    return {file["name"]: file for file in found}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_file_costs_its_own_units_only(ended: dict[str, dict[str, object]], name: str) -> None:
    """AT-10."""
    file, (_, _, documents, quarantined) = ended[name], HOSTILE[name]
    assert (file["documents"], file["quarantine"], file["balanced"]) == (documents, quarantined, True), file


def test_memory_stays_bounded_over_the_whole_set(ended: dict[str, dict[str, object]]) -> None:
    """AT-10."""
    assert max(int(str(file["peak"])) for file in ended.values()) < MAX_RSS_BYTES
