"""Verify names every file that is not what was committed, however cleverly it was changed."""

import json
from pathlib import Path

import pytest

from curation.errors import RecipeError
from curation.verify import Verification, verify
from tests.workfolder import WorkFolder, make_work_folder


@pytest.fixture
def work(tmp_path: Path) -> WorkFolder:
    return make_work_folder(tmp_path)


def problems(found: Verification) -> list[str]:
    return [problem for stage in found.stages for problem in stage.problems]


def test_an_untouched_folder_is_whole(work: WorkFolder) -> None:
    found = verify(work.root)
    assert problems(found) == []
    assert found.ok


def test_the_answer_has_the_fields_that_checks_rely_on(work: WorkFolder) -> None:
    answer = json.loads(json.dumps(verify(work.root).to_json()))
    assert set(answer) == {"ok", "stages"}
    fields = {"stage", "key", "manifest", "files", "rows", "digest", "ok", "problems"}
    assert all(set(stage) == fields for stage in answer["stages"])
    stages = {stage["stage"]: stage for stage in answer["stages"]}
    assert next(iter(stages)) == "ingest"
    assert stages["filter"]["rows"] == 11
    assert stages["ingest"]["rows"] == 12  # eleven documents and one quarantined unit


def test_a_folder_without_a_run_says_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="curate run"):
        verify(str(tmp_path))


@pytest.mark.parametrize(
    ("stage", "table"),
    [("ingest", "documents"), ("ingest", "quarantine"), ("dedup", "verdicts"), ("tokenize", "token_documents")],
)
def test_a_flipped_byte_is_named(work: WorkFolder, stage: str, table: str) -> None:
    part = work.part(stage, table)
    flip(Path(work.url(part.file)), 40)
    found = verify(work.root)
    assert any(problem.startswith(f"{part.file}: its bytes changed") for problem in problems(found))
    assert next(check.stage for check in found.stages if not check.ok) == stage


def test_every_wrong_file_is_named_and_not_only_the_first(work: WorkFolder) -> None:
    parts = [work.part("ingest", "documents", 0), work.part("ingest", "documents", 1), work.part("assemble", "corpus")]
    Path(work.url(parts[0].file)).unlink()
    flip(Path(work.url(parts[1].file)), 40)
    Path(work.url(parts[2].file)).write_bytes(b"")
    told = problems(verify(work.root))
    assert f"{parts[0].file}: is missing" in told
    assert all(any(problem.startswith(part.file) for problem in told) for part in parts)


def test_a_missing_manifest_and_a_missing_commit_are_named(work: WorkFolder) -> None:
    manifest, commit = work.manifests["filter"], work.manifests["assemble"].commits[1]
    Path(work.url(manifest.path)).unlink()
    Path(work.url(commit.path)).unlink()
    found = {check.stage: check for check in verify(work.root).stages}
    assert found["filter"].problems == (f"{manifest.path}: the manifest is missing",)
    assert found["assemble"].problems == (f"{commit.path}: the commit is missing",)
    assert found["assemble"].files == 1  # the other shard is checked all the same


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"commits": 3}', b"\xff"])
def test_damaged_papers_are_problems_and_not_crashes(work: WorkFolder, damage: bytes) -> None:
    manifest, commit = work.manifests["dedup"], work.manifests["signals"].commits[0]
    Path(work.url(manifest.path)).write_bytes(damage)
    Path(work.url(commit.path)).write_bytes(damage)
    found = {check.stage: check for check in verify(work.root).stages}
    assert found["dedup"].problems == (
        f"{manifest.path}: the manifest is damaged; remove it and run again, which makes it from its commits",
    )
    assert found["signals"].problems == (f"{commit.path}: the commit is damaged",)


def test_a_commit_that_was_mended_alone_does_not_fit_its_manifest(work: WorkFolder) -> None:
    commit = work.manifests["filter"].commits[0]
    body = json.loads(Path(work.url(commit.path)).read_text())
    body["counts"]["empty_shards"] = ["0007-00000000-0000"]
    Path(work.url(commit.path)).write_text(json.dumps(body))
    assert any(commit.path in problem and "does not fit" in problem for problem in problems(verify(work.root)))


def test_a_document_deleted_with_its_papers_mended_unbalances_the_ledger(work: WorkFolder) -> None:
    work.mend("ingest", "documents", lambda rows: rows[:1] + rows[2:])
    told = problems(verify(work.root))
    assert any("ledger, wiki: in" in problem for problem in told)
    assert any("text_bytes: found" in problem for problem in told)


def test_a_verdict_deleted_with_its_papers_mended_breaks_the_chain(work: WorkFolder) -> None:
    work.mend("dedup", "verdicts", lambda rows: rows[1:], number=1)
    told = problems(verify(work.root))
    assert any(problem.startswith(work.manifests["dedup"].path) and "out of filter" in problem for problem in told)


