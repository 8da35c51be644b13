"""How well numbers tell good texts from poor ones: AUC and ROC, calibration, a control that sees only layout.

All results are whole parts per million, so that they can stand in a committed file.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

_PPM = 1_000_000
_TWO_SIDED_95 = 1.959964  # standard errors
_BINS = 10
_CURVE_POINTS = 32
_STEPS = 25  # of Newton's method; it has converged after about 8
_RIDGE = 1e-3


def ppm(share: float) -> int:
    """Return a share in parts per million, rounded half up."""
    return int(np.floor(share * _PPM + 0.5))


def auc(scores: Numbers, positive: Bools) -> dict[str, int] | None:
    """Return the chance that a positive text scores above a negative one, ties counting half, and its 95 % interval.

    The interval is DeLong's (1988). None where a class has fewer than two texts.
    """
    high, low = np.sort(scores[positive]), np.sort(scores[~positive])
    if min(len(high), len(low)) < 2:
        return None
    of_high = (np.searchsorted(low, high, "left") + np.searchsorted(low, high, "right")) / (2 * len(low))
    of_low = 1 - (np.searchsorted(high, low, "left") + np.searchsorted(high, low, "right")) / (2 * len(high))
    area = float(of_high.mean())
    error = float(np.sqrt(of_high.var(ddof=1) / len(high) + of_low.var(ddof=1) / len(low)))
    bounds = np.clip([area - _TWO_SIDED_95 * error, area + _TWO_SIDED_95 * error], 0, 1)
    return {"auc_ppm": ppm(area), "low_ppm": ppm(float(bounds[0])), "high_ppm": ppm(float(bounds[1]))}


def roc(scores: Numbers, positive: Bools) -> list[dict[str, int]]:
    """Return points of the ROC curve: which share of the negatives and of the positives a threshold calls positive.

    At most 34 points from none to all, evenly spread over the negatives; no point where a class has no text.
    """
    high, low = np.sort(scores[positive]), np.sort(scores[~positive])
    if not min(len(high), len(low)):
        return []
    limits = np.unique(np.quantile(low, np.linspace(0, 1, _CURVE_POINTS), method="lower"))[::-1]
    points = [(0.0, 1 - np.searchsorted(high, low[-1], "right") / len(high))]
    points += [tuple(1 - np.searchsorted(side, limit, "left") / len(side) for side in (low, high)) for limit in limits]
    points.append((1.0, 1.0))
    return [{"false_positive_ppm": ppm(false), "true_positive_ppm": ppm(true)} for false, true in points]


def matched(lengths: Numbers, positive: Bools) -> Bools:
    """Return as many positive texts as negative ones of every length, the first of the class that has more.

    Lengths count as equal within a factor of the square root of two.
    """
    classes = np.floor(2 * np.log2(np.maximum(lengths, 1))).astype(np.int64)
    taken = np.zeros(len(lengths), bool)
    for one in np.unique(classes):
        sides = [np.flatnonzero((classes == one) & (positive == side)) for side in (True, False)]
        for side in sides:
            taken[side[: min(map(len, sides))]] = True
    return taken


def quartiles(lengths: Numbers) -> list[Bools]:
    """Return which texts lie in each quarter of lengths, the shortest first."""
    edges = np.quantile(lengths, [0.25, 0.5, 0.75]) if len(lengths) else np.zeros(3)
    quarter = np.searchsorted(edges, lengths, "left")
    return [quarter == number for number in range(4)]


def calibration(score_ppm: Numbers, positive: Bools) -> list[dict[str, int]]:
    """Return, for each tenth of the scale with texts in it: texts, their mean score, and the share that is positive."""
    bins = np.minimum(score_ppm * _BINS // _PPM, _BINS - 1)
    return [
        {
            "documents": int(rows.sum()),
            "mean_score_ppm": ppm(float(score_ppm[rows].mean()) / _PPM),
            "positive_ppm": ppm(float(positive[rows].mean())),
        }
        for number in range(_BINS)
        if (rows := bins == number).any()
    ]


def layout_accuracy_ppm(features: Numbers, positive: Bools, held_out: Bools) -> int | None:
    """Return how often `layout_right`; None where the texts to learn from or to test on are of one class or none."""
    if not held_out.any() or len(set(positive[~held_out])) < 2:
        return None
    return ppm(float(layout_right(features, positive, held_out).mean()))


def layout_right(features: Numbers, positive: Bools, held_out: Bools) -> Bools:
    """Return which held-out texts a logistic regression on `features` [texts, columns] of the others judges right."""
    known = ~held_out
    values = np.log1p(features.astype(np.float64))
    centre, spread = values[known].mean(axis=0), values[known].std(axis=0)
    table = np.column_stack([(values - centre) / np.where(spread > 0, spread, 1), np.ones(len(values))])
    weights = _logistic(table[known], positive[known].astype(np.float64))
    right: Bools = (table[held_out] @ weights > 0) == positive[held_out]
    return right


def _logistic(table: Numbers, labels: Numbers) -> Numbers:
    weights = np.zeros(table.shape[1])
    for _ in range(_STEPS):
        said = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        slope = table.T @ (labels - said) - _RIDGE * weights
        curve = (table * (said * (1 - said))[:, None]).T @ table + _RIDGE * np.eye(len(weights))
        weights = weights + np.linalg.solve(curve, slope)
    return weights


def confusion(said: Bools, positive: Bools, sources: npt.NDArray[np.object_]) -> Mapping[str, dict[str, int]]:
    """Return, by source: how many texts there are, and how many of them were judged as labelled."""
    names = sorted(set(sources.tolist()))
    return {
        name: {"documents": int((sources == name).sum()), "right": int((said == positive)[sources == name].sum())}
        for name in names
    }
