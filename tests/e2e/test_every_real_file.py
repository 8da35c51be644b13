"""Every real file there is, ingested in one run: each is registered, each unit and byte is accounted for."""

import argparse
import os
from collections import Counter
from pathlib import Path

import pytest

from curation import ledger
from curation.parts import read_table
from jobs import ingest, job

REAL = os.environ.get("CURATION_REAL_DATA")
# The last source takes as plain text what no other source takes: pages, tables, notes, lists.
RECIPE = """
name = "every"
shard_mib = 32

[[source]]
name = "warc"
reader = "warc"
inputs = ["warc/**/*.warc*", "warc/**/*.open", "warc/**/*.wet*"]
extract = "resiliparse"
max_quarantine_fraction = 1.0

[[source]]
name = "arc"
reader = "arc"
inputs = ["warc/**/*.arc*"]
extract = "resiliparse"

[[source]]
name = "wikipedia"
reader = "wikipedia"
inputs = ["sources/wikipedia/*.bz2"]

[[source]]
name = "stack-exchange"
reader = "stack_exchange"
inputs = ["sources/stackexchange/Posts.xml"]

[[source]]
name = "pubmed"
reader = "pubmed"
inputs = ["sources/pubmed/*.xml"]

[[source]]
name = "realnews"
reader = "realnews"
inputs = ["sources/realnews/*.jsonl"]

[[source]]
name = "archives"
reader = "texts"
inputs = ["sources/**/*.zip", "encoding/**/*.zip", "encoding/**/*.tar*", "bench/**/*.tgz"]

[[source]]
name = "jsonl"
reader = "jsonl"
inputs = ["sources/*.jsonl", "quality/*.jsonl*", "neardup/**/*.jsonl*", "decontamination_golden/*.jsonl.zst"]
max_quarantine_fraction = 1.0

[[source]]
name = "rest"
reader = "text"
inputs = ["**/*"]
exclude = [
  "warc/**/*.warc*", "warc/**/*.open", "warc/**/*.wet*", "warc/**/*.arc*", "sources/wikipedia/*.bz2",
  "sources/stackexchange/Posts.xml", "sources/pubmed/*.xml", "sources/realnews/*.jsonl", "sources/**/*.zip",
  "encoding/**/*.zip", "encoding/**/*.tar*", "bench/**/*.tgz", "sources/*.jsonl", "quality/*.jsonl*",
  "neardup/**/*.jsonl*", "decontamination_golden/*.jsonl.zst",
]
"""
# What cannot be used, by source, class and detail. Nothing here is a surprise:
QUARANTINED = {
    ("warc", "truncated", "region"): 2,  # gowarc's files that were damaged on purpose
    ("warc", "decode", "binary"): 1,  # a picture that a server calls a page
    ("arc", "parse", "no_record"): 2,  # bad.arc holds one whole record between lines of nonsense
    ("arc", "truncated", "record"): 1,  # and a last record that is shorter than it says
    ("archives", "parse", "json"): 675,  # TriviaQA's sample: one value over many lines is no JSON lines
    ("jsonl", "parse", "no_text"): 4_000,  # the lists of pairs beside the planted near-duplicates
}


@pytest.mark.skipif(REAL is None, reason="needs CURATION_REAL_DATA")
def test_every_real_file_is_ingested_and_what_cannot_be_used_is_told(tmp_path: Path) -> None:
    recipe, work = tmp_path / "every.toml", str(tmp_path / "work")
    recipe.write_text(RECIPE)
    parser = argparse.ArgumentParser()
    job.add_run_arguments(parser)
    every = job.open_job(parser.parse_args([str(recipe), "--work", work, "--input", str(REAL)]))
    manifest = ingest.run(every)
    there = {str(path.relative_to(str(REAL))) for path in Path(str(REAL)).rglob("*") if path.is_file()}
    assert {file.uri for unit in every.units for file in unit.files} == there
    names = {number: name for name, number in every.inputs.numbers.items()}
    lines = ledger.ledger(work, {"ingest": manifest}, names)
    assert [line.problems for line in lines if line.problems] == []
    table: Counter[tuple[str, str, str]] = Counter()
    for part in manifest.parts("quarantine"):
        for row in read_table(work, part).to_pylist():
            table[row["source"], row["error"], row["detail"]] += 1
    assert table == QUARANTINED
