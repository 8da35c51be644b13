"""The errors a user can meet, one class per exit code.

Each message says what happened, where, what it means, and the next command to type. No message quotes a document.
"""

from typing import ClassVar


class CurationError(Exception):
    """The root of everything this project raises on purpose."""

    exit_code: ClassVar[int] = 5


class RecipeError(CurationError):
    """The recipe or the command line asks for something that cannot be done."""

    exit_code = 2


class DataBudgetError(CurationError):
    """The data crossed a limit that the recipe set: too much quarantined, too much removed."""

    exit_code = 3


class IntegrityError(CurationError):
    """A committed file changed, two runs of one key disagree, or a ledger does not balance."""

    exit_code = 4


class InfrastructureError(CurationError):
    """The machine, the store or the cluster failed; the data is as it was."""

    exit_code = 5
