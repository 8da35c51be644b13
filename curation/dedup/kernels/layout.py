"""The arrays that the walk over a component works on, and the numbers that name their bits and columns.

They lie apart from `walks` so that filling and reading them needs no compiler.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.dedup.kernels import Flags, Hashes, Integers

REFERENCE, CAPPED, DROPPED, BY_REFERENCE, SETTLED = 1, 2, 4, 8, 16  # bits of the flags of rows, members and decisions
COMPONENT, MEMBERS, BUCKETS, ENTRIES, DECIDED, PAIRS, COMPARED, OVERFLOWED, COUNTS = range(9)  # places in State.counts
NONE = -1  # no document, no member, no similarity


class Batch(NamedTuple):
    """Rows in (component, rank) order; row r's sorted set is hashes[offsets[r]:offsets[r + 1]]."""

    components: Integers
    doc_ids: Integers
    bands: Hashes  # (rows, bands)
    hashes: Hashes
    offsets: Integers
    flags: Flags


class Members(NamedTuple):
    """Documents of the open component that later rows may be compared with, numbered in rank order."""

    doc_ids: Integers
    flags: Flags
    offsets: Integers  # one more than members: their sets lie end to end
    hashes: Hashes
    parents: Integers  # the forest of verified pairs; the root of a tree is its best-ranked member


class Buckets(NamedTuple):
    """A hash table of band keys, linear probing, and the linked lists of members that share one, best rank first."""

    keys: Hashes  # a power of two of slots, 0 where free
    lists: Integers  # (slots, 3): first entry, last entry, members, counted beyond the cap too
    used: Integers  # the slots taken, so that emptying the table costs what it held
    entries: Integers  # (entries, 2): member, next entry


class Decided(NamedTuple):
    """Decisions not yet handed on."""

    doc_ids: Integers
    others: Integers
    jaccard_ppm: Integers
    flags: Flags


class Compared(NamedTuple):
    """Comparisons not yet handed on: a row with a member that stands before it."""

    doc_ids: Integers
    others: Integers
    jaccard_ppm: Integers
    accepted: NDArray[np.bool_]


class State(NamedTuple):
    """All of it, with the rule's two numbers."""

    members: Members
    buckets: Buckets
    decided: Decided
    pairs: Compared
    counts: Integers
    threshold_ppm: int
    cap: int
