"""The filter: every comparison on both sides of its limit, the order of the reasons, one verdict for each document."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation import pareto
from curation.errors import RecipeError
from curation.filtering import SCHEMA, Evidence, judge
from curation.profiles import LENGTHS, Profile
from curation.reasons import Drop, Fate
from schemas.tables import SIGNAL_FIELDS, VERDICTS

COLUMNS = [field.name for field in SIGNAL_FIELDS]
GOOD: dict[str, Any] = dict.fromkeys([*COLUMNS, "tokens_exact"], 1000) | {
    "language": "en",
    "language_ppm": 990_000,
    "hint": "",
    "quality_ppm": 1_000_000,
    "coin": 0.5,
    "damage": "",
    "surplus": False,
    "removal": False,
}
STRICT = Profile.model_validate(
    {
        "language": {"keep": ["en"], "min_score": 0.5},
        "length": {"min_tokens": 100, "max_tokens": 2000},
        "signals": {"min_lines": 10, "max_digit_ppm": 5000},
        "pareto": {"alpha": 3.0},
    }
)


def evidence(*documents: dict[str, Any]) -> Evidence:
    rows = [GOOD | document for document in documents]
    columns = {name: [row[name] for row in rows] for name in GOOD}
    numbers = {field.name: pa.array(columns[field.name], field.type) for field in SIGNAL_FIELDS}
    language = {
        "language": pa.array(columns["language"], pa.string()),
        "language_ppm": pa.array(columns["language_ppm"], pa.int32()),
        "tokens_exact": pa.array(columns["tokens_exact"], pa.int64()),
    }
    return Evidence(
        signals=pa.RecordBatch.from_pydict(language | numbers),
        language_hint=pa.array(columns["hint"], pa.string()),
        quality_ppm=pa.array(columns["quality_ppm"], pa.int32()),
        coins=np.array(columns["coin"], np.float64),
        damage=pa.array(columns["damage"], pa.string()),
        surplus=pa.array(columns["surplus"], pa.bool_()),
        removal=pa.array(columns["removal"], pa.bool_()),
    )


def verdicts(rules: dict[str, Any] | Profile, *documents: dict[str, Any], **options: Any) -> list[tuple[Any, ...]]:
    profile = rules if isinstance(rules, Profile) else Profile.model_validate(rules)
    return [tuple(row.values()) for row in judge(profile, evidence(*documents), **options).to_pylist()]


KEPT = ("keep", "", "", None, None)


def test_verdicts_have_the_columns_of_the_contract() -> None:
    batch = judge(STRICT, evidence(GOOD, {"words": 0}))
    assert batch.schema.equals(SCHEMA, check_metadata=True)
    assert all(VERDICTS.field(field.name).equals(field, check_metadata=True) for field in batch.schema)
    batch.validate(full=True)


def test_no_documents_have_no_verdicts() -> None:
    assert judge(STRICT, evidence()).num_rows == 0


def test_a_good_document_is_kept_without_a_number() -> None:
    assert verdicts(STRICT, GOOD) == [KEPT]


def test_without_a_profile_only_empty_text_is_dropped() -> None:
    worst = dict.fromkeys(COLUMNS, 0) | {"words": 1, "language": "xx", "language_ppm": 0, "quality_ppm": 0}
    found = verdicts({}, worst, worst | {"words": 0}, worst | {"hint": "fr"})
    assert found == [KEPT, ("drop", "empty", "words", 0, 1), KEPT]


@pytest.mark.parametrize("column", COLUMNS)
def test_a_signal_is_kept_at_its_limits_and_dropped_one_beyond(column: str) -> None:
    rules = {"signals": {f"min_{column}": 500, f"max_{column}": 600}}
    found = verdicts(rules, *({column: value} for value in (499, 500, 600, 601)))
    assert found == [("drop", "signal", column, 499, 500), KEPT, KEPT, ("drop", "signal", column, 601, 600)]


@pytest.mark.parametrize("name", LENGTHS)
def test_a_length_is_kept_at_its_limits_and_dropped_one_beyond(name: str) -> None:
    column = LENGTHS[name]
    rules = {"length": {f"min_{name}": 500, f"max_{name}": 600}}
    found = verdicts(rules, *({column: value} for value in (499, 500, 600, 601)))
    assert found == [("drop", "length", column, 499, 500), KEPT, KEPT, ("drop", "length", column, 601, 600)]


def test_each_document_is_compared_with_its_own_number() -> None:
    found = verdicts({"signals": {"max_digit_ppm": 5}}, {"digit_ppm": 7}, {"digit_ppm": 5}, {"digit_ppm": 9})
    assert [row[3] for row in found] == [7, None, 9]


def test_a_language_that_is_not_kept_is_dropped_by_its_code() -> None:
    rules = {"language": {"keep": ["en", "de"]}}
    found = verdicts(rules, {"language": "en"}, {"language": "de"}, {"language": "fr"}, {"language": "e"})
    assert found == [KEPT, KEPT, ("drop", "language", "fr", None, None), ("drop", "language", "e", None, None)]


def test_a_language_share_is_kept_at_its_minimum_and_dropped_one_below() -> None:
    rules = {"language": {"keep": ["en"], "min_score": 0.5}}
    found = verdicts(rules, {"language_ppm": 500_000}, {"language_ppm": 499_999})
    assert found == [KEPT, ("drop", "language", "en", 499_999, 500_000)]


def test_an_undetermined_language_is_dropped_unless_kept_and_then_has_no_minimum() -> None:
    unknown = {"language": "und", "language_ppm": 0}
    assert verdicts({"language": {"keep": ["en"]}}, unknown) == [("drop", "language", "und", None, None)]
    assert verdicts({"language": {"keep": ["en", "und"], "min_score": 0.9}}, unknown) == [KEPT]


def test_an_empty_document_whose_markup_was_in_another_language_is_language() -> None:
    rules = {"language": {"keep": ["en"]}}
    empty = {"words": 0, "language": "und", "language_ppm": 0}
    found = verdicts(rules, empty | {"hint": "fr"}, empty | {"hint": "en"}, empty | {"hint": ""}, {"hint": "fr"})
    nothing = ("drop", "empty", "words", 0, 1)
    assert found == [("drop", "language", "fr", None, None), nothing, nothing, KEPT]


def test_the_extracted_languages_decide_about_empty_documents_where_they_are_given() -> None:
    empty = {"words": 0, "hint": "de"}
    rules = {"language": {"keep": ["de"]}}
    assert verdicts(rules, empty)[0][1] == "empty"
    assert verdicts(rules, empty, extracted_languages=("en",)) == [("drop", "language", "de", None, None)]
    assert verdicts({}, empty, extracted_languages=("en",)) == [("drop", "language", "de", None, None)]


def test_a_document_beyond_what_its_source_may_have_is_not_sampled() -> None:
    assert verdicts({}, {"surplus": True}) == [("drop", "not_sampled", "max_documents", None, None)]


def test_a_document_of_a_file_that_is_given_up_says_what_was_wrong() -> None:
    assert verdicts({}, {"damage": "truncated"}) == [("drop", "damaged_file", "truncated", None, None)]


def test_a_document_on_a_removal_list_is_dropped() -> None:
    assert verdicts({}, {"removal": True}) == [("drop", "removal_list", "", None, None)]


def test_the_pareto_filter_keeps_below_the_probability_and_drops_at_it() -> None:
    rules = {"pareto": {"alpha": 3.0}}  # the worst score is kept with probability 1/8
    found = verdicts(rules, *({"quality_ppm": 0, "coin": coin} for coin in (0.0, 0.124999999, 0.125, 0.9)))
    numbers = [125_000_000, 900_000_000]
    assert found == [KEPT, KEPT, *(("drop", "pareto", "coin_billionths", coin, 125_000_000) for coin in numbers)]


@given(st.lists(st.tuples(st.integers(0, 1_000_000), st.floats(0, 1, exclude_max=True)), max_size=30))
def test_the_pareto_filter_is_the_pareto_rule(documents: list[tuple[int, float]]) -> None:
    found = verdicts({"pareto": {"alpha": 2.5}}, *({"quality_ppm": score, "coin": coin} for score, coin in documents))
    scores, coins = [score for score, _ in documents], [coin for _, coin in documents]
    assert [row[0] == "keep" for row in found] == pareto.pareto_keeps(scores, 2.5, coins).tolist()


def test_the_pareto_filter_without_scores_is_an_error() -> None:
    without = evidence(GOOD)
    for quality in (None, pa.array([None], pa.int32())):
        blind = Evidence(without.signals, without.language_hint, quality, without.coins)
        with pytest.raises(RecipeError, match="quality_model"):
            judge(STRICT, blind)
    with pytest.raises(ValueError, match="coin"):
        judge(STRICT, Evidence(without.signals, without.language_hint, without.quality_ppm))


def test_what_a_source_has_not_need_not_be_given() -> None:
    full = evidence(GOOD, {"words": 0})
    bare = Evidence(full.signals, full.language_hint)
    assert judge(Profile(), bare).equals(judge(Profile(), full))


def test_columns_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="one entry for each row"):
        Evidence(evidence(GOOD).signals, pa.array(["", ""]))


FAULTS: list[tuple[str, str, dict[str, Any]]] = [
    ("language", "fr", {"hint": "fr", "words": 0}),
    ("empty", "words", {"words": 0}),
    ("not_sampled", "max_documents", {"surplus": True}),
    ("damaged_file", "truncated", {"damage": "truncated"}),
    ("removal_list", "", {"removal": True}),
    ("language", "de", {"language": "de"}),
    ("language", "en", {"language_ppm": 1}),
    ("length", "tokens_estimated", {"tokens_estimated": 1}),
    ("signal", "lines", {"lines": 1}),
    ("signal", "digit_ppm", {"digit_ppm": 9999}),
    ("pareto", "coin_billionths", {"quality_ppm": 0, "coin": 0.9}),
]


@pytest.mark.parametrize("first", range(len(FAULTS)))
def test_a_document_with_several_faults_gets_the_first_reason_in_the_documented_order(first: int) -> None:
    document: dict[str, Any] = {}
    for _, _, fault in reversed(FAULTS[first:]):
        document |= fault
    reason, detail, _ = FAULTS[first]
    document |= {"language": "de"} if first <= 5 else {"language": "en"}
    assert verdicts(STRICT, document)[0][:3] == ("drop", reason, detail)


def test_lengths_are_judged_as_tokens_words_characters_and_minimum_before_maximum() -> None:
    rules = {
        "length": {f"{bound}_{name}": 10 for name in ("characters", "words", "tokens") for bound in ("max", "min")}
    }
    small = {"tokens_estimated": 1, "words": 1, "characters": 1}
    assert verdicts(rules, small)[0][2:] == ("tokens_estimated", 1, 10)
    assert verdicts(rules, small | {"tokens_estimated": 10})[0][2:] == ("words", 1, 10)
    assert verdicts(rules, small | {"tokens_estimated": 10, "words": 10})[0][2:] == ("characters", 1, 10)


documents = st.fixed_dictionaries(
    {
        "words": st.integers(0, 2),
        "language": st.sampled_from(["en", "de", "und"]),
        "hint": st.sampled_from(["", "en", "fr"]),
        "damage": st.sampled_from(["", "", "truncated"]),
        "removal": st.booleans(),
        "language_ppm": st.integers(400_000, 600_000),
        "tokens_estimated": st.integers(90, 110),
        "digit_ppm": st.integers(4990, 5010),
        "quality_ppm": st.integers(0, 1_000_000),
        "coin": st.floats(0, 1, exclude_max=True),
    }
)


@given(st.lists(documents, max_size=20), st.integers(0, 20))
def test_a_verdict_depends_on_its_document_alone(batch: list[dict[str, Any]], cut: int) -> None:
    apart = verdicts(STRICT, *batch[:cut]) + verdicts(STRICT, *batch[cut:])
    assert verdicts(STRICT, *batch) == apart
    assert verdicts(STRICT, *reversed(batch)) == apart[::-1]


@given(st.lists(documents, max_size=20))
def test_a_document_is_kept_without_a_reason_or_dropped_with_one_of_the_list(batch: list[dict[str, Any]]) -> None:
    for fate, reason, _, value, threshold in verdicts(STRICT, *batch):
        assert (fate == Fate.KEEP) == (reason == "")
        assert fate == Fate.KEEP or (fate == Fate.DROP and reason in set(Drop))
        assert (value is None) == (threshold is None)
        assert fate == Fate.DROP or value is None
