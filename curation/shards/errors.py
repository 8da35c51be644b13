"""What reading shards can raise, for consumers that import nothing of `curation` but the shards."""

from curation.errors import CurationError, DataBudgetError, InfrastructureError, IntegrityError, RecipeError

__all__ = ["CurationError", "DataBudgetError", "InfrastructureError", "IntegrityError", "RecipeError"]
