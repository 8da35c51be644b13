"""The card in the report's words."""

from typing import Any

from curation.report.quality import accuracies, people, quality_card


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
