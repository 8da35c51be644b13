"""The card: what it measures on a small sample, and how it agrees with people."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from curation.errors import RecipeError
from curation.parts import Part, write_part
from curation.text import card, quality, sample
from schemas.tables import SAMPLE

SMALL = quality.Parameters(dimensions=8, epochs=25, buckets=1000, min_count=1)
GOOD, POOR = "the philosophy of the ancient harbour town number {}", "buy cheap tickets now best price offer {}"


def part(root: str, label: str, source: str, text: str) -> Part:
    rows = 60
    columns = {name: [9 if label == "positive" else 3] * rows for name in SAMPLE.names} | {
        "doc_id": [number * 2 + (label == "positive") for number in range(rows)],
        "label": [label] * rows,
        "held_out": [number % 5 == 0 for number in range(rows)],
        "origin_held_out": [number % 5 == 1 for number in range(rows)],
        "text": [text.format(number) for number in range(rows)],
    }
    batch = pa.RecordBatch.from_pydict(columns, schema=SAMPLE)
    return write_part(root, "quality_model", "sample", f"{source}-{label}", [batch], {"source": source})


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Part]]:
    root = str(tmp_path_factory.mktemp("work"))
    return root, [part(root, "positive", "books", GOOD), part(root, "negative", "web", POOR)]


@pytest.fixture(scope="module")
def model(parts: tuple[str, list[Part]], tmp_path_factory: pytest.TempPathFactory) -> quality.Model:
    path = tmp_path_factory.mktemp("model") / "model.bin"
    quality.train(sample.shuffled(*parts, 7), SMALL, path)
    return quality.load(path)


def test_the_card_sets_accuracy_beside_what_it_could_rest_on(
    parts: tuple[str, list[Part]], model: quality.Model, tmp_path: Path
) -> None:
    found = card.describe(*parts, 7, SMALL, model, tmp_path)
    assert found["drawn"] == {"books": 60, "web": 60}
    assert found["random_tenth"]["documents"] == found["origins_apart"]["documents"] == 24
    assert found["random_tenth"]["accuracy_ppm"] == found["origins_apart"]["accuracy_ppm"] == 1_000_000
    assert found["random_tenth"]["by_source"]["web"] == {"documents": 12, "right": 12}
    assert found["labels_permuted_accuracy_ppm"] < 900_000
    assert found["random_tenth"]["within_english"] == {"documents": 24, "accuracy_ppm": 1_000_000}
    assert found["random_tenth"]["lengths_matched"]["documents"] == 24
    assert found["random_tenth"]["roc"][0] == {"false_positive_ppm": 0, "true_positive_ppm": 1_000_000}
    assert {name: len(digests) for name, digests in found["sample_digests"].items()} == {"books": 1, "web": 1}
    assert set(found["top_words"]["positive"]) <= set(GOOD.split())
    assert set(found["top_words"]["negative"]) <= set(POOR.split())
    assert found["layout_alone_accuracy_ppm"] == {"random_tenth": 1_000_000, "origins_apart": 1_000_000}
    json.dumps(found)


def test_training_leaves_the_fold_out_and_permutes_labels_by_coin(parts: tuple[str, list[Part]]) -> None:
    random, apart = list(sample.shuffled(*parts, 7)), list(sample.shuffled(*parts, 7, "origin_held_out"))
    assert len(random) == len(apart) == 96
    assert {text for text, _ in random} != {text for text, _ in apart}
    permuted = list(sample.shuffled(*parts, 7, "held_out", permuted=True))
    assert [text for text, _ in permuted] == [text for text, _ in random]
    agreeing = sum(mine == theirs for (_, mine), (_, theirs) in zip(permuted, random, strict=True))
    assert 30 < agreeing < 66


def test_people_are_compared_with_the_score_and_every_signal(model: quality.Model) -> None:
    rows = [{"text": GOOD.format(n) * (n + 1), "label": 1} for n in range(8)]
    rows += [{"text": POOR.format(n), "label": 0} for n in range(8)]
    found = card.human(model, "\n".join(map(json.dumps, rows)).encode(), "labels.jsonl")
    assert (found["documents"], found["kept_by_people"]) == (16, 8)
    assert found["auc"]["model"]["auc_ppm"] == 1_000_000
    assert {"words", "gopher", "compressed_ppm", "digit_ppm"} <= set(found["auc"])
    assert len(found["auc_by_length_quartile"]["model"]) == 4
    assert [row["alpha"] for row in found["pareto"]] == [1, 3, 9]
    assert all(row["kept_of_good_ppm"] > row["kept_of_poor_ppm"] for row in found["pareto"])
    assert found["pareto"][1]["kept_of_poor_ppm"] == pytest.approx(125_000, abs=10_000)  # 2 ** -3 of the worst


def area(low: float, high: float) -> dict[str, int]:
    return {"auc_ppm": int((low + high) * 5e5), "low_ppm": int(low * 1e6), "high_ppm": int(high * 1e6)}


@pytest.mark.parametrize(
    ("score", "words", "said"),
    [
        (area(0.45, 0.55), area(0.7, 0.8), "no better than a coin"),
        (area(0.3, 0.4), area(0.7, 0.8), "leave the Pareto filter out"),
        (area(0.55, 0.65), area(0.7, 0.8), "word count alone tells more"),
        (area(0.8, 0.9), area(0.7, 0.8), "tells more than word count"),
        (None, None, "Too few"),
    ],
)
def test_the_card_says_what_agreement_with_people_means_for_alpha(
    score: dict[str, int] | None, words: dict[str, int] | None, said: str
) -> None:
    assert said in card.meaning({"model": score, "words": words})


@pytest.mark.parametrize(
    "line", ["no json", "[]", '{"text": "a"}', '{"text": 1, "label": 1}', '{"text": "", "label": 2}']
)
def test_a_label_that_is_none_is_an_error_with_its_line(model: quality.Model, line: str) -> None:
    with pytest.raises(RecipeError, match="line 2"):
        card.human(model, f'{{"text": "a", "label": 1}}\n{line}\n'.encode(), "labels.jsonl")
