"""What reading shards can raise, for consumers that import nothing of `curation` but the shards."""

from curation.errors import CurationError, InfrastructureError, IntegrityError, RecipeError

__all__ = ["CurationError", "InfrastructureError", "IntegrityError", "RecipeError"]
