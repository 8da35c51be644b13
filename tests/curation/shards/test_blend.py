"""Blends: the paper's weights in the paper's order, divided over pairs, and the paper's epochs."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.errors import RecipeError
from curation.shards import blend as module
from curation.shards.blend import (
    Blend,
    data_path,
    epochs,
    greedy,
    megatron_arguments,
    normalised,
    pair_weights,
    plan,
    shares,
)
from curation.shards.sidecar import PairEntry

# Table 2 of the paper: tokens in billions, exact weight of the authors' scripts, epochs as printed.
TABLE_2 = {
    "books3": (25.7, 0.14336, 1.5),
    "openwebtext2": (14.8, 0.19336, 3.6),
    "stack-exchange": (11.6, 0.05689, 1.4),
    "pubmed-abstracts": (4.4, 0.02897, 1.8),
    "wikipedia": (4.2, 0.04771, 3.2),
    "pg-19": (2.7, 0.00873, 0.9),
    "bookcorpus2": (1.5, 0.01007, 1.8),
    "nih-exporter": (0.3, 0.00208, 1.8),
    "arxiv": (20.8, 0.01359, 0.2),
    "github": (24.3, 0.01588, 0.2),
    "pile-cc": (49.8, 0.09446, 0.5),
    "cc-2020-50": (68.7, 0.13017, 0.5),
    "cc-2021-04": (82.6, 0.15652, 0.5),
    "realnews": (21.9, 0.08962, 1.1),
    "cc-stories": (5.3, 0.00859, 0.5),
}
WEIGHTS = {source: weight for source, (_, weight, _) in TABLE_2.items()}
weight_lists = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20)


def by_the_rule(weights: list[float], samples: int) -> tuple[list[int], list[int]]:
    """The rule of the paper as one would say it, a step at a time."""
    share = np.array(weights) / np.sum(np.array(weights))
    taken = [0] * len(weights)
    member, number = [], []
    for sample in range(samples):
        behind = [float(s) * max(sample, 1) - t for s, t in zip(share, taken, strict=True)]
        member.append(behind.index(max(behind)))
        number.append(taken[member[-1]])
        taken[member[-1]] += 1
    return member, number


def entry(name: str, source: str, tokens: int, split: str = "train") -> PairEntry:
    return PairEntry.model_validate(
        {"name": name, "source": source, "split": split, "sequences": 1, "documents": 1, "tokens": tokens}
        | {"bytes": 2 * tokens, "sha256_bin": "0" * 64, "sha256_idx": "0" * 64}
    )


PAIRS = [
    entry("wiki-00001", "wiki", 100),
    entry("wiki-00000", "wiki", 300),
    entry("code-00000", "code", 500),
    entry("wiki-valid-00000", "wiki", 40, "valid"),
]


@given(weight_lists, st.integers(0, 400))
@settings(deadline=None)
def test_the_order_is_the_papers_rule(weights: list[float], samples: int) -> None:
    member, number = greedy(weights, samples)
    assert (member.tolist(), number.tolist()) == by_the_rule(weights, samples)
    assert (member.dtype, number.dtype) == (np.int16, np.int64)


@given(weight_lists, st.integers(0, 100))
def test_without_numba_the_order_is_the_same(weights: list[float], samples: int) -> None:
    expected = greedy(weights, samples)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "find_spec", lambda name: None)
        patch.setattr(module, "_fill", module._fill.__wrapped__)
        for array, other in zip(greedy(weights, samples), expected, strict=True):
            np.testing.assert_array_equal(array, other)


def test_ties_go_to_the_first() -> None:
    assert greedy([1, 1, 1], 7)[0].tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_the_fifteen_weights_stay_within_1_1_samples_of_the_target() -> None:
    weights = normalised(list(WEIGHTS.values()))
    member, _ = greedy(weights, 100 * 1920)
    taken = np.cumsum(member[:, None] == np.arange(15), axis=0)[1919::1920]
    target = np.arange(1, 101)[:, None] * 1920 * weights
    assert np.abs(taken - target).max() < 1.1


@pytest.mark.parametrize("weights", [[], [0.0], [1, -1], [1, float("nan")], [float("inf")], np.ones(2**15)])
def test_weights_that_are_no_blend_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="a blend has 1 to 32767 members"):
        greedy(weights, 3)


# The same tokens to two decimals, from the authors' retrieval chunks (64 tokens each) of the same train split.
CHUNKED = [25.68, 14.77, 11.59, 4.41, 4.16, 2.66, 1.54, 0.32, 20.80, 24.29, 49.76, 68.56, 82.45, 21.90, 5.26]


def paper_epochs(billions: dict[str, float]) -> dict[str, float]:
    """The paper trains on 270 billion tokens, from the 98 % of each source that it does not hold out."""
    return epochs(shares(WEIGHTS, WEIGHTS), {source: 0.98e9 * tokens for source, tokens in billions.items()}, 270e9)


def test_the_papers_epochs_lie_within_the_rounding_of_its_tokens() -> None:
    low, high = (paper_epochs({s: row[0] + by for s, row in TABLE_2.items()}) for by in (0.05, -0.05))
    for source, (_, _, printed) in TABLE_2.items():
        assert low[source] - 0.05 <= printed <= high[source] + 0.05


def test_the_papers_epochs_follow_from_its_tokens_to_two_decimals() -> None:
    found = paper_epochs(dict(zip(TABLE_2, CHUNKED, strict=True)))
    assert found.pop("cc-stories") == pytest.approx(0.45, abs=1e-4)  # the edge between 0.4 and the printed 0.5
    assert {source: round(value, 1) for source, value in found.items()} == {s: TABLE_2[s][2] for s in found}


def test_weights_of_absent_sources_go_to_the_others_in_proportion() -> None:
    assert shares({"a": 0.2, "b": 0.3, "c": 0.5}, ["b", "a"]) == {"a": 0.4, "b": 0.6}
    assert list(shares(WEIGHTS, reversed(list(WEIGHTS)))) == list(WEIGHTS)


@pytest.mark.parametrize("weight", [None, 0.0, -1.0, float("nan"), float("inf")])
def test_a_source_with_tokens_needs_a_weight(weight: float | None) -> None:
    weights = {"wiki": 1.0} | ({} if weight is None else {"code": weight})
    with pytest.raises(RecipeError, match="source code has tokens but no positive weight"):
        shares(weights, ["wiki", "code"])


def test_a_sources_weight_is_divided_over_its_pairs_by_tokens() -> None:
    weights = pair_weights({"wiki": 3.0, "code": 1.0, "absent": 9.0}, PAIRS[:3])
    assert weights == {"wiki-00000": 0.75 * 300 / 400, "wiki-00001": 0.75 * 100 / 400, "code-00000": 0.25}


def test_a_blend_counts_epochs_on_what_is_trained_on() -> None:
    blend = plan({"code": 1.0, "wiki": 3.0}, PAIRS, training_tokens=800)
    assert [(source.source, source.weight, source.tokens, source.epochs) for source in blend.sources] == [
        ("code", 0.25, 500, 0.4),
        ("wiki", 0.75, 400, 1.5),
    ]
    assert [pair.name for pair in blend.train] == ["code-00000", "wiki-00000", "wiki-00001"]
    assert [(pair.name, pair.weight) for pair in blend.valid] == [("wiki-valid-00000", 1.0)]
    assert Blend.model_validate_json(blend.model_dump_json()) == blend


def test_the_order_in_which_pairs_are_listed_does_not_matter() -> None:
    weights = {"code": 1.0, "wiki": 3.0}
    assert plan(weights, PAIRS, 800) == plan(weights, PAIRS[::-1], 800)


def test_a_blend_without_training_data_is_refused() -> None:
    with pytest.raises(RecipeError, match="there is nothing to blend"):
        plan({"wiki": 1.0}, [PAIRS[3]], 800)


def test_megatrons_arguments_carry_every_digit() -> None:
    blend = plan({"code": 1.0, "wiki": 2.0}, PAIRS, 800)
    words = data_path(blend.train, "/data/shards/")
    assert words[1::2] == ["/data/shards/code-00000", "/data/shards/wiki-00000", "/data/shards/wiki-00001"]
    assert [float(word) for word in words[::2]] == [pair.weight for pair in blend.train]
    one, two, three = (repr(pair.weight) for pair in blend.train)
    assert megatron_arguments(blend) == (
        f"--train-data-path {one} code-00000 {two} wiki-00000 {three} wiki-00001 --valid-data-path 1.0 wiki-valid-00000"
    )
    assert "valid" not in megatron_arguments(plan({"code": 1.0}, PAIRS[2:3], 800))
    assert json.loads(blend.model_dump_json())["version"] == 1
