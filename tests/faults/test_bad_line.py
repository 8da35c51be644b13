"""A store that loses requests and answers, refuses and is late: commits are made once, and nothing ends different."""

from pathlib import Path

from conftest import Finished, digests
from corpus import write_corpus, write_recipe
from flaky_store import bad_line
from program import digests_of, start

from curation import commits, storage
from curation.commits import Commit
from curation.parts import read_table, write_part
from tests.tables import rows


def test_a_put_whose_answer_was_lost_has_won(s3_root: str) -> None:
    with bad_line(share=0.3) as done:
        for number in range(20):
            url = storage.join(s3_root, f"commits/{number}.json")
            assert storage.put_if_absent(url, b"mine") == b"mine"
            assert storage.put_if_absent(url, b"other") == b"mine"
    assert min(done[fate] for fate in ("lost", "unanswered", "throttled", "late")) > 0


def test_parts_and_commits_are_whole_behind_a_bad_line(s3_root: str) -> None:
    with bad_line(seed=2) as done:
        for number in range(10):
            written = rows("signals", *({"doc_id": number * 10 + row} for row in range(10)))
            part = write_part(s3_root, "signals", "signals", f"{number:04d}", [written])
            commit = Commit("signals", f"{number:04d}", f"{number:064x}", (part,))
            assert commits.put_commit(s3_root, commit) == commit
            assert read_table(s3_root, part)["doc_id"].to_pylist() == written["doc_id"].to_pylist()
        wanted = {f"{number:04d}": f"{number:064x}" for number in range(10)}
        assert set(commits.read_commits(s3_root, "signals", wanted)) == set(wanted)
    assert done.total() - done["fine"] > 10


def test_a_run_behind_a_bad_line_ends_as_one_on_a_good_disk(finished: Finished, tmp_path: Path, s3_root: str) -> None:
    write_corpus(tmp_path)
    recipe = write_recipe(tmp_path)
    with bad_line(seed=3, share=0.1) as done:
        assert digests_of(start(recipe, s3_root)) == digests(finished.latest)
    assert done.total() - done["fine"] > 20
