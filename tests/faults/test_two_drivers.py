"""Two drivers at once on one work folder: each commit is made once, both end, and a disagreement stops the second."""

from pathlib import Path

from conftest import Finished, digests
from corpus import write_corpus, write_recipe
from program import digests_of, start

from curation.verify import verify


def test_two_drivers_at_once_end_with_one_result(finished: Finished, tmp_path: Path) -> None:
    """AT-17: both started together; one manifest for each stage, and both have the digests of a run alone."""
    write_corpus(tmp_path)
    recipe, work = write_recipe(tmp_path), tmp_path / "work"
    both = [start(recipe, str(work), "--master", "local[1,4]") for _ in range(2)]
    found = [digests_of(process) for process in both]
    assert found == [digests(finished.latest)] * 2
    for stage in digests(finished.latest):
        assert len(list((work / stage / "manifests").glob("*.json"))) == 1
    assert verify(str(work)).ok
