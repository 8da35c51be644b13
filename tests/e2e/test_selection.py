"""What a recipe selects of a source, and what a page that kills its parser costs, through a whole run."""

import gzip
import json
from pathlib import Path

import pytest
from conftest import run
from corpus import prose

from curation import ledger
from curation.latest import Latest
from curation.registry import read_registry

RECIPE = """
name = "selection"

[[source]]
name = "web"
reader = "jsonl"
inputs = ["web/*.jsonl.gz"]
exclude = ["web/*-draft.jsonl.gz"]
max_files = 2
max_documents = 9
url_block_list = "blocked.txt"

[[source]]
name = "questions"
reader = "stack_exchange"
inputs = ["Posts.xml"]

[[source]]
name = "books"
reader = "pg19"
inputs = ["pg-19/**/*.txt", "pg-19/metadata.csv"]
books = "pg-19/metadata.csv"
"""
ROW = '<row Id="{}" PostTypeId="{}" ParentId="{}" Score="5" Title="Why?" Body="&lt;p&gt;{}&lt;/p&gt;" />\n'


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], ledger.Entry]:
    root = tmp_path_factory.mktemp("selection")
    (root / "web").mkdir()
    for name in ("a", "a-draft", "b", "c"):
        host = "bad.example" if name == "a" else "good.example"
        rows = [{"text": prose(ord(name[0]) * 100 + n), "url": f"http://{host}/{n}"} for n in range(8)]
        rows += [{"text": prose(n), "url": f"http://ok.example/{name}/{n}"} for n in range(8)]
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        (root / "web" / f"{name}.jsonl.gz").write_bytes(gzip.compress(data, mtime=0))
    (root / "blocked.txt").write_text("bad.example\n")
    posts = [ROW.format(1, 1, "", prose(1)), ROW.format(2, 2, 1, prose(2)), ROW.format(3, 2, 99, prose(3))]
    (root / "Posts.xml").write_text("<posts>\n" + "".join(posts) + "</posts>")
    for split in ("train", "test"):
        (root / "pg-19" / split).mkdir(parents=True)
        (root / "pg-19" / split / "1.txt").write_text(prose(5))
    (root / "pg-19" / "metadata.csv").write_text("1,A Book,1890\n")
    (root / "recipe.toml").write_text(RECIPE)
    latest = run(root / "recipe.toml", root / "work")
    return _lines(root / "work", latest)


def _lines(work: Path, latest: Latest) -> dict[tuple[str, str], ledger.Entry]:
    names = {number: name for name, number in read_registry(str(work)).numbers.items()}
    return {(line.stage, line.source): line for line in ledger.ledger(str(work), latest.manifests, names)}


def test_the_ledger_balances(lines) -> None:
    assert [line.problems for line in lines.values() if line.problems] == []


def test_files_beyond_max_files_and_excluded_ones_are_never_read(lines) -> None:
    assert lines["ingest", "web"].received.units == 32


def test_blocked_urls_are_dropped_at_ingest(lines) -> None:
    assert lines["ingest", "web"].drop["removal_list"].units == 8


def test_beyond_max_documents_the_smallest_coins_stay(lines) -> None:
    assert lines["filter", "web"].drop["not_sampled"].units == 24 - 9
    assert lines["filter", "web"].keep.units == 9


def test_an_answer_without_its_question_is_an_orphan(lines) -> None:
    assert lines["ingest", "questions"].drop["orphan_part"].units == 1
    assert lines["ingest", "questions"].keep.units == 1


def test_evaluation_books_are_left_out(lines) -> None:
    assert lines["ingest", "books"].drop["not_selected"].units == 1
    assert lines["ingest", "books"].keep.units == 1