def test_a_doubled_row_with_its_papers_mended_is_named(work: WorkFolder) -> None:
    """AT-14, should a table hold an id twice all the same."""
    work.mend("filter", "verdicts", lambda rows: [rows[0], *rows])
    told = problems(verify(work.root))
    assert any(f"document {work.wiki[0]}: doc_id is out of order or doubled" in problem for problem in told)
    assert any("ledger, wiki" in problem for problem in told)


def test_a_row_swapped_for_a_copy_of_its_neighbour_is_named_though_counts_agree(work: WorkFolder) -> None:
    work.mend("quality", "quality", lambda rows: [rows[1], *rows[1:]])
    assert any("doubled" in problem for problem in problems(verify(work.root)))


@pytest.mark.parametrize("field", ["start", "end"])
def test_a_cut_moved_by_one_byte_does_not_tile_its_document(work: WorkFolder, field: str) -> None:
    work.mend("decontaminate", "cuts", lambda rows: [{**rows[0], field: rows[0][field] + 1}])
    told = problems(verify(work.root))
    assert any(f"document {work.web[4]}: its pieces and cuts do not tile its text" in problem for problem in told)


def test_a_piece_moved_with_its_cut_is_not_as_long_as_it_says(work: WorkFolder) -> None:
    work.mend("decontaminate", "cuts", lambda rows: [{**rows[0], "start": rows[0]["start"] - 1}])
    moved = work.web[4]
    shorter = lambda row: row["doc_id"] == moved and row["piece"] == 0  # noqa: E731
    work.mend(
        "assemble",
        "corpus",
        lambda rows: [{**row, "end": row["end"] - 1} if shorter(row) else row for row in rows],
        number=1,
    )
    assert any(
        f"document {moved}: its text is not end - start bytes" in problem for problem in problems(verify(work.root))
    )


def test_a_text_changed_with_its_papers_mended_does_not_fit_its_digest(work: WorkFolder) -> None:
    work.mend("ingest", "documents", lambda rows: [{**rows[0], "text": rows[0]["text"].upper()}, *rows[1:]])
    told = problems(verify(work.root))
    assert any(f"document {work.wiki[0]}: text_digest is not its text's" in problem for problem in told)


def test_a_changed_token_and_a_missing_index_are_named(work: WorkFolder) -> None:
    folder = Path(work.url("shards/0123456789abcdef"))
    replace_bytes(folder / "wiki-train-00000.bin", 10)
    (folder / "web-train-00000.idx").unlink()
    told = problems(verify(work.root))
    assert any("shards/0123456789abcdef/wiki-train-00000.bin" in problem for problem in told)
    assert "shards/0123456789abcdef/web-train-00000.idx: is missing" in told


def test_shards_json_and_sidecars_must_agree_with_the_commits(work: WorkFolder) -> None:
    folder = Path(work.url("shards/0123456789abcdef"))
    listed = json.loads((folder / "shards.json").read_text())
    listed["pairs"] = listed["pairs"][:1]
    (folder / "shards.json").write_text(json.dumps(listed))
    sidecar = json.loads((folder / "wiki-train-00000.json").read_text())
    (folder / "wiki-train-00000.json").write_text(json.dumps({**sidecar, "tokens": sidecar["tokens"] + 1}))
    told = problems(verify(work.root))
    assert "shards/0123456789abcdef/shards.json: web-train-00000 is committed and not listed" in told
    assert any("wiki-train-00000.json: says other things of the pair than its commit" in problem for problem in told)
    assert any("blend.json: web-train-00000 is blended and not in shards.json" in problem for problem in told)


def test_megatrons_file_must_say_what_the_blend_says(work: WorkFolder) -> None:
    path = Path(work.url("shards/0123456789abcdef/megatron.json"))
    splits = json.loads(path.read_text())
    path.write_text(json.dumps({**splits, "train": ["0.5", *splits["train"][1:]]}))
    wrong = "shards/0123456789abcdef/megatron.json"
    assert problems(verify(work.root)) == [f"{wrong}: says another blend than blend.json"]
    path.write_bytes(b"{")
    assert problems(verify(work.root)) == [f"{wrong}: is damaged"]
    path.unlink()
    assert problems(verify(work.root)) == [f"{wrong}: is missing"]


def test_a_lost_register_is_told_when_the_ledger_needs_it(work: WorkFolder) -> None:
    Path(work.url("registry/00000.parquet")).unlink()
    assert any("ledger, source 0: in" in problem for problem in problems(verify(work.root)))


def flip(path: Path, offset: int) -> None:
    """Change one byte in place, whatever else links to the file."""
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x20
    path.write_bytes(data)


def replace_bytes(path: Path, offset: int) -> None:
    """Change one byte in a new file under the same name, so that hard links keep the old bytes."""
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.unlink()
    path.write_bytes(data)
