"""An alarm for clusters too large to be true: most corpora that deduplication emptied were lost in one cluster."""

from collections.abc import Sequence

import numpy as np

from curation.errors import DataBudgetError
from curation.parts import Part, read_table

_NO_DOCUMENT = -1


def largest_cluster(root: str, verdicts: Sequence[Part]) -> tuple[int, int]:
    """Return (doc_id, documents) of the kept document that most were dropped for, itself included; (-1, 0): none.

    Documents of references are not judged, and copies in later generations not counted, as in `cluster_size`.
    """
    found = (_NO_DOCUMENT, 0)
    for part in verdicts:
        table = read_table(root, part, ["doc_id", "fate", "value"])
        sizes = np.where(table["fate"].to_numpy() == "keep", table["value"].to_numpy(), 0)
        if sizes.size and int(sizes.max()) > found[1]:
            found = (int(table["doc_id"].to_numpy()[sizes.argmax()]), int(sizes.max()))
    return found


def check_largest_cluster(doc_id: int, size: int, received: int, largest_share: float | None) -> None:
    """Stop the run if one cluster holds more of all documents than the recipe allows. Raises DataBudgetError."""
    if largest_share is not None and size > max(1.0, largest_share * received):
        raise DataBudgetError(
            f"dedup found a cluster of {size:,} documents around document {doc_id}, {size / received:.1%} of the "
            f"{received:,} it received, and dedup.max_cluster_share allows {largest_share:.1%}. Nothing was committed: "
            "look at that document, then filter such texts, correct the rule or raise the guard"
        )
