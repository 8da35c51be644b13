"""Commits and manifests: who is first wins, the same work twice is one, other work under the same key is exit 4."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest

from curation import commits, storage
from curation.commits import Commit, Manifest, commit_from_json, load_manifest, put_commit, put_manifest
from curation.errors import IntegrityError
from curation.parts import write_part
from schemas.tables import QUALITY

KEY, INPUTS = "0123456789abcdef" * 2, "fedcba9876543210" * 2


def committed(root: str, item: str = "0000", scores: tuple[int, ...] = (1, 2), **counts: object) -> Commit:
    """Write a part and return the commit that describes it; nothing is committed yet."""
    batch = pa.RecordBatch.from_pydict({"doc_id": list(range(len(scores))), "quality_ppm": scores}, schema=QUALITY)
    part = write_part(root, "quality", "quality", item, [batch], {"shard": item})
    return Commit("quality", item, KEY, (part,), counts)


def part_names(root: str) -> set[str]:
    return {f"quality/parts/{name}" for name in storage.list_names(storage.join(root, "quality/parts"))}


def damage(root: str, path: str, old: str, new: str) -> None:
    url = storage.join(root, path)
    text = storage.read_bytes(url).decode()
    assert old in text
    storage.replace(url, text.replace(old, new, 1).encode())


def test_a_commit_is_read_as_it_was_put(root):
    commit = committed(root, seen={"wikipedia": [2, 10]})
    assert put_commit(root, commit) == commit
    assert commits.read_commit(root, "quality", "0000", KEY) == commit
    assert commit_from_json(json.loads(json.dumps(commit.to_json()))) == commit


def test_what_was_never_done_has_no_commit(root):
    assert commits.read_commit(root, "quality", "0000", KEY) is None
    assert commits.read_commits(root, "quality", {"0000": KEY}) == {}
    assert commits.read_manifest(root, "quality", KEY, INPUTS) is None


def test_who_comes_second_with_the_same_rows_takes_what_stands_and_cleans_up(root):
    first, second = committed(root), committed(root)
    put_commit(root, first)
    assert put_commit(root, second) == first
    assert part_names(root) == {first.parts[0].file}


def test_a_put_that_is_tried_again_keeps_its_parts(root):
    commit = committed(root)
    assert put_commit(root, commit) == put_commit(root, commit) == commit
    assert part_names(root) == {commit.parts[0].file}


@pytest.mark.parametrize("other", [{"scores": (1, 3)}, {"scores": (1,)}, {"seen": 5}])
def test_other_rows_or_counts_under_the_same_key_are_refused(root, other):
    """AT-17: what is not deterministic is found out."""
    first = put_commit(root, committed(root))
    with pytest.raises(
        IntegrityError, match=r"quality/commits/0000-0123456789abcdef\.json: the same key gave other rows"
    ):
        put_commit(root, committed(root, **other))
    assert commits.read_commit(root, "quality", "0000", KEY) == first


def test_of_racing_runs_one_commit_stands_with_its_parts(root):
    """AT-17."""
    mine, ready = [committed(root) for _ in range(8)], threading.Barrier(8)

    def race(commit: Commit) -> Commit:
        ready.wait()
        return put_commit(root, commit)

    with ThreadPoolExecutor(8) as pool:
        (winner,) = {commit.parts[0].file for commit in pool.map(race, mine)}
    assert part_names(root) == {winner}


def test_commits_are_found_by_item_and_key(root):
    for item in ("0000", "0001"):
        put_commit(root, committed(root, item))
    wanted = {"0000": KEY, "0001": "f" * 32, "0002": KEY}
    assert list(commits.read_commits(root, "quality", wanted)) == ["0000"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{", "["),
        ('"digest":', '"digits":'),
        ('"counts":{}', '"counts":7'),
        ('"facts":{"shard":"0000"}', '"facts":null'),
        ('"rows":2', '"rows":3'),
        ('"key":"0', '"key":"1'),
        ('"parts":', '"ports":'),
    ],
)
def test_a_damaged_commit_is_named_by_whoever_meets_it(root, old, new):
    commit = put_commit(root, committed(root))
    damage(root, commit.path, old, new)
    for meet in (
        lambda: commits.read_commit(root, "quality", "0000", KEY),
        lambda: commits.read_commits(root, "quality", {"0000": KEY}),
        lambda: put_commit(root, commit),
    ):
        with pytest.raises(IntegrityError, match=commit.path):
            meet()


def test_a_commit_in_the_place_of_another_is_refused(root):
    one, other = (put_commit(root, committed(root, item)) for item in ("0000", "0001"))
    storage.replace(storage.join(root, other.path), storage.read_bytes(storage.join(root, one.path)))
    with pytest.raises(IntegrityError, match=other.path):
        commits.read_commit(root, "quality", "0001", KEY)


def test_a_commits_digest_does_not_know_its_files_names(tmp_path):
    assert committed(str(tmp_path)).digest == committed(str(tmp_path)).digest
    assert committed(str(tmp_path)).digest != replace(committed(str(tmp_path)), parts=()).digest


@pytest.fixture
def manifest(root) -> Manifest:
    done = tuple(put_commit(root, committed(root, item, (number, 7))) for number, item in enumerate(("0000", "0001")))
    return Manifest("quality", KEY, INPUTS, done, {"version": 1})


def test_a_manifest_is_read_with_its_commits(root, manifest):
    put_manifest(root, manifest)
    assert commits.read_manifest(root, "quality", KEY, INPUTS) == manifest
    assert load_manifest(root, manifest.path) == manifest
    assert len(manifest.parts("quality")) == len(manifest.parts()) == 2
    assert manifest.parts("other") == []


def test_a_manifest_that_was_put_can_be_put_again_by_another_machine(root, manifest):
    put_manifest(root, manifest)
    assert put_manifest(root, replace(manifest, notes={"version": 1, "spark": {"spark.version": "3.5"}})) is not None
    assert load_manifest(root, manifest.path).notes == {"version": 1}


def test_another_result_for_the_same_key_and_inputs_is_refused(root, manifest):
    put_manifest(root, manifest)
    with pytest.raises(IntegrityError, match=f"{manifest.path}: another result stands"):
        put_manifest(root, replace(manifest, commits=manifest.commits[:1]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{", "["),
        ('"digest"', '"digits"'),
        ('"commits"', '"comments"'),
        ('"notes"', '"votes"'),
        ('"inputs": "f', '"inputs": "e'),
    ],
)
def test_a_damaged_manifest_is_named(root, manifest, old, new):
    """AT-22: nor is a manifest of another shape."""
    put_manifest(root, manifest)
    damage(root, manifest.path, old, new)
    with pytest.raises(IntegrityError, match=manifest.path):
        load_manifest(root, manifest.path)


def test_putting_a_manifest_where_a_damaged_one_stands_names_it(root, manifest):
    put_manifest(root, manifest)
    damage(root, manifest.path, "{", "[")
    with pytest.raises(IntegrityError, match=f"{manifest.path}: the manifest is damaged"):
        put_manifest(root, manifest)


def test_a_manifest_whose_commit_is_gone_or_changed_names_the_commit(root, manifest):
    put_manifest(root, manifest)
    lost = manifest.commits[1]
    damage(root, lost.path, '"counts":{}', '"counts":{"a":1}')
    with pytest.raises(IntegrityError, match=lost.path):
        load_manifest(root, manifest.path)
    storage.delete(storage.join(root, lost.path))
    with pytest.raises(IntegrityError, match=f"{lost.path}: a committed file is missing"):
        load_manifest(root, manifest.path)


def test_a_manifests_digest_does_not_depend_on_how_rows_are_parted(tmp_path):
    root = str(tmp_path)
    batch = pa.RecordBatch.from_pydict({"doc_id": [1, 2], "quality_ppm": [5, 6]}, schema=QUALITY)
    whole, one, two = (
        Commit("quality", item, KEY, (write_part(root, "quality", "quality", item, [rows]),))
        for item, rows in (("a", batch), ("b", batch.slice(0, 1)), ("c", batch.slice(1)))
    )
    digests = {Manifest("quality", KEY, INPUTS, done).digest for done in ((whole,), (one, two), (two, one))}
    assert len(digests) == 1
