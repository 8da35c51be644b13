"""Errors in recipes: the line, what is allowed, and no noise that only follows from another error."""

from pathlib import Path

import pytest

from curation.errors import RecipeError
from curation.recipe import load_recipe
from curation.recipe_errors import line_of

RECIPE = """\
name = "a"   # [not a header]

[[source]]
name   = "one"
reader = "jsonl"
inputs = ["*.jsonl"]

[[source]]
name   = "two"
reader = "jsonl"
inputs = ["*.txt"]

[profile.web]
length.min_words = 3

[limits]
max_members = 5

[dedup]
threshold = 0.8
shingle   = { unit = "word", length = 5 }
"""


@pytest.mark.parametrize(
    ("location", "line"),
    [
        (("name",), 1),
        (("source", 0, "reader"), 5),
        (("source", 1, "inputs"), 11),
        (("source", 1, "missing"), 8),
        (("profile", "web", "length", "min_words"), 14),
        (("dedup", "shingle", "length"), 21),
        (("tokens",), None),
        ((), None),
    ],
)
def test_a_place_has_the_line_that_says_most_of_it(location: tuple[int | str, ...], line: int | None) -> None:
    assert line_of(RECIPE, location) == line


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            'inputs = ["*.txt"]',
            'inputs = "*.txt"',
            'line 11: source.1.inputs: has to be a list in brackets, not "*.txt"',
        ),
        ("threshold = 0.8", "threshold = 2", "line 20: dedup.threshold: has to be at most 1.0, not 2"),
        ("threshold = 0.8", "treshold = 1", "line 20: dedup.treshold: there is no such key, did you mean 'threshold'?"),
        ("max_members = 5", "max_members = 0", "line 17: limits.max_members: has to be more than 0, not 0"),
        ("max_members = 5", 'max_members = "x"', 'line 17: limits.max_members: has to be a whole number, not "x"'),
        ('name = "a"', 'name = "A b"', "line 1: name: has to be made of small letters, digits and hyphens"),
        ('name   = "two"', 'extract = "justex"\nname   = "two"', "none, justext, resiliparse, trafilatura, not "),
        ('name   = "two"', 'extract = "justex"\nname   = "two"', "did you mean 'justext'?"),
        ('name = "a"', "nam", "is no TOML"),
    ],
)
def test_an_error_names_its_line_and_what_is_allowed(tmp_path: Path, before: str, after: str, told: str) -> None:
    place = tmp_path / "recipe.toml"
    place.write_text(RECIPE.replace(before, after, 1))
    with pytest.raises(RecipeError) as caught:
        load_recipe(str(place))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)  # one mistake is one line
