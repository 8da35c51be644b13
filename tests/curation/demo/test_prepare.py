"""The prepared inputs, counted with other tools than the product's."""

import bz2
import csv
import gzip
import io
import json
import re
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import py7zr
import pyarrow as pa
from warcio.archiveiterator import ArchiveIterator

from curation.demo.prepare import _put, digest

DIGEST = "fe56d0887788e57192a4377f3dba9227514582e066727549a8dfd110c8e26670"
PILE_SETS = {"Pile-CC": 1_696, "EuroParl": 750, "PubMed Central": 8}


def jsonl(path: Path) -> list[dict[str, object]]:
    return jsonl_lines(path.read_bytes())


def jsonl_lines(raw: bytes) -> list[dict[str, object]]:
    unzstd = pa.CompressedInputStream(pa.BufferReader(raw), "zstd").read
    plain = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else bytes(unzstd())
    return [json.loads(line) for line in plain.split(b"\n")[:-1]]


def pile(inputs: Path) -> list[tuple[str, str]]:
    rows = [row for path in sorted((inputs / "pile/train").iterdir()) for row in jsonl(path)]
    metas = (json.loads(row["meta"]) if isinstance(row["meta"], str) else row["meta"] for row in rows)
    return [(meta["pile_set_name"], str(row["text"])) for meta, row in zip(metas, rows, strict=True)]


def tar_texts(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        members = [member for member in archive if member.isfile()]
        return {member.name: archive.extractfile(member).read().decode() for member in members}  # type: ignore[union-attr]


def repositories(inputs: Path) -> Iterator[str]:
    for path in (inputs / "github").iterdir():
        with zipfile.ZipFile(path) as archive:
            yield from (archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


def shingles(text: str) -> set[tuple[str, ...]]:
    words = text.lower().split()
    return {tuple(words[start : start + 5]) for start in range(len(words) - 4)}


def test_the_inputs_are_the_same_bytes_everywhere(inputs: Path) -> None:
    paths = [path.relative_to(inputs) for path in inputs.rglob("*") if path.is_file()]
    assert digest(inputs, paths) == DIGEST


def test_every_source_has_the_documents_that_other_tools_count(inputs: Path) -> None:
    assert len(tar_texts(inputs / "books3/books3.tar.gz")) == 67
    assert len(tar_texts(inputs / "bookcorpus2/books1.tar.gz")) == 47
    assert len(list((inputs / "pg-19/train").glob("*.txt"))) == 130
    assert (inputs / "pg-19/metadata.csv").read_text("utf-8").count("\n") == 130
    assert Counter(name for name, _ in pile(inputs)) == PILE_SETS
    assert len(jsonl(inputs / "realnews/realnews.jsonl.gz")) == 2_300
    assert len(tar_texts(inputs / "cc-stories/stories_corpus.tar.gz")) == 390
    with tarfile.open(inputs / "openwebtext2/openwebtext2.jsonl.zst.tar") as archive:
        member = archive.extractfile("2021-01_default.jsonl.zst")
        assert member is not None
        assert len(jsonl_lines(member.read())) == 1_087


def test_each_source_has_its_raw_form_which_other_tools_read(inputs: Path) -> None:
    packed = (inputs / "wikipedia/enwiki-20210101-pages-articles-multistream.xml.bz2").read_bytes()
    dump = ElementTree.fromstring(bz2.decompress(packed))
    assert len(dump.findall("{*}page")) == 5_000
    citations = [
        ElementTree.fromstring(gzip.decompress(path.read_bytes())).findall("PubmedArticle")
        for path in sorted((inputs / "pubmed/baseline").iterdir())
    ]
    assert sum(map(len, citations)) == 4_000
    with zipfile.ZipFile(inputs / "nih-exporter/RePORTER_PRJABS_C_FY2020.zip") as archive:
        table = archive.read("RePORTER_PRJABS_C_FY2020.csv").decode()
    assert len(list(csv.DictReader(io.StringIO(table, newline="")))) == 981
    with tarfile.open(inputs / "arxiv/arXiv_src_2101_001.tar") as archive:
        papers = [gzip.decompress(archive.extractfile(member).read()) for member in archive]  # type: ignore[union-attr]
    assert len(papers) == 312
    assert sum(paper.startswith(b"\\documentclass") for paper in papers) == 277
    with py7zr.SevenZipFile(inputs / "stack-exchange/aws.stackexchange.com.7z") as site:
        assert site.getnames() == ["Posts.xml"]
    assert len(list(repositories(inputs))) == 1_177


def test_no_text_is_empty(inputs: Path) -> None:
    texts = [text for _, text in pile(inputs)]
    texts += [str(row["text"]) for row in jsonl(inputs / "realnews/realnews.jsonl.gz")]
    texts += tar_texts(inputs / "cc-stories/stories_corpus.tar.gz").values()
    assert all(text.strip() for text in texts)


def test_the_snapshots_are_warc_files_whose_digests_hold(inputs: Path) -> None:
    kinds: Counter[str] = Counter()
    responses: Counter[str] = Counter()
    for path in sorted(inputs.glob("cc-20*/*.warc.gz")):
        raw = path.read_bytes()
        with path.open("rb") as stream:
            records = ArchiveIterator(stream, check_digests=True)
            for record in records:
                record.content_stream().read()
                assert record.digest_checker.passed is not False
                assert raw[(at := records.get_record_offset()) : at + 2] == b"\x1f\x8b"
                kinds[record.rec_type] += 1
                if record.rec_type == "response":
                    responses[path.parent.name] += 1
                    kinds["truncated"] += record.rec_headers.get_header("WARC-Truncated") == "length"
    assert responses == {"cc-2020-50": 1_313, "cc-2021-04": 1_336}
    assert kinds == {"warcinfo": 4, "request": 2_649, "response": 2_649, "revisit": 2, "truncated": 2}


def test_one_book_stands_in_two_collections_in_two_layouts(inputs: Path) -> None:
    books3 = tar_texts(inputs / "books3/books3.tar.gz")
    bookcorpus2 = tar_texts(inputs / "bookcorpus2/books1.tar.gz")
    here = shingles(next(text for name, text in books3.items() if "/Exodus - " in name))
    there = shingles(bookcorpus2["books1/epubtxt/exodus.epub.txt"])
    assert 0.9 < len(here & there) / len(here | there) < 1


def test_benchmark_items_stand_in_task_files_and_in_one_planted_page(inputs: Path) -> None:
    items = [str(row["question"]) for row in map(json.loads, (inputs / "benchmarks/mmlu_dev.jsonl").open("rb"))]
    asked = [" ".join(re.findall(r"\w+", item.lower())) for item in items if len(item.split()) > 40]
    texts = [*pile(inputs), *(("Github", text) for text in repositories(inputs))]
    words = [(name, " ".join(re.findall(r"\w+", text.lower()))) for name, text in texts]
    leaked = Counter(name for name, text in words for item in asked if item in text)
    assert leaked["Pile-CC"] == 2
    assert set(leaked) == {"Pile-CC", "Github"}


def test_a_file_that_already_has_its_bytes_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "folder/file"
    _put(path, b"old")
    before = path.stat().st_mtime_ns
    _put(path, b"old")
    assert path.stat().st_mtime_ns == before
    _put(path, b"new")
    assert path.read_bytes() == b"new"
