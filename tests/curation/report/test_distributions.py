"""Distributions: pictures of committed counts, with limits where they lie."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from curation.commits import Commit, Manifest
from curation.parts import write_part
from curation.report.distributions import Distributions, distributions
from schemas.tables import HISTOGRAMS

PARETO = {
    "alpha": 3.0,
    "judged": 400,
    "kept": 130,
    "expected_billionths": 100 * 10**9,
    "variance_billionths": 75 * 10**9,
}


def row(column: str, first: int, behind: int | None, documents: int, kept: int, **more: Any) -> dict[str, Any]:
    own = {"source": "web", "column": column, "first": first, "behind": behind, "documents": documents, "kept": kept}
    return {"code": "", "text_bytes": 0, "minimum": None, "maximum": None} | own | more


@pytest.fixture
def found(tmp_path: Path) -> Distributions:
    rows = [
        row("digit_ppm", 0, 25_000, 10, 10, maximum=100_000),
        row("digit_ppm", 75_000, 100_000, 4, 4, maximum=100_000),
        row("digit_ppm", 100_000, 125_000, 20, 5, maximum=100_000),
        *(row("language", 0, None, count, count, code=f"l{count}") for count in range(1, 11)),
        row("quality_ppm", 975_000, None, 3, 3),
        row("tokens_estimated", 4, 6, 1, 1),
    ]
    batch = pa.RecordBatch.from_pylist(rows, HISTOGRAMS)
    part = write_part(str(tmp_path), "filter", "histograms", "web", [batch], {"shard": "", "source": "web"})
    commit = Commit("filter", "x", "k", (part,), {})
    told = distributions(str(tmp_path), Manifest("filter", "k", "i", (commit,), {"pareto": {"web": PARETO}}))
    assert told is not None
    return told


def test_only_limited_signals_are_drawn_with_their_limits_in_place(found: Distributions) -> None:
    [picture] = found.signals
    assert (picture.column, picture.documents, picture.first, picture.last) == ("digit_ppm", 34, 0, 125_000)
    # one bin for the gap between 25,000 and 75,000: four of equal width, the limit between the last two
    assert [bar.left for bar in picture.bars] == [0, 0.5, 0.75]
    assert picture.limits == (0.75,)
    assert [(bar.height, bar.kept) for bar in picture.bars] == [(0.5, 0.5), (0.2, 0.2), (1.0, 0.25)]


def test_scores_and_the_keep_rate_beside_what_was_expected(found: Distributions) -> None:
    assert [picture.column for picture in found.scores] == ["quality_ppm"]
    assert [(bar.left, bar.width) for bar in found.scores[0].bars] == [(pytest.approx(0.975), 0.025)]  # of 0 to 1
    [(_, rate)] = found.scored
    assert rate is not None
    assert (rate.expected, rate.observed) == (0.25, 0.325)
    assert rate.errors == pytest.approx(30 / 75**0.5)
    assert not rate.plausible


def test_the_most_frequent_languages_are_named_and_the_others_summed_up(found: Distributions) -> None:
    assert [(row.code, row.documents) for row in found.languages][::8] == [("l10", 10), ("2 others", 3)]
    assert sum(row.share or 0 for row in found.languages) == pytest.approx(1)


def test_a_run_without_counts_has_no_distributions() -> None:
    assert distributions("", None) is None
    assert distributions("", Manifest("filter", "k", "i", (), {})) is None
