"""Cleaning removes what nobody needs and nothing else, also when it is killed in the middle."""

import contextlib
import json
import os
from pathlib import Path

import pytest

from curation import commits, storage
from curation.cleaning import leftovers, remove
from curation.commits import Commit, Manifest
from curation.digests import value_digest
from curation.errors import IntegrityError, RecipeError
from curation.parts import write_part
from curation.verify import verify
from tests.tables import rows
from tests.workfolder import INPUTS, WorkFolder, make_work_folder


@pytest.fixture
def work(tmp_path: Path) -> WorkFolder:
    return make_work_folder(tmp_path / "work")


def attempt(work: WorkFolder, stage: str = "signals", age: float = 0) -> str:
    """Write a part that nobody commits, some seconds before the last run ended."""
    part = write_part(work.root, stage, "signals", "0000", [rows("signals", {"doc_id": 1})])
    _age(work, part.file, age)
    return part.file


def earlier(work: WorkFolder, age: float = 100, name: str = "other") -> list[str]:
    """Finish `signals` with other parameters, before the last run; return its manifest, commit and part."""
    part = write_part(work.root, "signals", "signals", name, [rows("signals", {"doc_id": 1})])
    key = value_digest(name)
    commit = commits.put_commit(work.root, Commit("signals", name, key, (part,)))
    manifest = commits.put_manifest(work.root, Manifest("signals", key, INPUTS, (commit,)))
    for path in (manifest.path, commit.path, part.file):
        _age(work, path, age)
    return [manifest.path, commit.path, part.file]


def unfinished(work: WorkFolder, age: float = -10) -> list[str]:
    """Commit an item of a stage that no manifest lists; a negative age is after the last run."""
    part = write_part(work.root, "signals", "signals", "new", [rows("signals", {"doc_id": 1})])
    commit = commits.put_commit(work.root, Commit("signals", "new", value_digest("new"), (part,)))
    for path in (commit.path, part.file):
        _age(work, path, age)
    return [commit.path, part.file]


def _age(work: WorkFolder, path: str, age: float) -> None:
    then = storage.modified(work.url("latest.json")) - age
    os.utime(work.url(path), (then, then))


def paths(work: WorkFolder, keep: int = 0, before: float | None = None) -> list[str]:
    return [left.path for left in leftovers(work.root, keep, before)]


def test_a_finished_folder_has_nothing_to_remove(work: WorkFolder) -> None:
    assert paths(work) == []


def test_attempts_that_were_never_committed_go(work: WorkFolder) -> None:
    stale = attempt(work)
    halves = [f"{stale}.{'0' * 32}.part", f"signals/commits/x.json.{'1' * 32}.part"]
    for half in halves:
        Path(work.url(half)).write_bytes(b"half")
    assert set(paths(work)) == {stale, *halves}
    remove(work.root, leftovers(work.root))
    assert paths(work) == []
    assert verify(work.root).ok


def test_what_an_earlier_run_alone_needs_goes_from_the_paper_to_the_part(work: WorkFolder) -> None:
    old = earlier(work)
    assert paths(work) == old


def test_as_many_earlier_manifests_stay_as_were_asked_for(work: WorkFolder) -> None:
    oldest, newer = earlier(work, 200, "oldest"), earlier(work, 100, "newer")
    assert paths(work, keep=2) == oldest  # the newest two are the last run's own and `newer`
    assert set(paths(work, keep=1)) == {*oldest, *newer}
    assert paths(work, keep=3) == []


def test_commits_of_a_run_that_is_not_finished_stay(work: WorkFolder) -> None:
    unfinished(work)
    assert paths(work) == []


def test_commits_that_were_never_finished_before_the_last_run_go(work: WorkFolder) -> None:
    abandoned = unfinished(work, age=10)
    assert paths(work) == abandoned


def test_while_a_run_is_under_way_only_older_attempts_go(work: WorkFolder) -> None:
    old, fresh = attempt(work, age=50), attempt(work, age=-50)
    earlier(work)
    assert paths(work, before=storage.modified(work.url("latest.json"))) == [old]
    assert fresh not in paths(work, before=storage.modified(work.url("latest.json")))


def test_published_shards_of_earlier_runs_go_with_their_folder(work: WorkFolder) -> None:
    storage.replace(work.url("shards/0000000000000000/wiki-train-00000.bin"), b"tokens")
    storage.replace(work.url("matches/index/0000000000000000.index"), b"index")
    assert paths(work) == ["shards/0000000000000000/wiki-train-00000.bin", "matches/index/0000000000000000.index"]
    remove(work.root, leftovers(work.root))
    assert not Path(work.url("shards/0000000000000000")).exists()
    assert verify(work.root).ok


def test_a_folder_without_a_finished_run_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no finished run here"):
        leftovers(str(tmp_path))


@pytest.mark.parametrize("what", ["manifest", "commit"])
def test_nothing_goes_while_something_in_use_is_missing(work: WorkFolder, what: str) -> None:
    attempt(work)
    manifest = work.manifests["filter"]
    storage.delete(work.url(manifest.path if what == "manifest" else manifest.commits[0].path))
    with pytest.raises(IntegrityError, match="filter"):
        leftovers(work.root)


def test_a_damaged_manifest_that_is_not_in_use_goes(work: WorkFolder) -> None:
    manifest, commit, part = earlier(work)
    Path(work.url(manifest)).write_bytes(b"{")
    _age(work, manifest, 100)
    assert set(paths(work)) == {manifest, commit, part}


class _Killed(BaseException):
    pass


def test_a_cleaning_killed_anywhere_leaves_papers_that_vouch_for_what_is_there(
    work: WorkFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier(work)
    attempt(work, age=5)
    total, delete = len(leftovers(work.root)), storage.delete
    for _ in range(total):
        done = []

        def once(url: str, done: list[str] = done) -> None:
            if done:
                raise _Killed
            delete(url)
            done.append(url)

        with monkeypatch.context() as patched, contextlib.suppress(_Killed):
            patched.setattr(storage, "delete", once)
            remove(work.root, leftovers(work.root))
        for path in Path(work.root, "signals/manifests").glob("*.json"):
            manifest = commits.load_manifest(work.root, f"signals/manifests/{path.name}")
            assert all(storage.exists(work.url(part.file)) for part in manifest.parts())
        for path in Path(work.root, "signals/commits").glob("*.json"):
            listed = commits.commit_from_json(json.loads(path.read_bytes()))
            assert all(storage.exists(work.url(part.file)) for part in listed.parts)
        assert verify(work.root).ok
    assert paths(work) == []
