"""Which n-grams a document leaks: it holds so much of one example that no phrase in common explains it.

A document leaks an example if it holds three or more of the example's n-grams, or at least half of them. A text of 8 to
13 words is one n-gram, so whoever has it leaks it.
"""

import numpy as np

from curation.decontamination.index import Index
from curation.decontamination.kernels import Hashes, Offsets

MANY = 3  # n-grams of one example in one document


def leaked(doc_ids: Offsets, ngrams: Hashes, index: Index) -> Hashes:
    """Return the n-grams, sorted, that belong to an example some document leaks and are found in that document.

    Args:
        doc_ids, ngrams: the hits, in any order; all those of a document must be among them.
    """
    numbers = np.unique(doc_ids, return_inverse=True)[1].astype(np.int64)
    pairs = np.unique(numbers * max(1, len(index.ngrams)) + index.positions(ngrams))
    documents, positions = np.divmod(pairs, max(1, len(index.ngrams)))
    owners = np.diff(index.posting_offsets)[positions]
    which = np.repeat(np.arange(len(pairs)), owners)
    first = index.posting_offsets[positions] - (np.cumsum(owners) - owners)
    examples = index.postings[np.repeat(first, owners) + np.arange(len(which))].astype(np.int64)
    keys = documents[which] * max(1, len(index.example_tasks)) + examples
    _, inverse, held = np.unique(keys, return_inverse=True, return_counts=True)
    held = held[inverse]
    sizes = np.bincount(index.postings, minlength=len(index.example_tasks))[examples]
    leaks = (held >= MANY) | (2 * held >= sizes)
    return np.unique(index.ngrams[positions[which[leaks]]])
