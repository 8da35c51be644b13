"""Flipping any comparison of the filter's judgement makes one of its tests fail."""

from pathlib import Path
from types import ModuleType

import pytest

from curation import filtering, pareto
from tests.mutants import checks, mutants, notices, standing_in

HERE = Path(__file__).parent
# flips that change nothing: no float64 lies exactly on the bound of doubt
SAME = {("np.abs(floating % 1 - 0.5) < _DOUBT", "np.abs(floating % 1 - 0.5) <= _DOUBT")}


@pytest.mark.parametrize("module", [filtering, pareto], ids=lambda module: module.__name__)
def test_flipping_any_comparison_makes_a_test_fail(module: ModuleType) -> None:
    """AT-23."""
    tests = HERE / f"test_{module.__name__.rpartition('.')[2]}.py"
    assert not any(notices(check) for check in checks(tests))
    survivors = []
    flipped = 0
    for mutant in mutants(module):
        with standing_in(module.__name__, mutant.module):
            flipped += 1
            if not any(notices(check) for check in checks(tests)):
                survivors.append((mutant.before, mutant.after))
    assert flipped >= 6
    assert set(survivors) <= SAME
