"""What cannot be used: the boundary that one record's failure does not cross, and the budgets for such records.

A record that fails, however it fails, becomes one quarantine row (where, why, how many bytes) and costs nothing
else. How many of them a source may have before the run stops is the recipe's to say.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from curation.errors import CurationError, DataBudgetError
from curation.reasons import Quarantine
from curation.sources.units import BadUnit, Record, UnitError

BUDGET_FROM_UNITS = 1_000  # below this a fraction says nothing (design, law 7)
_Made = TypeVar("_Made")


def guarded(make: Callable[[Record], _Made], record: Record) -> _Made | BadUnit:
    """Return `make(record)`, or the record as a bad unit if it fails in any way a record can fail.

    What is wrong with the machine is no fault of the record and passes through: our own errors, a missing library.
    """
    try:
        return make(record)
    except UnitError as error:
        return record.as_bad(error.error, error.detail)
    except (CurationError, ImportError):
        raise
    except MemoryError:
        return record.as_bad("too_large", "out_of_memory")
    except Exception as error:  # noqa: BLE001  the quarantine boundary: a library may raise anything on hostile text
        return record.as_bad("crash", type(error).__name__)


def check_budgets(
    quarantined: Mapping[str, tuple[int, int]],
    allowed: Mapping[str, float],
    worst: Callable[[str], Sequence[tuple[str, int]]],
) -> None:
    """Stop the run if a source had to quarantine too much.

    Args:
        quarantined: source -> (quarantined units, all units).
        allowed: source -> largest fraction.
        worst: source -> its files with the most quarantined units, (path, units); asked only of a source over it.

    Raises:
        DataBudgetError: names every source over its budget, its fraction and the budget.
    """
    over = [
        f"{source}: {bad:,} of {units:,} units quarantined = {bad / units:.2%}, the budget is {allowed[source]:.2%}; "
        f"most of them in {', '.join(f'{path} ({count:,})' for path, count in worst(source))}"
        for source, (bad, units) in sorted(quarantined.items())
        if units >= BUDGET_FROM_UNITS and bad > allowed[source] * units
    ]
    if over:
        raise DataBudgetError(
            "; ".join(over) + ". A damaged mirror must not become a small corpus: look at the quarantine table "
            f"({', '.join(reason.value for reason in Quarantine)}), repair the files, or raise max_quarantine_fraction"
        )
