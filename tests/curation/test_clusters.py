"""A cluster is found from any of its members."""

import json
from pathlib import Path

import pytest

from curation.clusters import clusters
from curation.errors import RecipeError
from jobs.cli import main
from tests.workfolder import WorkFolder, make_work_folder


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> WorkFolder:
    return make_work_folder(tmp_path_factory.mktemp("work"))


def test_the_kept_and_the_dropped_document_lead_to_the_same_cluster(work: WorkFolder) -> None:
    by_kept, by_dropped = (clusters(work.root, str(doc_id)) for doc_id in (work.wiki[0], work.web[3]))
    assert by_kept == by_dropped
    [cluster] = by_kept
    assert cluster.size == 2
    assert cluster.kept.doc_id == work.wiki[0]
    [member] = cluster.dropped
    assert (member.doc_id, member.reason, member.jaccard_ppm) == (work.web[3], "near_duplicate", 913_043)


def test_a_document_without_duplicates_is_a_cluster_of_one(work: WorkFolder) -> None:
    [cluster] = clusters(work.root, str(work.web[0]))
    assert cluster.size == 1


def test_a_document_that_dedup_never_saw_is_told_so(work: WorkFolder) -> None:
    with pytest.raises(RecipeError, match="dedup saw no such document"):
        clusters(work.root, str(work.web[1]))


def test_the_command_prints_the_cluster(work: WorkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["duplicates", work.root, str(work.web[3])]) == 0
    assert "0.9130" in capsys.readouterr().out
    assert main(["duplicates", work.root, str(work.web[3]), "--json"]) == 0
    [cluster] = json.loads(capsys.readouterr().out)
    assert cluster["size"] == 2
    assert cluster["dropped"][0]["reason"] == "near_duplicate"


def test_a_folder_without_a_run_has_no_clusters(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no finished run"):
        clusters(str(tmp_path), "1")
