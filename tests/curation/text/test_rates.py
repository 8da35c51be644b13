"""The card's numbers against scipy and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from curation.text import rates


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=4, max_size=60))
def test_the_area_under_the_curve_is_that_of_mann_and_whitney(rows: list[tuple[int, bool]]) -> None:
    scores, positive = np.array([score for score, _ in rows]), np.array([label for _, label in rows])
    found = rates.auc(scores, positive)
    if min(positive.sum(), (~positive).sum()) < 2:
        assert found is None
        return
    expected = mannwhitneyu(scores[positive], scores[~positive]).statistic / (positive.sum() * (~positive).sum())
    assert found is not None
    assert found["auc_ppm"] == pytest.approx(expected * 1e6, abs=1)
    assert 0 <= found["low_ppm"] <= found["auc_ppm"] <= found["high_ppm"] <= 1_000_000


def test_the_interval_covers_the_truth_about_nineteen_times_in_twenty() -> None:
    draw = np.random.default_rng(7)
    hits = 0
    for _ in range(400):
        positive = np.arange(120) < 60
        found = rates.auc(draw.normal(size=120) + positive, positive)
        assert found is not None
        hits += found["low_ppm"] <= 760_250 <= found["high_ppm"]  # the normal distribution at 1 / sqrt 2
    assert 365 <= hits <= 395


def test_quartiles_hold_every_text_once_and_are_in_order() -> None:
    lengths = np.array([5, 1, 9, 3, 7, 2, 8, 4])
    parts = rates.quartiles(lengths)
    assert np.sum(parts, axis=0).tolist() == [1] * 8
    assert [sorted(lengths[rows].tolist()) for rows in parts] == [[1, 2], [3, 4], [5, 7], [8, 9]]


def test_calibration_says_of_each_tenth_how_many_are_positive() -> None:
    found = rates.calibration(np.array([0, 99_999, 100_000, 1_000_000]), np.array([True, False, True, True]))
    assert found == [
        {"documents": 2, "mean_score_ppm": 50_000, "positive_ppm": 500_000},
        {"documents": 1, "mean_score_ppm": 100_000, "positive_ppm": 1_000_000},
        {"documents": 1, "mean_score_ppm": 1_000_000, "positive_ppm": 1_000_000},
    ]


def test_the_control_finds_what_layout_tells_and_nothing_else() -> None:
    draw = np.random.default_rng(3)
    positive, held_out = draw.random(2000) < 0.5, np.arange(2000) < 400
    noise = draw.integers(0, 100, (2000, 3))
    telling = noise + np.outer(positive * 200, [1, 0, 0])
    told, guessed = (rates.layout_accuracy_ppm(table, positive, held_out) for table in (telling, noise))
    assert told is not None
    assert told > 990_000
    assert guessed is not None
    assert 400_000 < guessed < 600_000
    assert rates.layout_accuracy_ppm(noise, np.ones(2000, bool), held_out) is None


def test_confusion_counts_right_answers_by_source() -> None:
    said, positive = np.array([True, True, False]), np.array([True, False, False])
    found = rates.confusion(said, positive, np.array(["a", "b", "b"], object))
    assert found == {"a": {"documents": 1, "right": 1}, "b": {"documents": 2, "right": 1}}


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=200))
def test_a_roc_curve_rises_and_says_what_a_threshold_would_call_positive(rows: list[tuple[int, bool]]) -> None:
    scores, positive = np.array([score for score, _ in rows]), np.array([label for _, label in rows])
    points = [(p["false_positive_ppm"], p["true_positive_ppm"]) for p in rates.roc(scores, positive)]
    if len(set(positive.tolist())) < 2:
        assert not points
        return
    assert points == sorted(points)
    assert points[0][0] == 0
    assert points[-1] == (1_000_000, 1_000_000)
    possible = {
        tuple(rates.ppm(float((scores[side] >= limit).mean())) for side in (~positive, positive)) for limit in range(11)
    }
    assert set(points) <= possible | {points[0]}


def test_the_area_under_a_roc_curve_is_the_auc() -> None:
    draw = np.random.default_rng(3)
    positive = np.arange(4_000) < 2_000
    scores = draw.normal(size=4_000) + positive
    points = rates.roc(scores, positive)
    x, y = ([p[f"{name}_positive_ppm"] / 1e6 for p in points] for name in ("false", "true"))
    area = rates.auc(scores, positive)
    assert area is not None
    assert np.trapezoid(y, x) == pytest.approx(area["auc_ppm"] / 1e6, abs=0.003)


@given(st.lists(st.tuples(st.integers(0, 5_000), st.booleans()), max_size=80))
def test_matched_texts_are_as_many_of_either_label_in_every_class_of_length(rows: list[tuple[int, bool]]) -> None:
    lengths = np.array([length for length, _ in rows], np.int64)
    positive = np.array([label for _, label in rows], bool)
    taken = rates.matched(lengths, positive)
    classes = np.floor(2 * np.log2(np.maximum(lengths, 1)))
    for one in set(classes.tolist()):
        counts = [int((taken & (classes == one) & (positive == side)).sum()) for side in (True, False)]
        there = [int(((classes == one) & (positive == side)).sum()) for side in (True, False)]
        assert counts[0] == counts[1] == min(there)
