"""The card in the report's words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from curation.report import collect, render
from curation.report.quality import accuracies, people, quality_card
from tests.workfolder import make_work_folder


def card(negatives: int) -> dict[str, Any]:
    tenth = {"accuracy_ppm": 900_000, "documents": 200, "true_positives": 190 - negatives, "false_negatives": 10}
    return {
        "random_tenth": {"accuracy_ppm": 936_000},
        "origins_apart": tenth,
        "labels_permuted_accuracy_ppm": None,
        "layout_alone_accuracy_ppm": {"random_tenth": 820_000, "origins_apart": 700_000},
    }


def test_accuracies_stand_beside_what_they_could_rest_on() -> None:
    lines = accuracies(card(100))
    assert [line.share for line in lines] == [0.936, 0.9, 0.82, 0.7, None]
    assert lines[1].meaning == "hosts and books the model never saw"


def test_an_accuracy_on_one_label_is_said_to_say_little() -> None:
    assert accuracies(card(3))[1].meaning == "says little: 3 of 200 documents are of the rarer label"


def test_people_come_with_the_score_first_and_say_which_way_is_better() -> None:
    def area(low: int, high: int) -> dict[str, int]:
        return {"auc_ppm": (low + high) // 2, "low_ppm": low, "high_ppm": high}

    auc = {"digit_ppm": area(300_000, 400_000), "words": area(700_000, 800_000), "model": area(480_000, 560_000)}
    lines = people({"human": {"auc": {**auc, "gopher": None}}})
    assert [(line.what, line.meaning) for line in lines] == [
        ("model", "no better than a coin"),
        ("words", "more is better"),
        ("digit_ppm", "less is better"),
    ]


def test_a_run_without_a_model_has_no_card() -> None:
    assert quality_card({}) is None
    assert accuracies({"given": True}) == people({}) == []


def test_the_page_shows_a_whole_card(tmp_path: Path) -> None:
    area = {"auc_ppm": 609_000, "low_ppm": 559_000, "high_ppm": 659_000}
    quarters = {name: [area, None, area, area] for name in ("model", "words", "gopher")}
    tenth = {
        **card(100)["origins_apart"],
        "within_english": {"documents": 190, "accuracy_ppm": 890_000},
        "lengths_matched": {"documents": 0, "accuracy_ppm": None},
        "roc": [{"false_positive_ppm": 0, "true_positive_ppm": 250_000}],
        "calibration": [{"documents": 200, "mean_score_ppm": 120_000, "positive_ppm": 100_000}],
        "by_source": {"books": {"documents": 200, "right": 180}},
    }
    whole = {
        **card(100),
        "origins_apart": tenth,
        "drawn": {"books": 2_000},
        "sample_digests": {"books": ["0123456789abcdef0123"]},
        "top_words": {"positive": ["philosophy"], "negative": []},
        "human": {
            "documents": 499,
            "meaning": "choose the smallest alpha",
            "auc": {"model": area},
            "auc_by_length_quartile": quarters,
            "words_by_length_quartile": [71, None, 351, 785],
            "pareto": [{"alpha": 3, "kept_of_good_ppm": 286_000, "kept_of_poor_ppm": None}],
        },
    }
    report = collect(make_work_folder(tmp_path / "work").root)
    page = render(replace(report, quality=whole))
    for shown in (
        "choose the smallest alpha",
        "28.6 %",
        "0.61",
        "origins apart, within english",
        "89.0 %",
        "philosophy",
    ):
        assert shown in page
    assert 'points="0.0,75.0 "' in page
    given = {"given": True, "human": whole["human"]}
    assert "choose the smallest alpha" in render(replace(report, quality=given))
    assert "The classifier more closely" not in render(replace(report, quality={"given": True}))
