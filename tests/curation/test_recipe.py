"""The recipe: what it says is what is meant, and what cannot be meant is refused with its place and the nearest key."""

from pathlib import Path
from typing import Any

import pytest

from curation.errors import RecipeError
from curation.recipe import Recipe, load_recipe, parse_recipe, readings

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))


def plain(**more: Any) -> dict[str, Any]:
    return {"name": "test", "source": [{"name": "web", "reader": "jsonl", "inputs": ["*.jsonl"]}]} | more


def source(**about: Any) -> dict[str, Any]:
    return {"name": "web", "reader": "jsonl", "inputs": ["*.jsonl"]} | about


def piled(**about: Any) -> dict[str, Any]:
    """Return a recipe with a container and a source that selects from it."""
    container = {"name": "pile", "reader": "pile", "inputs": ["pile/*"]}
    return {
        "name": "test",
        "container": [container],
        "source": [{"name": "arxiv", "from": "pile", "select": ["ArXiv"]} | about],
    }


def refusal(values: dict[str, Any]) -> str:
    with pytest.raises(RecipeError) as caught:
        parse_recipe(values, "test.toml")
    return str(caught.value)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_the_recipes_that_are_shipped_can_be_read(path):
    assert load_recipe(str(path)).source


def test_the_papers_weights_are_those_of_its_training_scripts():
    recipe = load_recipe(str(RECIPES[0].with_name("mt_nlg.toml")))
    weights = {source.name: source.weight for source in recipe.source}
    assert len(weights) == 15
    assert sum(weight or 0 for weight in weights.values()) == pytest.approx(1, abs=2e-4)


def test_the_order_of_sources_is_kept():
    recipe = parse_recipe(plain(source=[source(name=name) for name in ("z", "a", "m")]), "test.toml")
    assert [source.name for source in recipe.source] == ["z", "a", "m"]


def test_containers_and_sources_of_their_own_have_files():
    values = piled()
    values["source"].append(source())
    assert [reading.name for reading in readings(parse_recipe(values, "test.toml"))] == ["pile", "web"]


