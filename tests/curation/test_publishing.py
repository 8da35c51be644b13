"""The published corpus: what the card lists is what stands there, and loads where the libraries are."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import curation
from curation.latest import read_latest
from curation.publishing import publish_corpus
from tests.workfolder import WorkFolder, make_work_folder

ROOT = Path(__file__).parents[2]


@pytest.fixture
def work(tmp_path: Path) -> WorkFolder:
    return make_work_folder(tmp_path)


def published(work: WorkFolder) -> tuple[Path, list[str]]:
    card = publish_corpus(work.root, read_latest(work.root))
    assert card is not None
    front = Path(card).read_text().split("---")[1]
    default = front.split("config_name: ")[1]
    return Path(card).parent, re.findall(r'- "(.+)"', default)


def test_the_card_lists_every_committed_file_and_nothing_else_stands_there(work: WorkFolder) -> None:
    folder = Path(work.root, "corpus")
    (folder / "data/old").mkdir(parents=True)
    (folder / "data/old/0000.parquet").write_bytes(b"of an earlier run")
    place, listed = published(work)
    assert sorted(listed) == sorted(str(path.relative_to(place)) for path in place.rglob("*.parquet"))
    rows = sum(pq.ParquetFile(place / path).metadata.num_rows for path in listed)
    assert rows == curation.Corpus(work.root).documents().count_rows() == 6
    card = (place / "README.md").read_text()
    assert "| dedup | web | near_duplicate | 1 |" in card
    assert "config_name: wiki" in card


def test_publishing_again_changes_nothing(work: WorkFolder) -> None:
    place, _ = published(work)
    before = {path: (path.stat().st_ino, path.read_bytes()) for path in place.rglob("*.parquet")}
    published(work)
    assert {path: (path.stat().st_ino, path.read_bytes()) for path in place.rglob("*.parquet")} == before


@pytest.mark.skipif(find_spec("datasets") is None, reason="needs the package datasets")
def test_hugging_faces_library_loads_the_folder(work: WorkFolder, tmp_path: Path) -> None:
    place, _ = published(work)
    from datasets import load_dataset  # type: ignore[import-not-found]

    loaded = load_dataset(str(place), split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded.num_rows == 6


def test_the_programs_interface_needs_no_engine_and_shows_what_commands_show(work: WorkFolder) -> None:
    corpus = curation.Corpus(work.root)
    assert corpus.verify().ok
    assert corpus.report().balanced
    assert all(entry.balanced for entry in corpus.ledger())
    [story] = corpus.explain(work.web[3])
    assert [step.stage for step in story.steps] == ["ingest", "filter", "dedup"]
    assert corpus.text(work.web[3])[0]


def test_importing_the_package_imports_neither_the_engine_nor_the_method() -> None:
    program = "import curation, sys; print([m for m in sys.modules if m.startswith(('jobs', 'curation.', 'pyspark'))])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_plan_is_offered_as_a_function(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    shutil.copy(ROOT / "recipes/web.toml", tmp_path / "web.toml")
    steps = curation.plan(str(tmp_path / "web.toml"), str(tmp_path / "work"))
    assert [step.stage for step in steps][:2] == ["ingest", "signals"]
    assert not any(step.committed for step in steps)
    with pytest.raises(AttributeError, match="fly"):
        _ = curation.fly
