"""Whether the classifier judges texts or recognises sources: origins apart, a layout-only control, people's labels.

    CURATION_REAL_DATA=FOLDER .venv/bin/python benchmarks/quality_truth.py [--json]

Trained with the product's defaults on prose of `sources/` against extracted pages of `webpages/`, brought to one layout
(`benchmarks/quality_corpus.py`), in five folds: every text is judged by a model that saw neither it nor, in the rows
"origins apart", anything of its origin. Intervals are of 1,000 draws of origins. Then a model of all texts is asked
about documents that people kept or discarded (`quality/dclm_human_majority.jsonl`); it was trained on none of them.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from quality_corpus import Text, balanced, one_layout

from curation.text import card, quality, rates, signals
from schemas.tables import LAYOUT

FOLDS = 5
DRAWS = 1_000
LABELS = "quality/dclm_human_majority.jsonl"
_SHOWN = 10
__all__ = [
    "Text",
    "accuracies",
    "balanced",
    "interval",
    "layout_right",
    "one_layout",
    "origin_folds",
    "people",
    "scores",
]

Bools = npt.NDArray[np.bool_]
Folds = npt.NDArray[np.int64]


def origin_folds(texts: Sequence[Text]) -> Folds:
    """Return the fold of each text: an origin is in one fold, and folds hold about as many texts of either label."""
    sizes: dict[tuple[bool, str], int] = {}
    for text in texts:
        sizes[text.positive, text.origin] = sizes.get((text.positive, text.origin), 0) + 1
    filled = {side: [0] * FOLDS for side in (True, False)}
    fold = {}
    for (side, origin), size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        fold[origin] = min(range(FOLDS), key=lambda number: filled[side][number])
        filled[side][fold[origin]] += size
    return np.array([fold[text.origin] for text in texts])


def scores(texts: Sequence[Text], labels: Bools, folds: Folds) -> npt.NDArray[np.int32]:
    """Return each text's score by the model that was trained on the other folds."""
    found = np.zeros(len(texts), np.int32)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(FOLDS):
            path = Path(folder, f"{number}.bin")
            known = np.flatnonzero(folds != number)
            quality.train(((texts[row].text, bool(labels[row])) for row in known), quality.Parameters(), path)
            asked = np.flatnonzero(folds == number)
            found[asked] = quality.load(path).score(_array([texts[row].text for row in asked])).to_numpy()
    return found


def layout_right(texts: Sequence[Text], labels: Bools, folds: Folds) -> Bools:
    """Return which texts the card's control judges right, which sees their layout alone."""
    measured = signals.compute(_array([text.text for text in texts]))
    features = np.column_stack([measured[name].to_numpy() for name in LAYOUT])
    right = np.zeros(len(texts), bool)
    for number in range(FOLDS):
        right[folds == number] = rates.layout_right(features, labels, folds == number)
    return right


def interval(right: npt.NDArray[np.float64], origins: Sequence[str]) -> dict[str, float]:
    """Return the mean and its 95 % interval over 1,000 draws of origins with replacement."""
    names = sorted(set(origins))
    place = {name: row for row, name in enumerate(names)}
    sums, counts = np.zeros((2, len(names)))
    np.add.at(sums, [place[name] for name in origins], right)
    np.add.at(counts, [place[name] for name in origins], 1)
    drawn = np.random.default_rng(1).integers(0, len(names), (DRAWS, len(names)))
    low, high = np.quantile(sums[drawn].sum(1) / counts[drawn].sum(1), [0.025, 0.975])
    return {"mean": float(right.mean()), "low": float(low), "high": float(high)}


def accuracies(texts: Sequence[Text]) -> dict[str, Any]:
    """Return accuracy by kind of model and fold, the lead over the control, and accuracy by source."""
    labels, origins = np.array([text.positive for text in texts]), [text.origin for text in texts]
    apart = origin_folds(texts)
    judged = (scores(texts, labels, apart) >= 500_000) == labels
    layout = layout_right(texts, labels, apart)
    coins = np.random.default_rng(2)
    permuted = coins.permutation(labels)
    random = coins.integers(0, FOLDS, len(texts))
    rows = {
        "random folds": (scores(texts, labels, random) >= 500_000) == labels,
        "origins apart": judged,
        "layout alone, origins apart": layout,
        "labels permuted, origins apart": (scores(texts, permuted, apart) >= 500_000) == permuted,
        "lead over layout alone": judged.astype(float) - layout,
    }
    sources = sorted({text.source for text in texts})
    at = np.array([text.source for text in texts])
    return {
        "texts": len(texts),
        "origins": len(set(origins)),
        "accuracy": {name: interval(right.astype(float), origins) for name, right in rows.items()},
        "by_source": {
            name: {"texts": int((at == name).sum()), "right": float(judged[at == name].mean())} for name in sources
        },
    }


def people(texts: Sequence[Text], labels: Path) -> dict[str, Any]:
    """Return what the card says of people's labels, by a model of all texts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.bin")
        quality.train(((text.text, text.positive) for text in texts), quality.Parameters(), path)
        return card.human(quality.load(path), labels.read_bytes(), labels.name)


def _array(texts: Sequence[str]) -> pa.Array:
    return pa.array(texts, pa.large_string())


def _print(found: dict[str, Any]) -> None:
    print(f"{found['texts']:,} windows of {found['origins']:,} origins, as many positive as negative")
    for name, row in found["accuracy"].items():
        print(f"  {name:32} {row['mean']:6.1%}  [{row['low']:.1%}, {row['high']:.1%}]")
    print(
        "  right by source: "
        + ", ".join(f"{n} {r['right']:.0%} of {r['texts']}" for n, r in found["by_source"].items())
    )
    human = found["human"]
    print(
        f"{human['documents']} documents judged by people, {human['kept_by_people']} of them kept: area under the curve"
    )
    known = {name: area for name, area in human["auc"].items() if area}
    rest = sorted(set(known) - {"model", "words", "gopher"}, key=lambda name: -abs(known[name]["auc_ppm"] - 500_000))
    for name in ("model", "words", "gopher", *rest[:_SHOWN]):
        area = [known[name][key] / 1e6 for key in ("auc_ppm", "low_ppm", "high_ppm")]
        quarters = human["auc_by_length_quartile"][name]
        told = " ".join("   –" if one is None else f"{one['auc_ppm'] / 1e6:.2f}" for one in quarters)
        print(f"  {name:32} {area[0]:.3f}  [{area[1]:.3f}, {area[2]:.3f}]  {told}")
    print(f"  by quarter of length, medians of {human['words_by_length_quartile']} words")
    print(f"  {human['meaning']}")
    for row in human["pareto"]:
        good, poor = row["kept_of_good_ppm"] / 1e6, row["kept_of_poor_ppm"] / 1e6
        print(f"  alpha {row['alpha']}: keeps {good:.1%} of what people keep, {poor:.1%} of what they do not")


def main() -> None:
    """Print tables, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    data = Path(os.environ["CURATION_REAL_DATA"])
    texts = balanced(data)
    found = {**accuracies(texts), "human": people(texts, data / LABELS)}
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        _print(found)


if __name__ == "__main__":
    main()
