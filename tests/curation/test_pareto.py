"""The Pareto rule: numpy's, with a coin in place of a draw, exact and alike on every machine."""

from decimal import ROUND_HALF_UP, Decimal, getcontext, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation import pareto

scores = st.integers(0, 1_000_000)
alphas = st.floats(0.01, pareto.MAX_ALPHA)
coins = st.floats(0, 1, exclude_max=True)


@pytest.mark.parametrize(
    ("score_ppm", "alpha", "probability"),
    [(0, 3.0, 0.125), (500_000, 3.0, 0.296), (900_000, 3.0, 0.751), (1_000_000, 3.0, 1.0), (250_000, 9.0, 0.0065)],
)
def test_the_keep_probability_is_that_of_the_published_table(score_ppm: int, alpha: float, probability: float) -> None:
    assert pareto.keep_probability(score_ppm, alpha) == pytest.approx(probability, abs=5e-4)


@pytest.mark.parametrize("score_ppm", [0, 100_000, 500_000, 990_000, 1_000_000])
@pytest.mark.parametrize("alpha", [0.5, 3.0, 9.0])
def test_the_share_kept_is_that_of_numpys_rule(score_ppm: int, alpha: float) -> None:
    draws = 200_000
    generator = np.random.default_rng(20_220_128)
    numpys = np.mean(generator.pareto(alpha, draws) > 1 - score_ppm / 1_000_000)
    ours = np.mean(pareto.pareto_keeps(np.full(draws, score_ppm), alpha, generator.random(draws)))
    p = float(pareto.keep_probability(score_ppm, alpha))
    standard_error = np.sqrt(p * (1 - p) / draws)
    assert abs(numpys - p) <= 4 * standard_error
    assert abs(ours - p) <= 4 * standard_error


@given(scores, st.floats(0.1, 20), st.floats(1e-9, 1, exclude_max=True))
def test_a_coin_decides_as_the_pareto_draw_with_that_quantile_does(score_ppm: int, alpha: float, coin: float) -> None:
    draw = coin ** (-1 / alpha) - 1  # the value that numpy's Lomax variable exceeds with probability `coin`
    edge = float(pareto.keep_probability(score_ppm, alpha))
    if abs(coin - edge) > 1e-8:
        assert pareto.pareto_keeps(score_ppm, alpha, coin)[0] == (draw > 1 - score_ppm / 1_000_000)


@given(st.lists(st.tuples(scores, coins), min_size=1), alphas, alphas)
def test_a_smaller_alpha_keeps_all_that_a_larger_one_keeps(
    documents: list[tuple[int, float]], one: float, other: float
) -> None:
    score_ppm, toss = (list(column) for column in zip(*documents, strict=True))
    kept_by_larger = pareto.pareto_keeps(score_ppm, max(one, other), toss)
    assert np.all(pareto.pareto_keeps(score_ppm, min(one, other), toss)[kept_by_larger])


@given(st.lists(scores, min_size=1, max_size=200), alphas)
def test_billionths_are_rounded_correctly(score_ppm: list[int], alpha: float) -> None:
    with localcontext(prec=60):
        exact = [(Decimal(2_000_000 - score) / 1_000_000) ** Decimal(-alpha) * 10**9 for score in score_ppm]
        expected = [int(value.quantize(Decimal(1), ROUND_HALF_UP)) for value in exact]
    assert pareto.keep_billionths(score_ppm, alpha).tolist() == expected


def test_rounding_does_not_depend_on_the_last_bits_of_the_machines_power(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = np.arange(0, 1_000_001, 7)
    expected = pareto.keep_billionths(everything, 3.3)
    power = pareto.keep_probability
    for drift in (1 - 5e-13, 1 + 5e-13):  # a thousand times what machines differ by: enough to turn some roundings
        assert not np.array_equal(np.floor(power(everything, 3.3) * drift * 1e9 + 0.5), expected)
        monkeypatch.setattr(pareto, "keep_probability", lambda score, alpha, d=drift: power(score, alpha) * d)
        assert np.array_equal(pareto.keep_billionths(everything, 3.3), expected)


def test_rounding_does_not_depend_on_the_callers_decimal_context() -> None:
    everything = np.arange(0, 1_000_001, 101)
    expected = pareto.keep_billionths(everything, 2.37)
    with localcontext(getcontext().copy(), prec=3):
        assert np.array_equal(pareto.keep_billionths(everything, 2.37), expected)


def test_a_perfect_score_is_kept_whatever_the_coin() -> None:
    assert pareto.pareto_keeps(1_000_000, 3.0, np.nextafter(1.0, 0.0))[0]


def test_a_coin_equal_to_the_probability_does_not_keep() -> None:
    assert pareto.pareto_keeps([0, 0], 3.0, [0.125, 0.124999999]).tolist() == [False, True]


def test_a_solved_alpha_keeps_the_goal_and_the_next_step_less() -> None:
    tokens = np.random.default_rng(1).integers(0, 1000, 50)
    for goal in (1_000, 5_000, 20_000):
        alpha = pareto.solve_alpha(tokens, goal)
        assert pareto.expected_tokens(tokens, alpha) >= goal > pareto.expected_tokens(tokens, alpha + 1e-4)


def test_a_goal_that_an_alpha_meets_exactly_gives_that_alpha() -> None:
    tokens = np.arange(100)
    assert pareto.solve_alpha(tokens, pareto.expected_tokens(tokens, 2.5)) == 2.5


def test_a_goal_out_of_reach_gives_the_alpha_at_the_end_of_the_scale() -> None:
    assert pareto.solve_alpha([10, 10], 1e9) == 1e-4
    assert pareto.solve_alpha([10, 10], 1e-40) == pareto.MAX_ALPHA


def test_a_larger_goal_never_gives_a_larger_alpha_and_so_keeps_whatever_a_smaller_one_kept() -> None:
    alphas = [pareto.solve_alpha(np.arange(100), goal) for goal in (500, 1000, 2000, 4000)]
    assert alphas == sorted(alphas, reverse=True)
