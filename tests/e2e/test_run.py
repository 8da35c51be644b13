"""A whole run of the small corpus: every unit accounted for, every removal proven, nothing done twice."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import Finished, digests, run
from corpus import write_corpus, write_recipe

from curation import ledger
from curation.registry import read_registry
from curation.shards.reader import PairReader
from curation.shards.tokenizer import TokenizerSpec, load

ROOT = Path(__file__).parents[2]


def lines(work: Path, latest: object) -> list[ledger.Entry]:
    names = {number: name for name, number in read_registry(str(work)).numbers.items()}
    return ledger.ledger(str(work), latest.manifests, names)  # type: ignore[attr-defined]


def rows(work: Path, latest: object, stage: str, table: str) -> list[dict[str, object]]:
    parts = latest.manifests[stage].parts(table)  # type: ignore[attr-defined]
    return [row for part in parts for row in pq.read_table(work / part.file).to_pylist()]


def test_every_stage_and_source_balances(finished: Finished) -> None:
    """AT-01."""
    assert [entry.problems for entry in lines(finished.work, finished.latest) if entry.problems] == []


def test_the_first_counts_are_those_of_the_files_themselves(finished: Finished) -> None:
    received = {e.source: e.received.units for e in lines(finished.work, finished.latest) if e.stage == "ingest"}
    news = [
        len(subprocess.check_output(["gzip", "-dc", path]).split(b"\n")) - 1 for path in finished.root.glob("news/*")
    ]
    members = subprocess.check_output(["tar", "-tzf", finished.root / "books/a.tar.gz"]).split()
    pile = subprocess.check_output(["gzip", "-dc", finished.root / "pile/00.jsonl.gz"]).count(b"\n")
    assert received["news"] == sum(news)
    assert received["books"] == len(members)
    assert received["pile"] + received["wikipedia"] + received["web"] == pile


def test_every_reason_of_the_corpus_occurs(finished: Finished) -> None:
    reasons = {reason for entry in lines(finished.work, finished.latest) for reason in entry.drop}
    assert reasons >= {
        "not_selected",
        "not_sampled",
        "empty",
        "damaged_file",
        "language",
        "length",
        "signal",
        "pareto",
        "removal_list",
        "exact_duplicate",
        "near_duplicate",
        "reference_duplicate",
        "contaminated",
        "too_many_pieces",
        "too_short_after_cuts",
    }


def shingles(text: str) -> set[tuple[str, ...]]:
    words = re.split(r"[\x00-\x20]+", text.lower().strip())
    return {tuple(words[i : i + 5]) for i in range(max(1, len(words) - 4))}


def test_every_duplicate_reaches_the_threshold_against_a_kept_document(finished: Finished) -> None:
    texts = {row["doc_id"]: str(row["text"]) for row in rows(finished.work, finished.latest, "ingest", "documents")}
    verdicts = {row["doc_id"]: row for row in rows(finished.work, finished.latest, "dedup", "verdicts")}
    dropped = [row for row in verdicts.values() if row["fate"] == "drop"]
    assert dropped
    for row in dropped:
        a, b = shingles(texts[row["doc_id"]]), shingles(texts[row["other"]])
        jaccard = len(a & b) / len(a | b)
        assert jaccard >= 0.8
        assert row["value"] == int(jaccard * 1_000_000 + 1e-6)
        kept = verdicts.get(row["other"])
        assert kept is None or kept["fate"] == "keep"  # None: a reference, which nobody judges


def test_the_kept_document_says_how_many_it_stands_for(finished: Finished) -> None:
    corpus = rows(finished.work, finished.latest, "assemble", "corpus")
    assert sum(int(row["cluster_size"]) > 1 for row in corpus) >= 3


def test_no_benchmark_text_is_left(finished: Finished) -> None:
    corpus = rows(finished.work, finished.latest, "assemble", "corpus")
    assert not [row for row in corpus if "frozen estuary" in " ".join(str(row["text"]).split())]


def test_the_shards_decode_to_the_corpus(finished: Finished) -> None:
    folder = finished.work / str(finished.latest.manifests["tokenize"].notes["shards"])
    tokenizer = load(TokenizerSpec(builtin="gpt2"), lambda path: Path(path).read_bytes())
    texts = {
        (row["doc_id"], row["piece"]): row["text"] for row in rows(finished.work, finished.latest, "assemble", "corpus")
    }
    found = rows(finished.work, finished.latest, "tokenize", "token_documents")
    assert {(row["doc_id"], row["piece"]) for row in found} == set(texts)
    for row in found:
        tokens = PairReader(str(folder / str(row["pair"])))[int(str(row["sequence"]))]
        assert tokens[-1] == tokenizer.eod
        assert tokenizer.decode(tokens[:-1]) == texts[(row["doc_id"], row["piece"])]
    listed = json.loads((folder / "shards.json").read_text())["pairs"]
    assert sum(pair["tokens"] for pair in listed) == sum(int(str(row["tokens"])) for row in found)


def test_a_second_run_starts_nothing(finished: Finished, monkeypatch: pytest.MonkeyPatch) -> None:
    """AT-07."""
    from jobs import job

    def refuse(*_: object) -> None:
        raise AssertionError("Spark was started for a run that is committed")

    monkeypatch.setattr(job, "open_session", refuse)
    assert digests(run(finished.recipe, finished.work)) == digests(finished.latest)


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_partitions_and_the_order_of_files_change_nothing(finished: Finished, tmp_path: Path, cores: int) -> None:
    """AT-02. Partitions follow the cores: 4, 8 and 28."""
    write_corpus(tmp_path)
    for path in sorted(tmp_path.rglob("*.gz"), reverse=True):  # the folder lists them in another order
        path.write_bytes(path.read_bytes())
    recipe = write_recipe(tmp_path, finished.recipe.read_text().replace('"news/*.jsonl.gz"', '"news/b*", "news/a*"'))
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from conftest import *; import json; "
    program += (
        f"print(json.dumps(digests(run({str(recipe)!r}, {str(tmp_path / 'work')!r}, '--master', 'local[{cores},4]'))))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": str(cores), "PYTHONPATH": str(ROOT)}
    output = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, check=True)
    found = json.loads(output.stdout)
    expected = digests(finished.latest)
    assert {s: found[s] for s in expected} == expected
    bins = sorted((finished.work / str(finished.latest.manifests["tokenize"].notes["shards"])).glob("*.bin"))
    others = sorted((tmp_path / "work/shards").glob("*/*.bin"))
    assert [path.name for path in bins] == [path.name for path in others]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(bins, others, strict=True))
