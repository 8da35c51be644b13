"""The same run with its work folder in an object store."""

from pathlib import Path

from conftest import Finished, digests
from corpus import write_corpus, write_recipe
from program import digests_of, start

from curation import storage


def test_a_work_folder_on_s3_gives_the_same_digests(finished: Finished, tmp_path: Path, s3_root: str) -> None:
    write_corpus(tmp_path)
    recipe = write_recipe(tmp_path)
    assert digests_of(start(recipe, s3_root)) == digests(finished.latest)
    assert {"latest.json", "report.html"} & set(storage.list_names(s3_root)) == {"latest.json"}
    assert digests_of(start(recipe, s3_root)) == digests(finished.latest)  # resumes, and finds everything there


def test_inputs_on_s3_give_the_same_documents(finished: Finished, tmp_path: Path, s3_root: str) -> None:
    write_corpus(tmp_path)
    recipe = write_recipe(tmp_path)
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file():
            with storage.create(storage.join(s3_root, str(path.relative_to(tmp_path)))) as stream:
                stream.write(path.read_bytes())
    found = digests_of(start(recipe, str(tmp_path / "work"), "--input", s3_root))
    expected = digests(finished.latest)
    assert found == expected
