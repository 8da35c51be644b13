"""The classifier's card as the report shows it: accuracies beside what they could rest on, AUC on people's labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from curation.commits import Manifest

_ENOUGH = 30  # documents of each label before an accuracy says anything
_SHOWN = 12  # signals beside the model, those that tell most


@dataclass(frozen=True)
class Line:
    """A number of the card in words: what, the share, its interval, and what it says."""

    what: str
    share: float | None
    low: float | None
    high: float | None
    meaning: str


def quality_card(manifests: Mapping[str, Manifest]) -> dict[str, Any] | None:
    """Return the card that the model was committed with; None where the recipe has no model."""
    manifest = manifests.get("quality_model")
    cards = [commit.counts["card"] for commit in manifest.commits if "card" in commit.counts] if manifest else []
    return dict(cards[0]) if cards else None


def accuracies(card: Mapping[str, Any]) -> list[Line]:
    """Return accuracy on the sample, and the accuracies that tell what it is worth."""
    if "random_tenth" not in card:
        return []
    layout = card["layout_alone_accuracy_ppm"]
    apart = card["origins_apart"] or {}
    rows = [
        ("random tenth", card["random_tenth"]["accuracy_ppm"], "comparable with the paper's 90.3 %"),
        ("origins apart", apart.get("accuracy_ppm"), _apart_meaning(card["origins_apart"])),
        *(
            (f"origins apart, {name.replace('_', ' ')}", about["accuracy_ppm"], f"of {about['documents']:,} documents")
            for name, about in apart.items()
            if name in ("within_english", "lengths_matched")
        ),
        ("layout alone, random tenth", layout["random_tenth"], "a control that sees line breaks and no word"),
        ("layout alone, origins apart", layout["origins_apart"], "what a useful classifier must beat"),
        ("labels permuted", card["labels_permuted_accuracy_ppm"], "half, or something leaks"),
    ]
    return [Line(what, None if ppm is None else ppm / 1e6, None, None, meaning) for what, ppm, meaning in rows]


def _apart_meaning(tenth: Mapping[str, Any] | None) -> str:
    if tenth is None:
        return "no origin could be set apart"
    positives = tenth["true_positives"] + tenth["false_negatives"]
    fewest = min(positives, tenth["documents"] - positives)
    if fewest < _ENOUGH:
        return f"says little: {fewest} of {tenth['documents']} documents are of the rarer label"
    return "hosts and books the model never saw"


def people(card: Mapping[str, Any]) -> list[Line]:
    """Return the area under the curve on labels by people: of the score, of word count, of the strongest signals."""
    found = (card.get("human") or {}).get("auc", {})
    known = {name: area for name, area in found.items() if area is not None}
    first = [name for name in ("model", "words", "gopher") if name in known]
    rest = sorted(set(known) - set(first), key=lambda name: (-abs(known[name]["auc_ppm"] - 500_000), name))
    return [_line(name, known[name]) for name in (*first, *rest[:_SHOWN])]


def _line(name: str, area: Mapping[str, int]) -> Line:
    low, high = area["low_ppm"] / 1e6, area["high_ppm"] / 1e6
    said = "no better than a coin" if low <= 0.5 <= high else "more is better" if low > 0.5 else "less is better"
    return Line(name, area["auc_ppm"] / 1e6, low, high, said)
