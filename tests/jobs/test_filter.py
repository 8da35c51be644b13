"""filter without Spark: each rule that the job itself adds, and that flipping any of its comparisons is noticed."""

from collections import Counter
from collections.abc import Callable

import pytest

from curation.commits import Manifest
from curation.identity import coin
from curation.parts import read_table
from jobs import filter as filter_job
from tests.jobs.filter_case import GOAL_TOKENS, SEED, Case, chance, smallest
from tests.mutants import mutants, notices, standing_in

# flips that change nothing: a source with exactly as many documents as it may have keeps them all either way
SAME = {("seen > source.max_documents", "seen >= source.max_documents")}


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("filter"))


@pytest.fixture(scope="module")
def done(case: Case) -> Manifest:
    return case.judged()


def books_lose_what_is_empty_and_what_the_removal_list_names(case: Case, done: Manifest) -> None:
    rows = case.rows(done, "books")
    assert Counter(row["reason"] for row in rows) == {"": 37, "removal_list": 3, "empty": 1}
    assert [row["doc_id"] for row in rows if row["reason"] == "removal_list"] == case.removed


def a_source_keeps_as_many_documents_as_it_may_have_by_coin(case: Case, done: Manifest) -> None:
    for source, reasons in (("capped", {"": 12, "not_sampled": 8}), ("full", {"": 12})):
        rows = case.rows(done, source)
        assert Counter(row["reason"] for row in rows) == reasons
        kept = {row["doc_key"] for row in rows if row["fate"] == "keep"}
        assert kept == smallest([row["doc_key"] for row in rows], 12)


def a_damaged_file_is_given_up_where_the_source_says_so(case: Case, done: Manifest) -> None:
    assert {row["reason"] for row in case.rows(done, "cut")} == {"damaged_file"}
    assert {row["reason"] for row in case.rows(done, "mended")} == {""}


def a_reference_goes_no_further_and_is_not_counted(case: Case, done: Manifest) -> None:
    assert {(row["reason"], row["detail"]) for row in case.rows(done, "old")} == {("not_selected", "reference")}
    counted = {part.facts["source"] for part in done.parts("histograms")}
    assert counted == {"books", "capped", "full", "cut", "mended", "web", "crawl"}


def the_pareto_filter_keeps_by_coin_and_says_what_was_expected(case: Case, done: Manifest) -> None:
    assert set(done.notes["pareto"]) == {"web", "crawl"}
    for source, told in done.notes["pareto"].items():
        rows = [row for row in case.rows(done, source) if row["words"] >= 15]
        chances = [chance(row["quality_ppm"], told["alpha"]) for row in rows]
        coins = [coin(SEED, row["doc_key"], "pareto") for row in rows]
        kept = [row["fate"] == "keep" for row in rows]
        assert kept == [toss < p for toss, p in zip(coins, chances, strict=True)]
        assert (told["judged"], told["kept"]) == (len(rows), sum(kept))
        assert told["expected_billionths"] / 1e9 == pytest.approx(sum(chances), abs=1e-5)
    assert done.notes["pareto"]["crawl"]["alpha"] == 2.0
    assert [row["reason"] for row in case.rows(done, "crawl") if row["words"] < 15] == ["length"]


def alpha_is_solved_on_what_passes_and_survives_dedup(case: Case, done: Manifest) -> None:
    assert set(done.notes["alpha"]) == {"web"}
    solved, rows = done.notes["alpha"]["web"], case.rows(done, "web")
    assert solved["survival"] == {"web": 0.5}
    assert solved["tokens"] == pytest.approx(sum(row["text_bytes"] for row in rows) / 4 * 0.5, abs=1)
    assert solved["expected_tokens"] == pytest.approx(GOAL_TOKENS, rel=0.01)
    kept = sum(row["text_bytes"] for row in rows if row["fate"] == "keep")
    assert solved["reached_tokens"] == round(kept / 4 * 0.5)


def histograms_are_of_all_documents_and_scores(case: Case, done: Manifest) -> None:
    for source in ("books", "web"):
        [part] = [part for part in done.parts("histograms") if part.facts["source"] == source]
        table = read_table(str(case.root / "work"), part).to_pylist()
        rows = case.rows(done, source)
        for column in ("tokens_estimated", "quality_ppm", "language"):
            own = [row for row in table if row["column"] == column]
            assert sum(row["documents"] for row in own) == len(rows)
            assert sum(row["kept"] for row in own) == sum(row["fate"] == "keep" for row in rows)


CHECKS: tuple[Callable[[Case, Manifest], None], ...] = (
    books_lose_what_is_empty_and_what_the_removal_list_names,
    a_source_keeps_as_many_documents_as_it_may_have_by_coin,
    a_damaged_file_is_given_up_where_the_source_says_so,
    a_reference_goes_no_further_and_is_not_counted,
    the_pareto_filter_keeps_by_coin_and_says_what_was_expected,
    alpha_is_solved_on_what_passes_and_survives_dedup,
    histograms_are_of_all_documents_and_scores,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_filter(check: Callable[[Case, Manifest], None], case: Case, done: Manifest) -> None:
    check(case, done)


def test_flipping_any_comparison_makes_a_check_fail(case: Case) -> None:
    assert not notices(lambda: _all_checks(case, filter_job))
    survivors = []
    flipped = 0
    for mutant in mutants(filter_job):
        with standing_in("jobs.filter", mutant.module):
            flipped += 1
            if not notices(lambda module=mutant.module: _all_checks(case, module)):  # type: ignore[misc]
                survivors.append((mutant.before, mutant.after))
    assert flipped >= 20
    assert set(survivors) <= SAME


def _all_checks(case: Case, module: object) -> None:
    done = case.judged(module)  # type: ignore[arg-type]
    for check in CHECKS:
        check(case, done)