def test_a_recipe_cannot_be_changed():
    recipe = parse_recipe(plain(), "test.toml")
    with pytest.raises(ValueError, match="frozen"):
        recipe.seed = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (plain(sead=1), "test.toml: sead: there is no such key, did you mean 'seed'?"),
        (plain(source=[source(wieght=1)]), "test.toml: source.0.wieght: there is no such key, did you mean 'weight'?"),
        (plain(dedup={"tresholds": 1}), "test.toml: dedup.tresholds: there is no such key, did you mean 'threshold'?"),
        (plain(dedup={"shingle": {"lenght": 3}}), "did you mean 'length'?"),
        (plain(source=[]), "test.toml: source: "),
        (plain(name="Not A Name"), "test.toml: name: "),
        (plain(source=[source(reader="jsonll")]), "reader 'jsonll' does not exist, did you mean 'jsonl'?"),
        (plain(source=[source(inputs=[])]), "source web: `inputs` is missing"),
        (plain(source=[source(clean=["gutenberg_blank_line"])]), "did you mean 'gutenberg_blank_lines'?"),
        (plain(source=[source(select=["ArXiv"])]), "source web: `select` goes with `from`"),
        (
            plain(source=[source(profile="wed")], profile={"web": {}}),
            "profile 'wed' does not exist, did you mean 'web'?",
        ),
        (plain(source=[source(), source()]), "the name web is used twice"),
        (plain(source=[source(weight=0)]), "source.0.weight: "),
        (plain(source=[source(weight=float("inf"))]), "source.0.weight: "),
        (plain(source=[source(sample=1.5)]), "source.0.sample: "),
        (piled(reader="pile"), "source arxiv: give either `reader` and `inputs`, or `from` and `select`"),
        (piled(select=[]), "source arxiv: `select` is missing"),
        (piled(inputs=["x"]), "source arxiv: `inputs` belong to the container pile"),
        (piled(**{"from": "pole"}), "container 'pole' does not exist, did you mean 'pile'?"),
        (piled(name="pile"), "the name pile is used twice"),
        (piled() | {"source": [source()]}, "container pile: no source selects from it"),
        (
            plain(profile={"web": {"pareto": {"alpha": 3.0}}}),
            "profile web has a pareto rule, and there is no [quality_model]",
        ),
        (plain(dedup={"survivor": "quality"}), 'dedup.survivor is "quality", and there is no [quality_model]'),
        (plain(quality_model={}), "give either `positives` and `negatives`, or `file`"),
        (plain(quality_model={"positives": {"web": 1}}), "give either `positives` and `negatives`, or `file`"),
        (
            plain(quality_model={"positives": {"wep": 1}, "negatives": ["web"]}),
            "source 'wep' does not exist, did you mean 'web'?",
        ),
        (plain(max_removed={"filter": 0.5}), "max_removed: stage 'filter' does not exist"),
        (plain(max_removed={"dedup": 5}), "max_removed.dedup: "),
        (plain(dedup={"bands": 256, "rows": 64}), "bands × rows is 16384"),
        (plain(tokens={"tokenizer": {"builtin": "gpt2", "file": "a.json"}}), "a tokenizer is `builtin`"),
        (plain(limits={"max_document_mb": 1}), "did you mean 'max_document_mib'?"),
        (plain(s3={"aws_secret_access_key": "x"}), "aws_secret_access_key looks like a credential"),
        (
            plain(source=[source(password="hunter2")]),
            "password looks like a credential; credentials come from the environment",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(values, said):
    assert said in refusal(values)


def test_a_credential_is_not_repeated():
    assert "hunter2" not in refusal(plain(source=[source(password="hunter2")]))


def test_two_sources_cannot_select_the_same_set():
    values = piled()
    values["source"].append({"name": "papers", "from": "pile", "select": ["ArXiv"]})
    assert "sources arxiv and papers both select ArXiv" in refusal(values)


def test_every_mistake_is_told_at_once():
    assert len(refusal(plain(sead=1, shard_mib=0)).splitlines()) == 2


def loaded(tmp_path: Path, text: str, *overrides: str) -> Recipe:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    return load_recipe(str(path), overrides)


TOML = """
name = "test"
[[source]]
name = "web"
reader = "jsonl"
inputs = ["*.jsonl"]
[dedup]
"""


@pytest.mark.parametrize(
    ("override", "found"),
    [
        ("seed=7", lambda recipe: recipe.seed == 7),
        ("dedup.threshold=0.7", lambda recipe: recipe.dedup.threshold == 0.7),
        ("dedup.removal=component", lambda recipe: recipe.dedup.removal == "component"),
        ("dedup.shingle.length=3", lambda recipe: recipe.dedup.shingle.length == 3),
        ('name="other"', lambda recipe: recipe.name == "other"),
        ("source.web.inputs=['a', 'b']", lambda recipe: recipe.source[0].inputs == ("a", "b")),
        ("max_removed.dedup=0.5", lambda recipe: recipe.max_removed == {"dedup": 0.5}),
        ("tokens.validation_fraction = 0.1", lambda recipe: recipe.tokens.validation_fraction == 0.1),
    ],
)
def test_a_value_can_be_overridden(tmp_path, override, found):
    assert found(loaded(tmp_path, TOML, override))


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("seed", "--set seed: write key=value"),
        ("source.wiki.weight=1", "there is no entry named wiki"),
        ("source.web.inputs.first.second=1", "there is no entry named first"),
        ("source=1", "source: "),
        ("source.weight=1", "name the entry, e.g. --set source.wikipedia.weight=0.1"),
        ("name.first=1", "there is no table for first"),
        ("name.first.second=1", "there is no table for first"),
        ("dedup.treshold=0.7", "did you mean 'threshold'?"),
        ("dedup.threshold=high", "dedup.threshold: "),
    ],
)
def test_an_override_that_means_nothing_is_refused(tmp_path, override, said):
    with pytest.raises(RecipeError) as caught:
        loaded(tmp_path, TOML, override)
    assert said in str(caught.value)


def test_a_missing_file_and_a_file_that_is_no_toml_are_named(tmp_path):
    with pytest.raises(RecipeError, match=r"none\.toml: cannot be read \(No such file or directory\); give the path"):
        load_recipe(str(tmp_path / "none.toml"))
    with pytest.raises(RecipeError, match=r"recipe\.toml: is no TOML"):
        loaded(tmp_path, "name = ")
