"""The documents nearest to a threshold."""

from pathlib import Path

import pytest

from curation.errors import RecipeError
from curation.lookup import open_folder
from curation.nearest import nearest
from tests.workfolder import make_work_folder


def test_both_sides_are_listed_with_the_nearest_first(tmp_path: Path) -> None:
    folder = open_folder(make_work_folder(tmp_path / "work").root)
    [up_to, above] = nearest(folder, "characters", 300, 4)
    assert [row.value for row in up_to] == sorted((row.value for row in up_to), reverse=True)
    assert [row.value for row in above] == sorted(row.value for row in above)
    assert all(row.value <= 300 for row in up_to)
    assert all(row.value > 300 for row in above)
    assert len(nearest(folder, "characters", 300, 1)[1]) == 1
    assert {row.source for side in nearest(folder, "words", 50, 99, "wiki") for row in side} == {"wiki"}


def test_an_unknown_signal_is_an_error_that_names_the_nearest(tmp_path: Path) -> None:
    folder = open_folder(make_work_folder(tmp_path / "work").root)
    with pytest.raises(RecipeError, match="did you mean characters"):
        nearest(folder, "charakters", 300, 4)
