"""The truth about a corpus by plain code of its own, and how good a set of removals is against it.

Texts are compared as sets of lower-cased word 5-grams, words being what lies between whitespace bytes, as strings:
no hash of the product takes part.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

Pairs = dict[tuple[int, int], float]  # (row, later row) -> Jaccard similarity
_SPACES = re.compile(r"[\x00-\x20]+")


def grams(text: str) -> set[str]:
    """Return the set of word 5-grams of a text; all its words as one where there are fewer."""
    words = [word for word in _SPACES.split(text.lower()) if word]
    return {" ".join(words[i : i + 5]) for i in range(max(1, len(words) - 4))} if words else set()


def all_pairs(texts: Sequence[str], threshold: float) -> Pairs:
    """Return every pair of texts whose exact similarity reaches the threshold.

    Two sets so similar must share one of the rarest (1 - threshold) share of either's grams: only those that do are
    compared, which leaves nothing out.
    """
    sets = [grams(text) for text in texts]
    frequency = Counter(gram for one in sets for gram in one)
    holders: dict[str, list[int]] = defaultdict(list)
    found: Pairs = {}
    for row, one in enumerate(sets):
        rarest = sorted((count, gram) for gram in one if (count := frequency[gram]) > 1)
        prefix = len(one) - math.ceil(threshold * len(one)) + 1
        unique = len(one) - len(rarest)  # these come first in the order of rarity, and nobody else has them
        candidates = set[int]()
        for _, gram in rarest[: max(0, prefix - unique)]:
            candidates.update(holders[gram])
            holders[gram].append(row)
        for other in candidates:
            shared = len(one & sets[other])
            if shared >= threshold * (len(one) + len(sets[other]) - shared):
                found[other, row] = shared / (len(one) + len(sets[other]) - shared)
    return found


def quality(truth: Pairs, removed: set[int]) -> dict[str, float]:
    """Return precision (of removals: a kept text is as similar as asked), recall (of pairs: a side is removed), f1."""
    partners: dict[int, list[int]] = defaultdict(list)
    for a, b in truth:
        partners[a].append(b)
        partners[b].append(a)
    right = sum(any(other not in removed for other in partners[row]) for row in removed)
    precision = right / max(1, len(removed))
    recall = sum(a in removed or b in removed for a, b in truth) / max(1, len(truth))
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / max(1e-9, precision + recall)}


def residual(truth: Pairs, removed: set[int], keys: Mapping[int, bytes]) -> tuple[int, int]:
    """Return how many true pairs were kept on both sides: those that share a band, and those that never met."""
    left = [share_a_band(keys, a, b) for a, b in truth if a not in removed and b not in removed]
    return sum(left), len(left) - sum(left)


def share_a_band(keys: Mapping[int, bytes], a: int, b: int) -> bool:
    """Say whether two rows have an 8-byte band key in common, at the same place."""
    return any(keys[a][at : at + 8] == keys[b][at : at + 8] for at in range(0, len(keys[a]), 8))


def candidate_recall(truth: Pairs, keys: Mapping[int, bytes], bands: int, rows: int) -> tuple[float, float, float]:
    """Return (measured, theory, standard error) of the share of true pairs that meet in a bucket.

    Pairs of exact copies are left out: they never reach the bands. Pairs of one cluster stand or fall together, so
    the error is taken over the clusters of true pairs.
    """
    pairs = [(a, b, similarity) for (a, b), similarity in truth.items() if similarity < 1]
    expected = np.array([1 - (1 - similarity**rows) ** bands for _, _, similarity in pairs])
    met = np.array([share_a_band(keys, a, b) for a, b, _ in pairs], float)
    cluster = _clusters([(a, b) for a, b, _ in pairs])
    sums = np.bincount([cluster[a] for a, _, _ in pairs], weights=met - expected)
    return float(met.mean()), float(expected.mean()), float(np.sqrt((sums**2).sum()) / len(pairs))


def _clusters(pairs: Sequence[tuple[int, int]]) -> dict[int, int]:
    label: dict[int, int] = {row: row for pair in pairs for row in pair}

    def root(row: int) -> int:
        while label[row] != row:
            row = label[row] = label[label[row]]
        return row

    for a, b in pairs:
        label[root(a)] = root(b)
    numbers = {top: number for number, top in enumerate(sorted({root(row) for row in label}))}
    return {row: numbers[root(row)] for row in label}
