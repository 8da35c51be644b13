"""Committed files that are lost or changed, attempts that were left behind, inputs that are damaged."""

import bz2
import gzip
import json
import lzma
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from conftest import Finished, digests, run
from corpus import prose, write_corpus, write_recipe

from curation import storage
from curation.cleaning import leftovers, remove
from curation.errors import IntegrityError
from curation.parts import read_table, write_part
from curation.recipe import parse_recipe
from curation.registry import InputFile
from curation.sources.intake import UnitTask, ingest_unit
from curation.stages import Unit
from curation.verify import verify
from tests.tables import rows


def copied(finished: Finished, tmp_path: Path) -> Path:
    work = tmp_path / "work"
    shutil.copytree(finished.work, work)
    return work


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def lose(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("harm", [flip, lose])
@pytest.mark.parametrize("stage", ["ingest", "signals", "filter", "dedup", "decontaminate", "assemble", "tokenize"])
def test_verify_names_a_part_that_was_harmed(
    finished: Finished, tmp_path: Path, stage: str, harm: Callable[[Path], None]
) -> None:
    """AT-06."""
    work = copied(finished, tmp_path)
    part = max(finished.latest.manifests[stage].parts(), key=lambda part: part.bytes)
    harm(work / part.file)
    found = verify(str(work))
    assert [stage for stage in found.stages if not stage.ok]
    assert part.file in " ".join(problem for stage in found.stages for problem in stage.problems)


def test_a_commit_that_is_gone_stops_the_run_and_what_stands_stays(finished: Finished, tmp_path: Path) -> None:
    """AT-06: the manifest says that it was there."""
    work = copied(finished, tmp_path)
    [commit] = finished.latest.manifests["dedup"].commits
    (work / commit.path).unlink()
    with pytest.raises(IntegrityError, match=r"dedup/commits/.*a committed file is missing; restore it"):
        run(finished.recipe, work, "--input", str(finished.root))


def test_attempts_left_behind_are_never_read_and_can_be_cleaned(finished: Finished, tmp_path: Path) -> None:
    """Stale parts, half files and dead locks of killed runs, beside a run that does not know of them."""
    write_corpus(tmp_path)
    recipe, work = write_recipe(tmp_path), tmp_path / "work"
    for stage, table in (
        ("ingest", "documents"),
        ("signals", "signals"),
        ("filter", "verdicts"),
        ("assemble", "corpus"),
    ):
        stale = write_part(str(work), stage, table, "0000-00000000-0000", [rows(table, {"doc_id": 1})])
        Path(f"{work / stale.file}.{'a' * 32}.part").write_bytes(b"half")
    (work / "locks").mkdir()
    (work / "locks/dead.json").write_text(json.dumps({"host": "gone", "pid": 1, "started": "2020-01-01T00:00:00Z"}))
    assert digests(run(recipe, work)) == digests(finished.latest)
    (work / "locks/dead.json").unlink()
    before = {part.file for manifest in finished.latest.manifests.values() for part in manifest.parts()}
    assert before
    gone = leftovers(str(work))
    assert sorted(left.kind for left in gone) == ["attempt"] * 8
    remove(str(work), gone)
    assert leftovers(str(work)) == []
    assert verify(str(work)).ok
    assert digests(run(recipe, work)) == digests(finished.latest)


def test_a_cleaned_folder_of_two_runs_is_whole_and_starts_nothing(finished: Finished, tmp_path: Path) -> None:
    """What only the earlier of two runs needs goes; the last one is committed as before."""
    work = copied(finished, tmp_path)
    last = run(finished.recipe, work, "--input", str(finished.root), "--set", "dedup.threshold=0.9")
    remove(str(work), leftovers(str(work), keep=2))
    assert verify(str(work)).ok
    gone = leftovers(str(work))
    assert {left.path.split("/")[0] for left in gone} == {"dedup", "decontaminate", "assemble", "tokenize", "shards"}
    remove(str(work), gone)
    assert verify(str(work)).ok
    assert digests(
        run(finished.recipe, work, "--input", str(finished.root), "--set", "dedup.threshold=0.9")
    ) == digests(last)


def damaged_files(folder: Path) -> dict[str, int]:
    """Write six files of twenty records, five of them damaged; return how many records of each must be read."""
    lines = [json.dumps({"text": prose(n)}).encode() + b"\n" for n in range(20)]
    whole = b"".join(lines)
    gz = gzip.compress(whole, mtime=0)
    broken = bytearray(zstd.compress(b"".join(lines[:10])) + zstd.compress(b"".join(lines[10:])))
    broken[len(broken) // 4] ^= 0xFF
    files = {
        "a-good.jsonl.gz": gz,
        "b-cut.jsonl.gz": gz[: len(gz) // 2],
        "c-garbage.jsonl.gz": bytes(range(256)) * 40,
        "d-xz-by-another-name.jsonl": lzma.compress(whole),
        "e-bad.jsonl.zst": bytes(broken),
        "f-bz2.jsonl": bz2.compress(whole),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return {name: len(data) for name, data in files.items()}


def test_damaged_files_are_recovered_around_and_every_byte_counts(tmp_path: Path) -> None:
    """AT-09: a cut gzip, garbage, xz under another name and a bad zstd frame; the others are whole."""
    sizes = damaged_files(tmp_path)
    text = (
        'name = "d"\n[[source]]\nname = "a"\nreader = "jsonl"\ninputs = ["*"]\nmax_quarantine_fraction = 1.0\n[dedup]\n'
    )
    recipe = parse_recipe(tomllib.loads(text), "recipe")
    files = tuple(
        InputFile("a", name, size, _print(tmp_path / name), n, 0) for n, (name, size) in enumerate(sizes.items())
    )
    work = str(tmp_path / "work")
    commit = ingest_unit(UnitTask(work, str(tmp_path), recipe, Unit("a", files), "0" * 64, {"a": 0}))
    found: dict[str, int] = dict.fromkeys(sizes, 0)
    for part in commit.table("documents"):
        for name in read_table(work, part, ["uri"])["uri"].to_pylist():
            found[name] += 1
    whole = ("a-good.jsonl.gz", "d-xz-by-another-name.jsonl", "f-bz2.jsonl")
    assert {name: found[name] for name in whole} == dict.fromkeys(whole, 20)
    assert 0 < found["b-cut.jsonl.gz"] < 20
    assert found["c-garbage.jsonl.gz"] == 0
    assert 0 < found["e-bad.jsonl.zst"] < 20
    bad = [row for part in commit.table("quarantine") for row in read_table(work, part).to_pylist()]
    assert {row["uri"] for row in bad} == {"b-cut.jsonl.gz", "c-garbage.jsonl.gz", "e-bad.jsonl.zst"}
    assert all(row["offset"] >= 0 and row["bytes"] > 0 for row in bad)
    for file in commit.counts["files"]:
        assert file["bytes"] == file["records"] + sum(file["skipped"].values()), file["uri"]
    assert commit.counts["in"]["a"][0] == sum(found.values()) + len(bad)


def _print(path: Path) -> str:
    return f"sha256:{storage.sha256(str(path))}"
