"""The classifier on real texts, origins apart: it must read, not recognise layout. Same data, same numbers."""

import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def truth(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import quality_truth

    return quality_truth


@pytest.fixture
def data() -> Path:
    if not (folder := os.environ.get("CURATION_REAL_DATA")):
        pytest.skip("CURATION_REAL_DATA is not set")
    return Path(folder)


def test_an_origin_is_in_one_fold_and_folds_hold_both_labels_evenly(truth: ModuleType) -> None:
    texts = [truth.Text(row % 2 == 0, "s", f"{row % 2}-{row % 37}", str(row)) for row in range(1_000)]
    folds = truth.origin_folds(texts)
    assert len({(text.origin, fold) for text, fold in zip(texts, folds.tolist(), strict=True)}) == 74
    for side in (True, False):
        sizes = np.bincount(folds[[text.positive == side for text in texts]], minlength=truth.FOLDS)
        assert sizes.max() - sizes.min() <= 14


def test_what_a_tokeniser_took_apart_is_one_layout_with_what_nobody_did(truth: ModuleType) -> None:
    apart = "He said , `` the well @-@ known\r\nman ( it 's\r\n he ) , came . ''\r\n\r\n   New\tparagraph , here ."
    whole = 'He said, "the well-known\nman (it\'s he), came."\n\n\nNew paragraph, here.\n'
    assert truth.one_layout(apart) == truth.one_layout(whole)


def test_origins_apart_the_classifier_beats_the_layout_only_control_by_ten_points(
    truth: ModuleType, data: Path
) -> None:
    texts = truth.balanced(data)
    labels = np.array([text.positive for text in texts])
    folds = truth.origin_folds(texts)
    right = (truth.scores(texts, labels, folds) >= 500_000) == labels
    layout = truth.layout_right(texts, labels, folds)
    lead = truth.interval(right.astype(float) - layout, [text.origin for text in texts])
    assert layout.mean() > 0.55  # a control that sees nothing would be beaten by anything
    assert lead["mean"] >= 0.10
    assert lead["low"] > 0.05  # 0.119 measured: other draws of origins would not undo it
