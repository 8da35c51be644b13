"""Profiles: what a recipe may say, and what the error tells who said something else."""

import tomllib
from typing import Any

import pytest
from pydantic import ValidationError

from curation.profiles import Language, Pareto, Profile
from schemas.tables import SIGNAL_FIELDS

WEB = """
language = { keep = ["en"], min_score = 0.5 }
length   = { min_tokens = 128, max_words = 100_000 }
signals  = { max_digit_ppm = 200_000, max_duplicate_line_ppm = 300_000, min_words = 50 }
pareto   = { alpha = 3.0 }
"""


def profile(**rules: Any) -> Profile:
    return Profile.model_validate(rules)


def test_a_recipe_reads_as_written() -> None:
    web = Profile.model_validate(tomllib.loads(WEB))
    assert web.language == Language(keep=("en",), min_score=0.5)
    assert web.pareto == Pareto(alpha=3.0)
    assert [(rule.name, rule.column, rule.limit) for rule in web.length] == [
        ("min_tokens", "tokens_estimated", 128),
        ("max_words", "words", 100_000),
    ]


def test_signal_thresholds_stand_in_the_order_of_the_columns_however_written() -> None:
    web = Profile.model_validate(tomllib.loads(WEB))
    assert [rule.name for rule in web.signals] == ["min_words", "max_duplicate_line_ppm", "max_digit_ppm"]
    both = profile(signals={"max_lines": 9, "min_lines": 1})
    assert [(rule.name, rule.is_minimum) for rule in both.signals] == [("min_lines", True), ("max_lines", False)]


def test_a_profile_written_out_reads_back_the_same() -> None:
    web = Profile.model_validate(tomllib.loads(WEB))
    assert Profile.model_validate_json(web.model_dump_json()) == web
    assert Profile.model_validate(web.model_dump()) == web
    assert hash(web) == hash(Profile.model_validate(tomllib.loads(WEB)))


@pytest.mark.parametrize("field", SIGNAL_FIELDS, ids=lambda field: str(field.name))
def test_every_signal_has_a_minimum_and_a_maximum(field: Any) -> None:
    rules = profile(signals={f"min_{field.name}": 1, f"max_{field.name}": 2}).signals
    assert [(rule.column, rule.limit) for rule in rules] == [(field.name, 1), (field.name, 2)]


@pytest.mark.parametrize(
    ("rules", "nearest"),
    [
        ({"signals": {"max_duplicate_lines_ppm": 1}}, "max_duplicate_line_ppm"),
        ({"signals": {"max_perplexity": 1}}, "max_"),
        ({"signals": {"digit_ppm": 1}}, "_digit_ppm"),
        ({"length": {"min_token": 1}}, "min_tokens"),
        ({"length": {"min_digit_ppm": 1}}, "min_"),
        ({"langauge": {"keep": ["en"]}}, "language"),
        ({"language": {"keep": ["en"], "min_scor": 0.1}}, "min_score"),
        ({"pareto": {"alhpa": 3.0}}, "alpha"),
    ],
)
def test_an_unknown_name_is_an_error_that_names_the_nearest(rules: dict[str, Any], nearest: str) -> None:
    with pytest.raises(ValidationError, match=rf"did you mean \S*{nearest}"):
        profile(**rules)


@pytest.mark.parametrize("limit", [0.3, "300000", True, -1, None, 5.0])
def test_a_threshold_that_is_not_a_whole_number_is_an_error_that_names_the_unit(limit: object) -> None:
    with pytest.raises(ValidationError, match="max_digit_ppm is a whole number of parts per million"):
        profile(signals={"max_digit_ppm": limit})


def test_a_threshold_may_be_zero() -> None:
    assert profile(signals={"max_digit_ppm": 0}).signals[0].limit == 0


@pytest.mark.parametrize("kind", ["length", "signals"])
def test_a_minimum_above_the_maximum_is_an_error(kind: str) -> None:
    with pytest.raises(ValidationError, match="min_words is above max_words"):
        profile(**{kind: {"min_words": 11, "max_words": 10}})
    assert len(getattr(profile(**{kind: {"min_words": 10, "max_words": 10}}), kind)) == 2


@pytest.mark.parametrize(
    "language",
    [
        {},
        {"keep": []},
        {"keep": "en"},
        {"keep": ["EN"]},
        {"keep": ["english"]},
        {"keep": ["zh-Hant"]},
        {"keep": ["en"], "min_score": -0.1},
        {"keep": ["en"], "min_score": 1.1},
        {"keep": ["en"], "min_score": "0.5"},
    ],
)
def test_a_language_rule_that_cannot_hold_is_an_error(language: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        profile(language=language)


@pytest.mark.parametrize("alpha", [0, -1.0, 100.1, float("nan"), float("inf"), "auto"])
def test_an_alpha_outside_its_range_is_an_error(alpha: object) -> None:
    with pytest.raises(ValidationError):
        profile(pareto={"alpha": alpha})


@pytest.mark.parametrize(("score", "ppm"), [(0, 0), (0.5, 500_000), (0.29, 290_000), (1, 1_000_000), (2.5e-7, 0)])
def test_a_score_becomes_the_parts_per_million_it_is_written_as(score: float, ppm: int) -> None:
    assert Language(keep=("en",), min_score=score).min_score_ppm == ppm


def test_a_half_part_per_million_is_rounded_up() -> None:
    assert Language(keep=("en",), min_score=5e-7).min_score_ppm == 1


def test_a_profile_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        profile().pareto = Pareto(alpha=1.0)


@pytest.mark.parametrize(("rule", "names"), [("signals", len(SIGNAL_FIELDS)), ("length", 4)])
def test_the_json_schema_lists_every_threshold_and_allows_no_other(rule: str, names: int) -> None:
    schema = Profile.model_json_schema()["properties"][rule]
    assert len(schema["properties"]) == 2 * names
    assert schema["properties"]["min_words"] == {"type": "integer", "minimum": 0}
    assert schema["additionalProperties"] is False


def test_what_the_classifier_may_learn_from_is_judged_by_language_and_length_alone() -> None:
    web = Profile.model_validate(tomllib.loads(WEB))
    part = web.language_and_length()
    assert (part.language, part.length, part.signals, part.pareto) == (web.language, web.length, (), None)
