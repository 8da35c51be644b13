"""Quarantine: a record's failure is one row without content, a machine's failure is none, budgets stop the run."""

from typing import Any

import pytest

from curation.errors import DataBudgetError, InfrastructureError
from curation.quarantine import BUDGET_FROM_UNITS, check_budgets, guarded
from curation.reasons import Quarantine
from curation.sources.units import BadUnit, Record, UnitError

SECRET = "the SECRET text of a document"
RECORD = Record(ordinal=7, member="a.txt", offset=100, raw_bytes=40, content=SECRET)


def failing(error: BaseException) -> Any:
    def make(record: Record) -> str:
        raise error

    return make


def test_what_can_be_made_is_returned():
    assert guarded(lambda record: len(record.content), RECORD) == len(SECRET)


@pytest.mark.parametrize(
    ("error", "reason", "detail"),
    [
        (UnitError("decode", "invalid_utf8"), "decode", "invalid_utf8"),
        (ValueError(f"cannot parse {SECRET!r}"), "crash", "ValueError"),
        (RecursionError(), "crash", "RecursionError"),
        (UnicodeEncodeError("utf-8", SECRET, 0, 1, "surrogates"), "crash", "UnicodeEncodeError"),
        (MemoryError(), "too_large", "out_of_memory"),
    ],
)
def test_a_record_that_fails_is_one_row_without_its_content(error, reason, detail):
    bad = guarded(failing(error), RECORD)
    assert isinstance(bad, BadUnit)
    assert (bad.error, bad.detail) == (reason, detail)
    assert bad.error in {known.value for known in Quarantine}
    assert (bad.ordinal, bad.member, bad.offset, bad.raw_bytes) == (7, "a.txt", 100, 40)
    assert "SECRET" not in repr(bad)


@pytest.mark.parametrize(
    "error", [InfrastructureError("no space left"), ModuleNotFoundError("trafilatura"), KeyboardInterrupt()]
)
def test_what_is_wrong_with_the_machine_is_no_records_fault(error):
    with pytest.raises(type(error)):
        guarded(failing(error), RECORD)


def worst(source):
    return [(f"{source}/a.jsonl", 25), (f"{source}/b.jsonl", 5)]


@pytest.mark.parametrize(
    ("bad", "units", "stops"),
    [
        (10, BUDGET_FROM_UNITS, False),
        (11, BUDGET_FROM_UNITS, True),
        (999, BUDGET_FROM_UNITS - 1, False),
        (0, 0, False),
        (200_000_000, 10_000_000_000, True),
    ],
)
def test_a_budget_holds_from_a_thousand_units_on(bad, units, stops):
    if not stops:
        check_budgets({"web": (bad, units)}, {"web": 0.01}, worst)
        return
    with pytest.raises(DataBudgetError, match=r"web: .* units quarantined = .*, the budget is 1\.00%"):
        check_budgets({"web": (bad, units)}, {"web": 0.01}, worst)


def test_every_source_over_its_budget_is_named_and_no_other():
    counts = {"web": (100, 1000), "wiki": (5, 1000), "books": (30, 1000)}
    with pytest.raises(DataBudgetError) as caught:
        check_budgets(counts, {"web": 0.05, "wiki": 0.01, "books": 0.02}, worst)
    assert "web: 100 of 1,000 units quarantined = 10.00%" in str(caught.value)
    assert "books: 30 of 1,000" in str(caught.value)
    assert "wiki" not in str(caught.value)


def test_the_files_with_most_of_it_are_named():
    with pytest.raises(DataBudgetError, match=r"most of them in web/a\.jsonl \(25\), web/b\.jsonl \(5\)"):
        check_budgets({"web": (30, 1000)}, {"web": 0.01}, worst)
