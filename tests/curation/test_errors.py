"""Errors: one class for each exit code, and every class of ours among them."""

import importlib
import pkgutil

import pytest

import curation
from curation import errors
from curation.errors import CurationError


@pytest.mark.parametrize(
    ("name", "exit_code"),
    [("RecipeError", 2), ("DataBudgetError", 3), ("IntegrityError", 4), ("InfrastructureError", 5)],
)
def test_each_class_has_the_exit_code_that_is_documented(name, exit_code):
    kind = getattr(errors, name)
    assert issubclass(kind, CurationError)
    assert kind.exit_code == exit_code


def test_every_special_error_is_of_a_class_with_an_exit_code():
    for module in pkgutil.walk_packages(curation.__path__, "curation."):
        importlib.import_module(module.name)
    pending = [CurationError]
    while pending:
        kind = pending.pop()
        assert kind.exit_code in (2, 3, 4, 5), kind
        pending += kind.__subclasses__()
