"""The removal list: documents that somebody asked to be taken out, one name a line."""

import functools
import hashlib

from curation import storage
from curation.errors import RecipeError


@functools.lru_cache(maxsize=1)
def removal_names(url: str, sha256: str) -> frozenset[str]:
    """Return the lines of a removal list: doc_ids, SOURCE:PATH:RECORD or URLs.

    Worker processes outlive a run, and the list may have grown by the next one: it is known by its content too.

    Raises:
        RecipeError: it is no UTF-8, or no longer the file that the run began with.
    """
    data = storage.read_bytes(url)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise RecipeError(f"{url}: the removal list changed during the run; run the same command again")
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError:
        raise RecipeError(f"{url}: the removal list is not UTF-8 text, one name a line") from None
    return frozenset(line.strip() for line in lines if line.strip())
