"""Histograms: counts that add up over any division of the documents, in bins that hold their limits."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation import histograms
from curation.pareto import keep_probability, observe
from curation.profiles import Profile

PROFILE = Profile.model_validate(
    {
        "language": {"keep": ["en"], "min_score": 0.5},
        "length": {"min_tokens": 100, "max_words": 5000},
        "signals": {"min_lines": 3, "max_digit_ppm": 150_000},
    }
)
documents = st.lists(
    st.fixed_dictionaries(
        {
            "text_bytes": st.integers(0, 1 << 40),
            "language": st.sampled_from(["en", "de", "und"]),
            "language_ppm": st.integers(0, 1_000_000),
            "tokens_estimated": st.integers(0, 1 << 62),
            "words": st.integers(0, 9_000),
            "lines": st.integers(0, 60),
            "digit_ppm": st.integers(0, (1 << 31) - 1),
            "quality_ppm": st.integers(0, 1_000_000),
            "kept": st.booleans(),
        }
    ),
    max_size=30,
)
KINDS = {"language": pa.string(), "kept": pa.bool_()}


def counted(rows: list[dict[str, Any]]) -> list[histograms.Count]:
    names = ("text_bytes", "language", "language_ppm", "tokens_estimated", "words", "lines", "digit_ppm")
    table = pa.table({name: pa.array([row[name] for row in rows], KINDS.get(name, pa.int64())) for name in names})
    scores = pa.array([row["quality_ppm"] for row in rows], pa.int32())
    return histograms.count(PROFILE, table.combine_chunks(), scores, np.array([row["kept"] for row in rows], bool))


def table(*shards: list[histograms.Count]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = histograms.table("web", PROFILE, [c for shard in shards for c in shard]).to_pylist()
    return rows


@given(documents, st.integers(0, 30))
def test_shards_add_up_to_what_their_documents_together_give(rows: list[dict[str, Any]], cut: int) -> None:
    assert table(counted(rows[:cut]), counted(rows[cut:])) == table(counted(rows))


@given(documents)
def test_every_document_is_in_the_one_bin_that_its_number_lies_in(rows: list[dict[str, Any]]) -> None:
    found = table(counted(rows))
    for column in ("tokens_estimated", "words", "lines", "digit_ppm", "language_ppm", "quality_ppm"):
        own = [row for row in found if row["column"] == column]
        assert sum(row["documents"] for row in own) == len(rows)
        assert sum(row["text_bytes"] for row in own) == sum(row["text_bytes"] for row in rows)
        for bin_ in own:
            inside = [r for r in rows if bin_["first"] <= r[column] < (bin_["behind"] or float("inf"))]
            assert (len(inside), sum(r["kept"] for r in inside)) == (bin_["documents"], bin_["kept"])


def test_rows_say_the_limits_of_the_profile_and_languages_their_codes() -> None:
    row = {
        "text_bytes": 9,
        "language": "de",
        "language_ppm": 5,
        "tokens_estimated": 7,
        "words": 3,
        "lines": 2,
        "digit_ppm": 1_000_000,
        "quality_ppm": 1_000_000,
        "kept": True,
    }
    found = {each["column"]: each for each in table(counted([row]))}
    limits = {name: (each["minimum"], each["maximum"]) for name, each in found.items()}
    assert limits == {
        "digit_ppm": (None, 150_000),
        "language": (None, None),
        "language_ppm": (500_000, None),
        "lines": (3, None),
        "quality_ppm": (None, None),
        "tokens_estimated": (100, None),
        "words": (None, 5000),
    }
    assert found["language"]["code"] == "de"
    assert (found["quality_ppm"]["first"], found["quality_ppm"]["behind"]) == (975_000, None)


def test_a_profile_without_limits_counts_lengths_and_languages() -> None:
    assert set(histograms.limits(Profile())) == {"tokens_estimated"}


@given(st.lists(st.tuples(st.integers(0, 1_000_000), st.booleans()), max_size=50), st.floats(0.1, 20))
def test_what_the_pareto_filter_was_expected_to_keep_is_the_sum_of_the_chances(
    rows: list[tuple[int, bool]], alpha: float
) -> None:
    scores, kept = [score for score, _ in rows], [one for _, one in rows]
    found = observe(scores, kept, alpha)
    chances = keep_probability(scores, alpha)
    assert (found["judged"], found["kept"]) == (len(rows), sum(kept))
    assert found["expected_billionths"] / 1e9 == pytest.approx(chances.sum(), abs=1e-6)
    assert found["variance_billionths"] / 1e9 == pytest.approx((chances * (1 - chances)).sum(), abs=1e-6)
