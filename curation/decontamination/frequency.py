"""How many documents an n-gram is found in, and which n-grams are too common to be a leak.

The rule of MT-NLG's tool: an n-gram found in ten or more documents is a common phrase, not a leaked example, and is
spared. Documents count, not occurrences, and counting resumes behind a hit, so that of the overlapping 13-grams of a
long text only every thirteenth is counted. Counts of parts of the corpus add up: the result does not depend on
how files are sharded.
"""

import numpy as np
import pyarrow as pa

from curation.decontamination.index import LONGEST
from curation.decontamination.kernels import Hashes, chosen

KEY_THRESHOLD = 10  # documents from which on an n-gram is spared (MT-NLG's tool)


def document_counts(matches: pa.Table) -> pa.Table:
    """Count, for each n-gram, the documents it is found in, resuming behind each hit.

    Args:
        matches: rows of the matches table in any order; all hits of a document must be among them.

    Returns:
        A table of `ngram` (uint64, sorted, unique) and `documents` (int64).
    """
    doc_ids, ngrams, words, starts, ends = (
        matches[name].to_numpy() for name in ("doc_id", "ngram", "words", "start", "end")
    )
    # At one place the tool looks for the longest n-gram first, then for the shorter ones from the shortest up.
    order = np.lexsort((np.where(words == LONGEST, 0, words), starts, doc_ids))
    counted = order[chosen().resuming(doc_ids[order], starts[order], ends[order])]
    pairs = pa.table({"doc_id": doc_ids[counted], "ngram": ngrams[counted]}).group_by(["doc_id", "ngram"]).aggregate([])
    unique, documents = np.unique(pairs["ngram"].to_numpy(), return_counts=True)
    return pa.table({"ngram": pa.array(unique, pa.uint64()), "documents": pa.array(documents, pa.int64())})


def merge_counts(counts: list[pa.Table]) -> pa.Table:
    """Add up what `document_counts` returned for disjoint sets of documents."""
    together = pa.concat_tables(
        [pa.table({"ngram": pa.array([], pa.uint64()), "documents": pa.array([], pa.int64())}), *counts]
    )
    summed = together.group_by("ngram").aggregate([("documents", "sum")]).sort_by("ngram")
    return pa.table({"ngram": summed["ngram"], "documents": summed["documents_sum"]})


def spared(counts: pa.Table, key_threshold: int = KEY_THRESHOLD) -> Hashes:
    """Return the n-grams that are found in `key_threshold` documents or more, sorted."""
    ngrams = counts["ngram"].to_numpy()[counts["documents"].to_numpy() >= key_threshold]
    return np.sort(ngrams)
