"""The card of the quality classifier: what its accuracy is worth.

A classifier of sources can look right and judge nothing: it may know its books by heart, or tell classes by line
breaks. So the card sets beside the paper's number, accuracy on a random tenth of the sample:

- accuracy on a tenth of the origins (host, book, file), by a model that saw none of them
- accuracy of a model trained on labels drawn by coin: about one half, or something leaks
- accuracy of a control that sees layout alone, on the same origins
- the area under the curve on texts that people judged, never trained on, by quarter of length, beside word count, every
  signal and the vote of the Gopher rules
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from curation.errors import RecipeError
from curation.filtering import Evidence, judge
from curation.parts import Part, read_table
from curation.profiles import Profile
from curation.text import quality, rates, sample, signals
from schemas.tables import LAYOUT

_COLUMNS = ["label", "held_out", "origin_held_out", "text", *LAYOUT]


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
    tenth = _Tenth(table, positive, sources, random)
    return {
        "drawn": dict(sample.drawn_counts(parts)),
        "sample_digests": sorted(part.digest for part in parts),
        "random_tenth": tenth.judged(model),
        "origins_apart": _apart(table, positive, sources, apart, trained),
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
    return {
        "documents": len(texts),
        "kept_by_people": int(positive.sum()),
        "auc": {name: rates.auc(column, positive) for name, column in numbers.items()},
        "auc_by_length_quartile": {
            name: [rates.auc(numbers[name][rows], positive[rows]) for rows in quarters]
            for name in ("model", "words", "gopher")
        },
        "words_by_length_quartile": [_median(measured["words"].to_numpy()[rows]) for rows in quarters],
    }


def _median(numbers: rates.Numbers) -> int | None:
    return int(np.median(numbers)) if len(numbers) else None


class _Tenth:
    """A part of the sample on which a model is asked."""

    def __init__(self, table: pa.Table, positive: rates.Bools, sources: Any, rows: rates.Bools) -> None:
        self.texts = table["text"].combine_chunks().filter(pa.array(rows))
        self.positive, self.sources = positive[rows], sources[rows]

    def judged(self, model: quality.Model) -> dict[str, Any]:
        scores = model.score(self.texts).to_numpy()
        said = scores >= 500_000
        right = said == self.positive
        return {
            "documents": len(right),
            "accuracy_ppm": rates.ppm(float(right.mean())) if len(right) else None,
            "true_positives": int((said & self.positive).sum()),
            "false_positives": int((said & ~self.positive).sum()),
            "true_negatives": int((~said & ~self.positive).sum()),
            "false_negatives": int((~said & self.positive).sum()),
            "auc": rates.auc(scores, self.positive),
            "calibration": rates.calibration(scores, self.positive),
            "by_source": dict(rates.confusion(said, self.positive, self.sources)),
        }


def _sample(root: str, parts: Sequence[Part]) -> tuple[pa.Table, Any]:
    tables = [read_table(root, part, _COLUMNS) for part in parts]
    sources = [part.facts["source"] for part, table in zip(parts, tables, strict=True) for _ in range(table.num_rows)]
    return pa.concat_tables(tables), np.array(sources, object)


def _apart(table: pa.Table, positive: rates.Bools, sources: Any, rows: rates.Bools, trained: Any) -> Any:
    if not rows.any() or len(set(positive[~rows])) < 2:
        return None
    return _Tenth(table, positive, sources, rows).judged(trained("origin_held_out", False))


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
