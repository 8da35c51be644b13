"""The section on duplicates tells what the verdicts and pairs of dedup say."""

import json
from pathlib import Path

import pytest

from curation.dedup.bands import collision_probability
from curation.lookup import open_folder
from curation.report import collect, render
from curation.report.duplicates import duplicates
from tests.workfolder import WorkFolder, make_work_folder


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> WorkFolder:
    return make_work_folder(tmp_path_factory.mktemp("work"))


def test_clusters_are_counted_and_the_largest_are_named(work: WorkFolder) -> None:
    found = duplicates(open_folder(work.root))
    assert found is not None
    assert found.sizes == {"1": 4, "2": 2}  # eight documents: two of them each stand for one that was dropped
    assert [(one.doc_id, one.documents) for one in found.largest] == [(work.wiki[0], 2), (work.wiki[1], 2)]
    assert found.largest[0].locator.startswith("wiki:")
    assert (found.near, found.below_threshold) == (1, 0)


def test_the_matrix_says_which_source_repeats_which(work: WorkFolder) -> None:
    found = duplicates(open_folder(work.root))
    assert found is not None
    [row] = found.overlap
    assert (row.source, row.other, row.documents) == ("web", "wiki", 2)
    assert row.received == 5


def test_the_curve_is_the_bands_own(work: WorkFolder) -> None:
    found = duplicates(open_folder(work.root))
    assert found is not None
    assert dict(found.curve)[0.8] == collision_probability(0.8, 20, 13)
    assert dict(found.curve)[1.0] == 1.0
    assert found.pairs == 0
    assert found.expected_recall is None


def test_removals_below_the_threshold_are_told(tmp_path: Path) -> None:
    work = make_work_folder(tmp_path)
    low = {"value": 700_000}
    work.mend("dedup", "verdicts", lambda rows: [row | low if row["other"] else row for row in rows], number=1)
    page = render(collect(work.root))
    assert "lie below the threshold" in page


def test_the_section_stands_in_the_page_and_in_the_json(work: WorkFolder) -> None:
    report = collect(work.root)
    assert "<h2>Duplicates</h2>" in render(report)
    assert json.loads(json.dumps(report.to_json()))["duplicates"]["sizes"] == {"1": 4, "2": 2}
