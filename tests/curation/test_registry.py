"""The register: numbers are for ever, new files are one generation in order, and a changed file is an error."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation import storage
from curation.errors import IntegrityError, RecipeError
from curation.identity import IdentityOverflow
from curation.recipe import Recipe, parse_recipe
from curation.registry import (
    Inputs,
    Registry,
    fingerprint_of,
    read_registry,
    register,
    survey,
    write_generation,
)
from curation.storage import Entry


def recipe(*names: str, **about: Any) -> Recipe:
    sources = [{"name": name, "reader": "jsonl", "inputs": [f"{name}/**"]} | about for name in names]
    return parse_recipe({"name": "test", "source": sources}, "test.toml")


WEB_WIKI = recipe("web", "wiki")


def files(*paths: str) -> list[tuple[str, Entry]]:
    """Return what a survey finds: (group, file) in order, the group being the first folder."""
    return [(path.split("/")[0], Entry(path, len(path), "v1")) for path in sorted(paths)]


def digest(entry: Entry) -> str:
    return f"sha256:{entry.path} {entry.version}"


def grow(registry: Registry, *paths: str, of: Recipe = WEB_WIKI) -> tuple[Registry, Inputs]:
    return register(registry, of, files(*paths), digest)


def numbers(registry: Registry) -> dict[str, int]:
    return {file.uri: file.file for file in registry.files}


def test_files_are_numbered_in_order_of_source_and_path():
    registry, inputs = grow(Registry(), "wiki/b", "wiki/a", "web/z")
    assert numbers(registry) == {"web/z": 0, "wiki/a": 1, "wiki/b": 2}
    assert {file.generation for file in registry.files} == {0}
    assert [file.uri for file in inputs.of_group("wiki")] == ["wiki/a", "wiki/b"]
    assert inputs.numbers == {"web": 0, "wiki": 1}


def test_new_files_are_one_more_generation_behind_all_others():
    first, _ = grow(Registry(), "web/m", "wiki/m")
    second, inputs = grow(first, "web/a", "web/m", "wiki/a", "wiki/m")
    assert numbers(second) == {"web/m": 0, "wiki/m": 1, "web/a": 2, "wiki/a": 3}
    assert [file.generation for file in second.files] == [0, 0, 1, 1]
    assert [file.file for file in inputs.files] == [0, 1, 2, 3]


def test_a_file_that_went_away_keeps_its_number_and_is_no_input():
    first, before = grow(Registry(), "web/a", "web/b")
    second, inputs = grow(first, "web/b")
    assert second == first
    assert [file.uri for file in inputs.files] == ["web/b"]
    assert inputs.digest != before.digest


def test_a_new_source_is_numbered_behind_the_known_ones_wherever_it_stands_in_the_recipe():
    first, _ = grow(Registry(), "web/a")
    second, inputs = grow(first, "web/a", of=recipe("books", "wiki", "web"))
    assert second.numbers == {"web": 0, "wiki": 1, "books": 2}
    third, inputs = grow(second, "web/a", of=recipe("web"))
    assert third.numbers == second.numbers
    assert inputs.numbers == {"web": 0}


GROWTHS = st.lists(st.sets(st.sampled_from([f"{group}/{name}" for group in ("web", "wiki") for name in "abcd"])))


@given(GROWTHS)
def test_a_number_once_given_never_changes(growths):
    registry = Registry()
    for paths in growths:
        known = numbers(registry)
        registry, inputs = grow(registry, *paths)
        assert known.items() <= numbers(registry).items()
        assert sorted(numbers(registry).values()) == list(range(len(registry.files)))
        assert {file.uri for file in inputs.files} == paths
        fresh = [file for file in registry.files if file.uri not in known]
        assert fresh == sorted(fresh, key=lambda file: (file.group, file.uri))
        assert len({file.generation for file in fresh}) <= 1


@given(GROWTHS)
@settings(max_examples=30)
def test_a_register_is_read_as_it_was_written(tmp_path_factory, growths):
    root = str(tmp_path_factory.mktemp("work"))
    for paths in growths:
        before = read_registry(root)
        after, _ = grow(before, *paths)
        write_generation(root, before, after)
        assert (read_registry(root).files, read_registry(root).numbers) == (after.files, after.numbers)


def test_changed_bytes_under_a_known_path_name_both_versions():
    registry, _ = grow(Registry(), "web/a")
    changed = [("web", Entry("web/a", 7, "v2"))]
    with pytest.raises(IntegrityError) as caught:
        register(registry, WEB_WIKI, changed, digest)
    for said in ("web/a changed", "with 5 bytes, sha256:web/a v1", "now 7 bytes, sha256:web/a v2", "new work folder"):
        assert said in str(caught.value)


def test_more_files_than_a_doc_id_can_number_are_refused(monkeypatch):
    monkeypatch.setattr("curation.registry.FILE_BITS", 1)
    with pytest.raises(IdentityOverflow, match="3 files, 2 sources: too many"):
        grow(Registry(), "web/a", "web/b", "web/c")


def test_generations_are_appended_and_nothing_is_rewritten(root):
    first, _ = grow(read_registry(root), "web/a")
    write_generation(root, Registry(), first)
    before = storage.read_bytes(storage.join(root, "registry/00000.parquet"))
    known = read_registry(root)
    write_generation(root, known, grow(known, "web/a", "web/b")[0])
    assert storage.list_names(storage.join(root, "registry")) == ["00000.parquet", "00001.parquet"]
    assert storage.read_bytes(storage.join(root, "registry/00000.parquet")) == before


def test_a_run_that_finds_nothing_new_writes_nothing(root):
    first, _ = grow(Registry(), "web/a")
    write_generation(root, Registry(), first)
    known = read_registry(root)
    write_generation(root, known, grow(known, "web/a")[0])
    assert storage.list_names(storage.join(root, "registry")) == ["00000.parquet"]


def test_two_runs_that_find_the_same_files_agree(root):
    for _ in range(2):
        write_generation(root, Registry(), grow(Registry(), "web/a", "wiki/b")[0])
    assert numbers(read_registry(root)) == {"web/a": 0, "wiki/b": 1}


def test_of_two_runs_that_find_other_files_at_once_one_registers_and_one_is_told(root):
    """Both read an empty register; whoever comes second must not number other files from 0 as well."""
    ready = threading.Barrier(2)

    def run(path: str) -> str:
        before = read_registry(root)
        ready.wait()
        try:
            write_generation(root, before, grow(before, path)[0])
        except IntegrityError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(2) as pool:
        told = sorted(pool.map(run, ["web/a", "wiki/b"]))
    assert told[0] == ""
    assert "run the same command again" in told[1]
    assert list(numbers(read_registry(root)).values()) == [0]


@pytest.mark.parametrize("spoil", ["flip", "lose", "swap"])
def test_a_damaged_register_is_named(tmp_path, spoil):
    root = str(tmp_path)
    for paths in (["web/a"], ["web/a", "web/b"]):
        known = read_registry(root)
        write_generation(root, known, grow(known, *paths)[0])
    first, second = (tmp_path / "registry" / f"0000{page}.parquet" for page in (0, 1))
    if spoil == "flip":
        data = second.read_bytes()
        second.write_bytes(data[:20] + bytes([data[20] ^ 1]) + data[21:])
    elif spoil == "lose":
        first.unlink()
    else:
        first.write_bytes(second.read_bytes())
    with pytest.raises(IntegrityError, match=r"registry/0000\d.parquet: the register is damaged"):
        read_registry(root)


def test_a_survey_finds_the_files_of_every_group_in_order_of_bytes(root):
    for path in ("wiki/b/1", "wiki/a", "wiki/Z", "web/é", "web/z", "other/x"):
        storage.put_if_absent(storage.join(root, path), b"1")
    found = survey(WEB_WIKI, root)
    assert [(group, entry.path) for group, entry in found] == [
        ("web", "web/z"),
        ("web", "web/é"),
        ("wiki", "wiki/Z"),
        ("wiki", "wiki/a"),
        ("wiki", "wiki/b/1"),
    ]


def test_globs_that_overlap_find_a_file_once(tmp_path):
    """AT-14, at its root: an id is a place, and no place is read twice."""
    (tmp_path / "a.jsonl").write_text("{}")
    found = survey(recipe("web", inputs=["*.jsonl", "a*"]), str(tmp_path))
    assert [entry.path for _, entry in found] == ["a.jsonl"]


def test_a_group_without_files_is_an_error_unless_it_is_optional(tmp_path):
    (tmp_path / "web").mkdir()
    (tmp_path / "web/a").write_text("1")
    with pytest.raises(
        RecipeError, match=r"wiki: no file matches wiki/\*\* below .*; correct `inputs`, give --input ROOT"
    ):
        survey(WEB_WIKI, str(tmp_path))
    assert [group for group, _ in survey(recipe("web", "wiki", optional=True), str(tmp_path))] == ["web"]


def test_no_file_at_all_is_an_error(tmp_path):
    with pytest.raises(RecipeError, match="no source has any file"):
        survey(recipe("web", optional=True), str(tmp_path))


def test_a_file_name_that_is_not_utf8_is_refused(tmp_path):
    (tmp_path / "web").mkdir()
    with open(bytes(tmp_path / "web") + b"/\xff", "wb"):
        pass
    with pytest.raises(RecipeError, match="the file name is not UTF-8"):
        survey(recipe("web"), str(tmp_path))


def test_a_fingerprint_is_the_sha256_of_a_local_file_and_the_etag_of_an_object(root):
    storage.put_if_absent(storage.join(root, "a"), b"abc")
    (entry,) = storage.find(root, "a")
    expected = (
        f"etag:{entry.version}"
        if storage.is_s3(root)
        else "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
    assert fingerprint_of(root, entry) == expected


def test_inputs_differ_if_anything_about_a_file_does():
    _, inputs = grow(Registry(), "web/a", "wiki/b")
    file = inputs.files[0]
    others = [replace(file, fingerprint="other"), replace(file, bytes=6), replace(file, file=9), replace(file, uri="x")]
    digests = {Inputs((other, inputs.files[1]), inputs.numbers).digest for other in (file, *others)}
    assert len(digests) == 5
    assert Inputs(inputs.files, {"web": 1, "wiki": 0}).digest not in digests
