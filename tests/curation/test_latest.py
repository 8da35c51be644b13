"""latest.json: it leads to the last run's manifests, and its loss is no damage."""

from pathlib import Path

import pytest

from curation import storage
from curation.commits import Commit, Manifest, put_commit, put_manifest
from curation.errors import IntegrityError, RecipeError
from curation.explain import explain
from curation.latest import Latest, read_latest, read_newest, write_latest, write_unfinished
from tests.workfolder import make_work_folder


@pytest.fixture
def last(root) -> Latest:
    commit = put_commit(root, Commit("ingest", "0-0", "a" * 32, (), {"in": {}}))
    manifest = put_manifest(root, Manifest("ingest", "a" * 32, "b" * 32, (commit,)))
    return Latest("recipe", "b" * 32, {"ingest": manifest})


def test_the_last_run_is_read_with_its_manifests(root, last):
    write_latest(root, Latest("older", "c" * 32, {}))
    write_latest(root, last)
    assert read_latest(root) == last


@pytest.mark.parametrize("left", [None, b"", b"{", b"[]", b'{"stages": {}}', b'{"stages": 7}'])
def test_a_folder_without_a_finished_run_says_how_to_make_one(root, left):
    if left is not None:
        storage.replace(storage.join(root, "latest.json"), left)
    with pytest.raises(RecipeError, match=f"{root}: no finished run here; `curate run RECIPE --work {root}`"):
        read_latest(root)


def test_a_manifest_that_is_gone_is_named(root, last):
    write_latest(root, last)
    path = last.manifests["ingest"].path
    storage.delete(storage.join(root, path))
    with pytest.raises(IntegrityError, match=f"{path}: ingest has no manifest there"):
        read_latest(root)


def test_what_a_first_run_has_done_so_far_is_read_until_it_has_finished(tmp_path):
    work = make_work_folder(tmp_path)
    whole = read_latest(work.root)
    begun = Latest(whole.recipe_digest, whole.inputs, {"ingest": whole.manifests["ingest"]})
    Path(work.root, "latest.json").unlink()
    write_unfinished(work.root, begun)
    assert list(read_newest(work.root).manifests) == ["ingest"]
    assert [story.steps[-1].stage for story in explain(work.root, str(work.web[3]))] == ["ingest"]
    with pytest.raises(RecipeError):
        read_latest(work.root)
    write_latest(work.root, whole)
    assert read_newest(work.root).manifests == whole.manifests
    assert not Path(work.root, "unfinished.json").exists()
