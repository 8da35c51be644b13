"""The Pareto filter of GPT-3 and MT-NLG: good documents are kept, poor ones sometimes, by the document's own coin.

The published rule is `numpy.random.pareto(alpha) > 1 - score`, which holds with probability (2 - score)**-alpha. A
drawn number would depend on the order of documents; here the document's coin, uniform in [0, 1), takes its place.
Coin and probability are compared as whole billionths. The probability is rounded correctly on every machine, although
their `pow` differ in the last bit, so that a verdict is the same everywhere and shows the two numbers it rests on.
"""

from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

PER_BILLION = 1_000_000_000
MAX_ALPHA = 100.0  # up to here float64 errs by less than _DOUBT billionths
_PPM = 1_000_000
_ALPHA_STEPS = 10_000  # to a unit of alpha
_DOUBT = 1e-3
_EXACT = Context(prec=40, rounding=ROUND_HALF_UP)


def keep_probability(score_ppm: npt.ArrayLike, alpha: float) -> Float64:
    """Return (2 - score)**-alpha: 1 for a perfect score, 2**-alpha (an eighth for the paper's 3) for the worst.

    Args:
        score_ppm: scores in parts per million, 0 to 1,000,000.
        alpha: 0 < alpha <= MAX_ALPHA; the larger, the fewer are kept.
    """
    probability: Float64 = ((2 * _PPM - np.asarray(score_ppm, np.int64)) / _PPM) ** -alpha
    return probability


def keep_billionths(score_ppm: npt.ArrayLike, alpha: float) -> Int64:
    """Return `keep_probability` in billionths, correctly rounded (half up)."""
    scores = np.atleast_1d(np.asarray(score_ppm, np.int64))
    floating = keep_probability(scores, alpha) * PER_BILLION
    rounded = np.floor(floating + 0.5).astype(np.int64)
    for row in np.flatnonzero(np.abs(floating % 1 - 0.5) < _DOUBT):
        rounded[row] = _exact_billionths(int(scores[row]), alpha)
    return rounded


def coin_billionths(coins: npt.ArrayLike) -> Int64:
    """Return coins, numbers in [0, 1), in billionths, rounded down."""
    return np.floor(np.atleast_1d(np.asarray(coins, np.float64)) * PER_BILLION).astype(np.int64)


def pareto_keeps(score_ppm: npt.ArrayLike, alpha: float, coins: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return which documents are kept: those whose coin is below their keep probability.

    What a larger alpha keeps, a smaller one keeps too.
    """
    return coin_billionths(coins) < keep_billionths(score_ppm, alpha)


def observe(score_ppm: npt.ArrayLike, kept: npt.ArrayLike, alpha: float) -> dict[str, int]:
    """Return what the filter was expected to keep of documents and what it kept, as sums that add up over shards.

    Returns:
        judged and kept: numbers of documents. expected_billionths: the sum of their keep probabilities p.
        variance_billionths: the sum of p (1 - p), of which the standard error is the root; each p (1 - p) rounded down.
    """
    keeps = keep_billionths(score_ppm, alpha)
    variance = keeps * (PER_BILLION - keeps) // PER_BILLION
    kept_rows = np.asarray(kept, bool)
    return {
        "judged": len(kept_rows),
        "kept": int(kept_rows.sum()),
        "expected_billionths": int(keeps.sum()),
        "variance_billionths": int(variance.sum()),
    }


def solve_alpha(tokens: npt.ArrayLike, goal_tokens: float) -> float:
    """Return the alpha, in ten-thousandths, whose expected kept tokens come nearest to the goal from above.

    Args:
        tokens: what is kept with certainty of each score, from 0 to 1 in equal bins; a bin stands for its middle.
        goal_tokens: above all tokens together it gives the smallest alpha, below what MAX_ALPHA keeps that one.
    """
    held = np.asarray(tokens, np.float64)
    low, high = 1, round(MAX_ALPHA * _ALPHA_STEPS)  # what low keeps is enough, or nothing is
    while low < high:
        middle = (low + high + 1) // 2
        if expected_tokens(held, middle / _ALPHA_STEPS) >= goal_tokens:
            low = middle
        else:
            high = middle - 1
    return low / _ALPHA_STEPS


def expected_tokens(tokens: npt.ArrayLike, alpha: float) -> float:
    """Return the tokens that a Pareto filter keeps on average of tokens by score bin; see `solve_alpha`."""
    held = np.asarray(tokens, np.float64)
    middles = (np.arange(len(held)) + 0.5) / len(held) * _PPM
    return float((held * keep_probability(middles.astype(np.int64), alpha)).sum())


def _exact_billionths(score_ppm: int, alpha: float) -> int:
    base = _EXACT.divide(Decimal(2 * _PPM - score_ppm), Decimal(_PPM))
    probability = _EXACT.power(base, Decimal(-alpha))
    return int(_EXACT.multiply(probability, Decimal(PER_BILLION)).to_integral_value(ROUND_HALF_UP))
