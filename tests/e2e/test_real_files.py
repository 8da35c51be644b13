"""All the real archives and sources there are, in one run: whatever they hold, every unit and byte is accounted for."""

import os
from pathlib import Path

import pytest
from conftest import run

from curation import ledger
from curation.registry import read_registry

REAL = os.environ.get("CURATION_REAL_DATA")
RECIPE = """
name = "real"
shard_mib = 8

[[source]]
name = "warc"
reader = "warc"
inputs = ["warc/**/*.warc*", "warc/**/*.open", "warc/**/*.wet*"]
extract = "resiliparse"
max_quarantine_fraction = 1.0

[[source]]
name = "novels"
reader = "text"
inputs = ["sources/novels/*.txt", "sources/wikitext2/*.txt"]

[[source]]
name = "jsonl"
reader = "jsonl"
inputs = ["sources/*.jsonl", "quality/*.jsonl*", "neardup/**/*.jsonl*"]
exclude = ["neardup/planted/*"]
max_quarantine_fraction = 1.0

[[source]]
name = "arc"
reader = "arc"
inputs = ["warc/**/*.arc*"]
extract = "trafilatura"

[[source]]
name = "realnews"
reader = "realnews"
inputs = ["sources/realnews/*.jsonl"]
clean = ["realnews_paragraphs"]

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
name = "zips"
reader = "texts"
inputs = ["sources/**/*.zip", "encoding/**/*.zip", "encoding/**/*.tar*"]

[dedup]
"""


@pytest.mark.skipif(REAL is None, reason="needs CURATION_REAL_DATA")
def test_all_real_files_end_with_a_balanced_ledger(tmp_path: Path) -> None:
    recipe = tmp_path / "real.toml"
    recipe.write_text(RECIPE)
    latest = run(recipe, tmp_path / "work", "--input", str(REAL))
    names = {number: name for name, number in read_registry(str(tmp_path / "work")).numbers.items()}
    lines = ledger.ledger(str(tmp_path / "work"), latest.manifests, names)
    assert [line.problems for line in lines if line.problems] == []
    kept = {line.source: line.out.units for line in lines if line.stage == "tokenize"}
    assert kept["novels"] == 26
    assert kept["wikipedia"] == 111
    assert kept["stack-exchange"] > 150
    assert {"warc", "jsonl", "realnews", "pubmed", "zips"} <= set(kept)
