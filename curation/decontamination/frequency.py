"""How many documents an n-gram is found in, and which n-grams are phrases rather than leaks: those are set aside.

`megatron`, the rule of MT-NLG's tool: found in ten documents or more. Documents count, not occurrences, and counting
resumes behind a hit, so that of the overlapping 13-grams of a long text only every thirteenth is counted. `gpt3`: found
in more than ten documents, every hit counted. `none`: none.

Any such rule spares the worst leaks, which are found the most often. So the extended mode sets an n-gram aside only if
no document leaks an example of it (`curation.decontamination.leaks`), however many documents have it.

Counts of parts of the corpus add up: the result does not depend on how files are sharded.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from curation.decontamination.index import LONGEST, Index
from curation.decontamination.kernels import Hashes, chosen
from curation.decontamination.leaks import leaked
from curation.decontamination.settings import Common

FROM_DOCUMENTS = {"megatron": 10, "gpt3": 11}  # "below 10 are kept" (the tool), "more than 10 are ignored" (GPT-3, C)

COUNTS = pa.schema(
    [("ngram", pa.uint64()), ("documents", pa.int64()), ("resuming", pa.int64()), ("leaked", pa.bool_())]
)


def document_counts(matches: pa.Table, index: Index) -> pa.Table:
    """Count, for each n-gram that is found, the documents it is found in.

    Args:
        matches: rows of the matches table in any order; all hits of a document must be among them.

    Returns:
        COUNTS, sorted by n-gram: documents with any hit of it, those where the counting that resumes behind a hit meets
        it, and whether a document leaks an example that has it.
    """
    doc_ids, ngrams, words, starts, ends = (
        matches[name].to_numpy() for name in ("doc_id", "ngram", "words", "start", "end")
    )
    # At one place the tool looks for the longest n-gram first, then for the shorter ones from the shortest up.
    order = np.lexsort((np.where(words == LONGEST, 0, words), starts, doc_ids))
    met = order[chosen().resuming(doc_ids[order], starts[order], ends[order])]
    found, documents = _documents(doc_ids, ngrams)
    met_ngrams, met_documents = _documents(doc_ids[met], ngrams[met])
    resuming = np.zeros(len(found), np.int64)
    resuming[np.searchsorted(found, met_ngrams)] = met_documents
    columns: list[Any] = [found, documents, resuming, np.isin(found, leaked(doc_ids, ngrams, index))]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, COUNTS, strict=True)], schema=COUNTS)


def merge_counts(counts: list[pa.Table]) -> pa.Table:
    """Add up what `document_counts` returned for disjoint sets of documents."""
    together = pa.concat_tables([COUNTS.empty_table(), *counts])
    sums = [("documents", "sum"), ("resuming", "sum"), ("leaked", "any")]
    summed = together.group_by("ngram").aggregate(sums).sort_by("ngram")
    return pa.table([summed["ngram"], *(summed[f"{name}_{how}"] for name, how in sums)], schema=COUNTS)


def set_aside(counts: pa.Table, common: Common, spare_leaks: bool, from_documents: int | None = None) -> Hashes:
    """Return the n-grams that are phrases, sorted.

    Args:
        common: whose rule.
        spare_leaks: whether an n-gram that a document leaks may be set aside, too; not in the extended mode.
        from_documents: from how many documents on, instead of the rule's own number.
    """
    if common == "none":
        return np.zeros(0, np.uint64)
    documents = counts["resuming" if common == "megatron" else "documents"].to_numpy()
    is_phrase = documents >= (from_documents or FROM_DOCUMENTS[common])
    if not spare_leaks:
        is_phrase &= ~counts["leaked"].to_numpy()
    return np.sort(counts["ngram"].to_numpy()[is_phrase])


def _documents(doc_ids: Any, ngrams: Any) -> tuple[Hashes, Any]:
    """Return the distinct n-grams, sorted, and the documents of each."""
    pairs = pa.table({"doc_id": doc_ids, "ngram": ngrams}).group_by(["doc_id", "ngram"]).aggregate([])
    return np.unique(pairs["ngram"].to_numpy(), return_counts=True)
