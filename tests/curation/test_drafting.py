"""Drafts: a recipe that loads, names what it saw, and takes in what it was pointed at."""

import json
import tomllib
from pathlib import Path

import pytest

from curation.drafting import draft
from curation.errors import RecipeError
from curation.recipe import parse_recipe
from curation.registry import survey

ENGLISH = "The harbour lay quiet in the morning, and the boats had not yet gone out to the banks. " * 4
GERMAN = "Der Hafen liegt im Norden der Stadt und ist seit dem Mittelalter für seine Hallen bekannt. " * 4


def write(path: Path, text: str, field: str = "text", rows: int = 4) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"id": str(n), field: text}) + "\n" for n in range(rows)))


def test_a_draft_of_a_folder_is_a_recipe_that_finds_its_files(tmp_path: Path) -> None:
    write(tmp_path / "a/one.jsonl", ENGLISH)
    write(tmp_path / "b/two.jsonl", ENGLISH)
    (tmp_path / "b/[notes].txt").write_text(ENGLISH)
    (tmp_path / "b/picture").write_bytes(bytes(range(256)))
    made = draft([str(tmp_path)], "mine")
    recipe = parse_recipe(tomllib.loads(made.text), "draft")
    assert [source.reader for source in recipe.source] == ["jsonl", "text"]
    found = [entry.path for _, entry in survey(recipe, made.root)]
    assert found == ["a/one.jsonl", "b/two.jsonl", "b/[notes].txt"]
    assert made.unknown == ("b/picture",)
    assert "Left out, of no kind that is known: b/picture" in made.text
    assert recipe.profile["rules"].language.keep == ("en",)  # type: ignore[union-attr]


def test_files_of_one_suffix_and_two_kinds_are_listed_by_name(tmp_path: Path) -> None:
    write(tmp_path / "one.jsonl", ENGLISH)
    write(tmp_path / "two.jsonl", ENGLISH, "body")
    made = draft([str(tmp_path)], "mine")
    recipe = parse_recipe(tomllib.loads(made.text), "draft")
    assert [(source.name, source.text_field, source.inputs) for source in recipe.source] == [
        ("jsonl", "text", ("one.jsonl",)),
        ("jsonl-body", "body", ("two.jsonl",)),
    ]


def test_files_named_one_by_one_are_the_inputs(tmp_path: Path) -> None:
    write(tmp_path / "one.jsonl", GERMAN)
    write(tmp_path / "two.jsonl", ENGLISH)
    made = draft([str(tmp_path / "one.jsonl")], "mine")
    recipe = parse_recipe(tomllib.loads(made.text), "draft")
    assert recipe.source[0].inputs == ("one.jsonl",)
    assert recipe.profile["rules"].language.keep == ("de",)  # type: ignore[union-attr]
    assert not recipe.profile["rules"].signals


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_what_holds_no_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecipeError, match=name):
        draft([str(tmp_path / name)], "mine")
