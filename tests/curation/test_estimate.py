"""Estimates: figures times what is to be read, and what was read goes before figures."""

from curation import estimate
from curation.commits import Commit
from curation.parts import Part
from curation.recipe import parse_recipe
from curation.registry import InputFile

RECIPE = parse_recipe(
    {
        "name": "t",
        "source": [
            {"name": "web", "reader": "warc", "inputs": ["*.warc.gz"]},
            {"name": "notes", "reader": "jsonl", "inputs": ["*.jsonl"]},
        ],
        "dedup": {"bands": 20, "rows": 13},
    },
    "recipe",
)


def file(number: int, group: str, uri: str, size: int) -> InputFile:
    return InputFile(group, uri, size, "0" * 64, number, 0)


FILES = [file(0, "web", "a.warc.gz", 1_000_000), file(1, "notes", "a.jsonl", 50_000)]


def done(number: int, rows: int, text_bytes: int) -> Commit:
    part = Part("documents", "f", rows, 1, "0" * 64, "0" * 32, {"text_bytes": text_bytes})
    return Commit("ingest", "i", "k", (part,), {"files": [{"file": number}]})


def test_files_that_were_never_read_give_what_their_kind_usually_does() -> None:
    found = estimate.corpus(RECIPE, FILES, [])
    assert not found.known
    assert found.text_bytes == 1_000_000 * 0.03 + 50_000


def test_what_a_source_gave_so_far_goes_before_the_usual() -> None:
    more = [*FILES, file(2, "web", "b.warc.gz", 2_000_000)]
    found = estimate.corpus(RECIPE, more, [done(0, 100, 200_000)])
    assert found.text_bytes == 200_000 + 400_000 + 50_000
    assert found.documents == 100 + 450_000 // 2_000


def test_a_whole_ingest_is_counted_and_not_estimated() -> None:
    assert estimate.corpus(RECIPE, FILES[1:], [done(1, 10, 49_000)]) == estimate.Corpus(10, 49_000, True)


def test_the_figures_are_those_of_the_scaling_page() -> None:
    """docs/scaling.md, 320 million documents of 2.6 kB: documents 276 GB, corpus 235, signatures 51, bands 102 + 15."""
    paper = estimate.Corpus(320_000_000, 320_000_000 * 2_600, True)
    stored = {stage: estimate.need(stage, RECIPE, paper).stored_bytes / 1e9 for stage in ("ingest", "signatures")}
    assert {stage: round(size) for stage, size in stored.items()} == {"ingest": 276, "signatures": 51}
    assert round(estimate.need("assemble", RECIPE, paper).stored_bytes / 1e9) == 235
    moved = estimate.need("dedup", RECIPE, paper).shuffled_bytes / 1e9
    assert 15 + 102 < moved < 15 + 102 + 900
