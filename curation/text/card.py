"""The card of the quality classifier: what its accuracy is worth.

A classifier of sources can look right and judge nothing: it may know its books by heart, or tell classes by line
breaks. So the card sets beside the paper's number, accuracy on a random tenth of the sample:

- accuracy on a tenth of the origins (host, book, file), by a model that saw none of them
- accuracy of a model trained on labels drawn by coin: about one half, or something leaks
- accuracy of a control that sees layout alone, on the same origins
- accuracy among texts in English, and among as many texts of either label of every length
- the words that speak most for either label: names of people or of one site are a bad sign
- the area under the curve on texts that people judged, never trained on, by quarter of length, beside word count, every
  signal and the vote of the Gopher rules; and what the Pareto filter would keep of what people keep, and of the rest
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from curation.errors import RecipeError
from curation.filtering import Evidence, judge
from curation.pareto import keep_probability
from curation.parts import Part, read_batches, read_table
from curation.profiles import Profile
from curation.text import language, quality, rates, sample, signals
from schemas.tables import LAYOUT

_COLUMNS = ["label", "held_out", "origin_held_out", *LAYOUT]
_ALPHAS = (1, 3, 9)  # the paper's is 3, GPT-3's 9
_TOP_WORDS = 20
_HALF_PPM = 500_000


def describe(
    root: str, parts: Sequence[Part], seed: int, parameters: quality.Parameters, model: quality.Model, folder: Path
) -> dict[str, Any]:
    """Return the part of the card that rests on the sample; two more models are trained for it, in `folder`."""

    def trained(fold: str, permuted: bool) -> quality.Model:
        path = folder / f"{fold}-{permuted}.bin"
        quality.train(sample.shuffled(root, parts, seed, fold, permuted), parameters, path)
        return quality.load(path)

    table, sources = _sample(root, parts)
    positive = np.array([label == "positive" for label in table["label"].to_pylist()], bool)
    random, apart = (table[name].to_numpy(zero_copy_only=False) for name in ("held_out", "origin_held_out"))
    tenth = _Tenth(_texts(root, parts, "held_out"), positive[random], sources[random])
    return {
        "drawn": dict(sample.drawn_counts(parts)),
        "sample_digests": _digests(parts),
        "top_words": model.top_words(_TOP_WORDS),
        "random_tenth": tenth.judged(model),
        "origins_apart": _apart(root, parts, positive, sources, apart, trained),
        "labels_permuted_accuracy_ppm": _permuted(tenth, trained),
        "layout_alone_accuracy_ppm": {
            "random_tenth": rates.layout_accuracy_ppm(_layout(table), positive, random),
            "origins_apart": rates.layout_accuracy_ppm(_layout(table), positive, apart),
        },
    }


def human(model: quality.Model, lines: bytes, origin: str) -> dict[str, Any]:
    """Return how scores, signals and rules agree with people's labels: JSON lines with `text` and `label` (0 or 1).

    Raises:
        RecipeError: a line is something else; the message names its number.
    """
    texts, positive = _labelled(lines, origin)
    measured = signals.compute(texts)
    scores = {"model": model.score(texts).to_numpy(), "gopher": _gopher(measured)}
    numbers = scores | {name: measured[name].to_numpy() for name in measured.schema.names}
    quarters = rates.quartiles(measured["words"].to_numpy())
    areas = {name: rates.auc(column, positive) for name, column in numbers.items()}
    return {
        "documents": len(texts),
        "kept_by_people": int(positive.sum()),
        "meaning": meaning(areas),
        "auc": areas,
        "auc_by_length_quartile": {
            name: [rates.auc(column[rows], positive[rows]) for rows in quarters] for name, column in numbers.items()
        },
        "words_by_length_quartile": [_median(measured["words"].to_numpy()[rows]) for rows in quarters],
        "pareto": [_pareto(scores["model"], positive, alpha) for alpha in _ALPHAS],
    }


def meaning(areas: Mapping[str, Mapping[str, int] | None]) -> str:
    """Say what the agreement with people means for choosing alpha."""
    score, words = areas["model"], areas["words"]
    if score is None or words is None:
        return "Too few texts of either label: nothing says what an alpha does to good and poor texts."
    if score["low_ppm"] <= _HALF_PPM <= score["high_ppm"]:
        return (
            "The score is no better than a coin, so the Pareto filter removes good and poor texts alike, the more the "
            "larger alpha is. Leave it out, and let length and signals judge."
        )
    if score["high_ppm"] < _HALF_PPM:
        return "People keep what the score calls poor: leave the Pareto filter out, and choose other positives."
    if words["auc_ppm"] > score["auc_ppm"]:
        return (
            "The score tells something, and word count alone tells more: raise min_words and set limits to signals "
            "first, and choose the smallest alpha that gives the tokens wanted."
        )
    return "The score tells more than word count: choose alpha by what it keeps of the good texts and of the poor ones."


def _pareto(score_ppm: rates.Numbers, positive: rates.Bools, alpha: int) -> dict[str, int | None]:
    """Return what share the filter would keep of what people keep, and of what they do not."""
    chances = keep_probability(score_ppm, alpha)
    shares = [rates.ppm(float(chances[rows].mean())) if rows.any() else None for rows in (positive, ~positive)]
    return {"alpha": alpha, "kept_of_good_ppm": shares[0], "kept_of_poor_ppm": shares[1]}


def _median(numbers: rates.Numbers) -> int | None:
    return int(np.median(numbers)) if len(numbers) else None


class _Tenth:
    """A part of the sample on which a model is asked."""

    def __init__(self, texts: pa.Array, positive: rates.Bools, sources: Any) -> None:
        self.texts, self.positive, self.sources = texts, positive, sources

    def judged(self, model: quality.Model) -> dict[str, Any]:
        scores = model.score(self.texts).to_numpy()
        said = scores >= 500_000
        lengths = np.array([text.count(" ") + 1 for text in self.texts.to_pylist()], np.int64)
        english = np.array([code == "en" for code in language.detect(self.texts)[0].to_pylist()], bool)
        return {
            **_accuracy(said == self.positive, np.ones(len(said), bool)),
            "within_english": _accuracy(said == self.positive, english),
            "lengths_matched": _accuracy(said == self.positive, rates.matched(lengths, self.positive)),
            "true_positives": int((said & self.positive).sum()),
            "false_positives": int((said & ~self.positive).sum()),
            "true_negatives": int((~said & ~self.positive).sum()),
            "false_negatives": int((~said & self.positive).sum()),
            "auc": rates.auc(scores, self.positive),
            "roc": rates.roc(scores, self.positive),
            "calibration": rates.calibration(scores, self.positive),
            "by_source": dict(rates.confusion(said, self.positive, self.sources)),
        }


def _accuracy(right: rates.Bools, rows: rates.Bools) -> dict[str, int | None]:
    return {
        "documents": int(rows.sum()),
        "accuracy_ppm": rates.ppm(float(right[rows].mean())) if rows.any() else None,
    }


def _sample(root: str, parts: Sequence[Part]) -> tuple[pa.Table, Any]:
    tables = [read_table(root, part, _COLUMNS) for part in parts]
    sources = [part.facts["source"] for part, table in zip(parts, tables, strict=True) for _ in range(table.num_rows)]
    return pa.concat_tables(tables), np.array(sources, object)


def _texts(root: str, parts: Sequence[Part], fold: str) -> pa.Array:
    """Return the texts of a fold, in the order of the sample; no other text is held in memory."""
    found = [batch["text"].filter(batch[fold]) for part in parts for batch in read_batches(root, part, [fold, "text"])]
    return pa.concat_arrays(found) if found else pa.array([], pa.large_string())


def _digests(parts: Sequence[Part]) -> dict[str, list[str]]:
    """Return the digests of the drawn texts by source."""
    sources = sorted({part.facts["source"] for part in parts})
    return {name: sorted(part.digest for part in parts if part.facts["source"] == name) for name in sources}


def _apart(
    root: str, parts: Sequence[Part], positive: rates.Bools, sources: Any, rows: rates.Bools, trained: Any
) -> Any:
    if not rows.any() or len(set(positive[~rows])) < 2:
        return None
    texts = _texts(root, parts, "origin_held_out")
    return _Tenth(texts, positive[rows], sources[rows]).judged(trained("origin_held_out", False))


def _permuted(tenth: _Tenth, trained: Any) -> int | None:
    try:
        found: int | None = tenth.judged(trained("held_out", True))["accuracy_ppm"]
    except RecipeError:  # a handful of documents can all get one label
        return None
    return found


def _layout(table: pa.Table) -> rates.Numbers:
    return np.column_stack([table[name].to_numpy() for name in LAYOUT])


def _gopher(measured: pa.RecordBatch) -> rates.Numbers:
    hints = pa.array([""] * measured.num_rows)
    fates = judge(Profile(like="gopher"), Evidence(measured, hints))["fate"]
    return np.array([fate == "keep" for fate in fates.to_pylist()], np.int64)


def _labelled(lines: bytes, origin: str) -> tuple[pa.Array, rates.Bools]:
    texts, labels = [], []
    for number, line in enumerate(filter(None, lines.split(b"\n")), 1):
        try:
            row: Mapping[str, Any] = orjson.loads(line)
            text, label = row["text"], row["label"]
        except (ValueError, KeyError, TypeError):
            raise RecipeError(f"{origin}: line {number} is no JSON object with text and label") from None
        if not isinstance(text, str) or label not in (0, 1):
            raise RecipeError(f"{origin}: line {number}: text is a string, label is 0 (poor) or 1 (good)")
        texts.append(text)
        labels.append(bool(label))
    return pa.array(texts, pa.large_string()), np.array(labels, bool)
