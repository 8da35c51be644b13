"""Stages: every key is known without running, and changes with what it stands for and nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation import stages
from curation.recipe import Recipe, parse_recipe
from curation.registry import InputFile, Inputs
from curation.stages import Stages, Unit, declare, ingest_key, item_key, units

ASSETS = {"lambada.jsonl": "digest of lambada", "gone.txt": "digest of gone"}
FULL: dict[str, Any] = {
    "name": "test",
    "container": [{"name": "pile", "reader": "pile", "inputs": ["pile/*"]}],
    "source": [
        {"name": "wiki", "reader": "jsonl", "inputs": ["wiki/*"]},
        {"name": "arxiv", "from": "pile", "select": ["ArXiv"]},
        {"name": "web", "reader": "warc", "inputs": ["web/*"], "profile": "web"},
    ],
    "profile": {"web": {"length": {"min_words": 50}, "signals": {"max_digit_ppm": 200_000}, "pareto": {"alpha": 3.0}}},
    "quality_model": {"positives": {"wiki": 10}, "negatives": ["web"]},
    "dedup": {},
    "decontamination": {"benchmarks": [{"path": "lambada.jsonl"}]},
    "removal_list": "gone.txt",
}
JUDGED = {"filter", "dedup", "decontaminate", "assemble", "tokenize"}
ALL = {"ingest", "signals", "quality_model", "quality", "signatures", "matches"} | JUDGED


def recipe(**changes: Any) -> Recipe:
    """Return the full recipe with values changed at dotted paths; a part that is None is left out."""
    values = deep_copy(FULL)
    for path, value in changes.items():
        place: Any = values
        *folders, last = path.split("__")
        for folder in folders:
            place = place[int(folder)] if isinstance(place, list) else place.setdefault(folder, {})
        place[last] = value
    return parse_recipe({name: value for name, value in values.items() if value is not None}, "test.toml")


def deep_copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: deep_copy(inner) for name, inner in value.items()}
    return [deep_copy(inner) for inner in value] if isinstance(value, list) else value


def declared(**changes: Any) -> Stages:
    return declare(recipe(**changes), ASSETS)


def changed(before: Stages, after: Stages) -> set[str]:
    return {name for name in before.keys if after.keys.get(name) != before.keys[name]}


def test_the_stages_stand_in_the_order_in_which_they_run():
    order = [stage.name for stage in declared().order]
    assert set(order) == ALL
    for stage in declared().order:
        assert all(order.index(name) < order.index(stage.name) for name in stage.inputs)


def test_what_the_recipe_leaves_out_is_no_stage():
    values = {"name": "test", "source": [{"name": "wiki", "reader": "jsonl", "inputs": ["*"]}]}
    small = declare(parse_recipe(values, "test.toml"), {})
    assert [stage.name for stage in small.order] == ["ingest", "signals", "filter", "assemble", "tokenize"]
    assert small.judges == ["filter"]
    assert "dedup" not in small
    assert declared().judges == ["filter", "dedup", "decontaminate"]


def test_a_key_is_the_same_each_time():
    assert declared().keys == declared().keys
    assert len(set(declared().keys.values())) == len(ALL)


@pytest.mark.parametrize(
    ("changes", "stale"),
    [
        ({"profile__web__signals__max_digit_ppm": 1}, JUDGED),
        ({"profile__web__pareto__alpha": 4.0}, JUDGED),
        ({"source__2__damage": "quarantine_file"}, JUDGED),
        ({"source__0__role": "reference"}, JUDGED),
        ({"profile__web__length__min_words": 60}, JUDGED | {"quality_model", "quality"}),
        ({"quality_model__positives__wiki": 11}, JUDGED | {"quality_model", "quality"}),
        ({"dedup__threshold": 0.7}, JUDGED - {"filter"}),
        ({"dedup__removal": "component"}, JUDGED - {"filter"}),
        ({"dedup__bands": 10}, (JUDGED - {"filter"}) | {"signatures"}),
        ({"decontamination__min_piece_characters": 100}, {"decontaminate", "assemble", "tokenize"}),
        ({"decontamination__mode": "extended"}, {"matches", "decontaminate", "assemble", "tokenize"}),
        ({"tokens__validation_fraction": 0.1}, {"tokenize"}),
        ({"seed": 5}, ALL),
        ({"shard_mib": 1}, ALL),
        ({"source__0__repair": False}, ALL),
        ({"source__0__sample": 0.5}, ALL),
        ({"source__0__max_quarantine_fraction": 0.5}, set()),
        ({"source__0__optional": True}, set()),
        ({"max_removed": {"dedup": 0.5}}, set()),
        ({"name": "other"}, set()),
    ],
    ids=str,
)
def test_a_changed_value_changes_the_keys_of_what_depends_on_it(changes, stale):
    assert changed(declared(), declared(**changes)) == stale


def test_the_order_of_sources_is_dedups_alone():
    reordered = [FULL["source"][1], FULL["source"][0], FULL["source"][2]]
    assert changed(declared(), declared(source=reordered)) == JUDGED - {"filter"}


@pytest.mark.parametrize(
    ("asset", "stale"),
    [("lambada.jsonl", {"matches", "decontaminate", "assemble", "tokenize"}), ("gone.txt", JUDGED)],
)
def test_a_changed_file_that_the_recipe_names_changes_keys(asset, stale):
    after = declare(recipe(), ASSETS | {asset: "other bytes"})
    assert changed(declared(), after) == stale


@pytest.mark.parametrize(
    ("library", "stale"),
    [
        ("ftfy", ALL),
        ("fasttext-numpy2", {"quality_model", "quality"} | JUDGED),
        ("pycld2", ALL),
        ("numpy", {"quality_model", "quality"} | JUDGED),
        ("scipy", set()),
    ],
)
def test_a_library_that_changes_bytes_changes_keys(monkeypatch, library, stale):
    before, version = declared(), stages.version
    monkeypatch.setattr(stages, "version", lambda name: "99" if name == library else version(name))
    assert changed(before, declared()) == stale


def test_a_library_that_is_missing_has_a_version_too(monkeypatch):
    def missing(name: str) -> str:
        raise stages.PackageNotFoundError(name)

    monkeypatch.setattr(stages, "version", missing)
    libraries = declared()["quality"].libraries
    assert {found for name, found in libraries.items() if name != "unicode"} == {"missing"}


def file(number: int, group: str = "wiki", size: int = 10, generation: int = 0) -> InputFile:
    return InputFile(group, f"{group}/{number}", size, f"sha256:{number}", number, generation)


def key_of(of: Recipe, unit: Unit, numbers: dict[str, int] | None = None) -> str:
    return ingest_key(of, declare(of, ASSETS)["ingest"], unit, numbers or {"wiki": 0, "arxiv": 1, "web": 2})


def test_a_unit_depends_on_its_own_source_and_files_only():
    unit = Unit("wiki", (file(0), file(1)))
    before = key_of(recipe(), unit)
    assert key_of(recipe(source__2__repair=False), unit) == before
    assert key_of(recipe(source=FULL["source"][:1] + FULL["source"][1:2] + FULL["source"][2:]), unit) == before
    assert key_of(recipe(source__0__repair=False), unit) != before
    assert key_of(recipe(), Unit("wiki", (file(0),))) != before
    assert key_of(recipe(), Unit("wiki", (file(0), file(1, size=11)))) != before
    assert key_of(recipe(), unit, {"wiki": 9, "arxiv": 1, "web": 2}) != before
    assert key_of(recipe(), unit, {"wiki": 0, "arxiv": 9, "web": 9}) == before


def test_a_unit_of_a_container_depends_on_what_is_selected_from_it():
    unit = Unit("pile", (file(0, "pile"),))
    before = key_of(recipe(), unit)
    assert key_of(recipe(source__1__select=["ArXiv", "USPTO"]), unit) != before
    assert key_of(recipe(source__0__repair=False), unit) == before


def test_an_items_key_is_of_its_stage_its_inputs_and_itself():
    stage = declared()["signals"]
    keys = {item_key(stage, ["a"], "0000"), item_key(stage, ["b"], "0000"), item_key(stage, ["a"], "0001")}
    assert len(keys) == 3
    assert item_key(stage, ["a"], "0000") in keys


def inputs(files: list[InputFile]) -> Inputs:
    return Inputs(tuple(files), {})


def test_small_files_share_a_unit_and_large_ones_have_their_own():
    found = units(
        inputs([file(0, size=40), file(1, size=60), file(2, size=1), file(3, size=500), file(4, size=1)]), 100
    )
    assert [unit.item for unit in found] == [
        "00000000-00000001",
        "00000002-00000002",
        "00000003-00000003",
        "00000004-00000004",
    ]
    assert [unit.bytes for unit in found] == [100, 1, 500, 1]


FILES = st.lists(st.tuples(st.sampled_from(["web", "wiki"]), st.integers(1, 120)), max_size=12)


@given(FILES, FILES)
def test_files_that_come_later_never_change_an_earlier_unit(first, later):
    known = [file(n, group, size) for n, (group, size) in enumerate(first)]
    fresh = [file(len(known) + n, group, size, 1) for n, (group, size) in enumerate(later)]
    before, after = units(inputs(known), 100), units(inputs(known + fresh), 100)
    assert set(before) <= set(after)
    assert sorted(f.file for unit in after for f in unit.files) == list(range(len(known) + len(fresh)))
    assert all(len({(f.group, f.generation) for f in unit.files}) == 1 for unit in after)
    assert all(unit.bytes <= 100 or len(unit.files) == 1 for unit in after)
    assert len({unit.item for unit in after}) == len(after)
