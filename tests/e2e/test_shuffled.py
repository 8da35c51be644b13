"""A shuffled source: a permutation of the same documents, the same for any partitioning, its bytes told."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import Finished, run
from program import digests_of, start

from curation.identity import coin
from curation.shards.reader import PairReader

SHUFFLE = ("--set", "source.news.shuffle=true", "--set", "source.books.shuffle=true")


def bins(work: Path) -> dict[str, bytes]:
    newest = max(work.glob("shards/*"), key=lambda folder: folder.stat().st_mtime_ns)
    return {path.name: path.read_bytes() for path in newest.glob("*.bin")}


@pytest.fixture(scope="module")
def shuffled(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("shuffled") / "work"
    run(finished.recipe, work, *SHUFFLE)
    return work


def test_documents_stand_in_the_order_of_their_coins(finished: Finished, shuffled: Path) -> None:
    manifest = finished.latest.manifests["assemble"]
    keys = {}
    for part in manifest.parts("corpus"):
        table = pq.read_table(finished.work / part.file, columns=["doc_id", "doc_key"])
        keys |= dict(zip(table["doc_id"].to_pylist(), table["doc_key"].to_pylist(), strict=True))
    [path] = shuffled.glob("tokenize/parts/*news-train*.parquet")
    rows = pq.read_table(path).to_pylist()
    ids = [(row["doc_id"], row["piece"]) for row in rows]
    assert ids != sorted(ids)
    assert ids == sorted(ids, key=lambda each: (coin(7, keys[each[0]], "shuffle"), each))
    pairs = [PairReader(next(root.glob("shards/*")) / "news-train-00000") for root in (finished.work, shuffled)]
    before, after = (sorted(pair[number].tolist() for number in range(len(pair))) for pair in pairs)
    assert after == before


def test_the_bytes_that_crossed_the_shuffle_are_in_the_manifest(finished: Finished, shuffled: Path) -> None:
    import json

    from curation.commits import load_manifest

    latest = json.loads((shuffled / "latest.json").read_text())
    notes = load_manifest(str(shuffled), latest["stages"]["tokenize"]["manifest"]).notes
    assert set(notes["shuffled_bytes"]) == {"news", "books"}
    tokens = sum(len(data) for name, data in bins(shuffled).items() if name.startswith("news"))
    assert tokens < notes["shuffled_bytes"]["news"] < tokens + 200 * 40
    assert "shuffled_bytes" not in finished.latest.manifests["tokenize"].notes


@pytest.mark.parametrize("cores", [1, 5])
def test_any_partitioning_gives_the_same_bytes(finished: Finished, shuffled: Path, tmp_path: Path, cores: int) -> None:
    digests_of(start(finished.recipe, str(tmp_path / "work"), *SHUFFLE, "--master", f"local[{cores},4]"))
    assert bins(tmp_path / "work") == bins(shuffled)


def test_only_the_shuffled_source_is_written_anew(finished: Finished) -> None:
    before = {path.name for path in finished.work.glob("tokenize/commits/*")}
    run(finished.recipe, finished.work, *SHUFFLE[:2])
    new = {path.name for path in finished.work.glob("tokenize/commits/*")} - before
    run(finished.recipe, finished.work)
    assert [name.rsplit("-", 1)[0] for name in new] == ["news-00000"]
