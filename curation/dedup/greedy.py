"""Who stays: exact Jaccard among the documents of a candidate component, in rank order, in one pass.

Greedy: a row is dropped by the first kept row before it that shares a band with it and is similar enough, best rank
first; otherwise it is kept. Component: rows that share a band and are similar enough are connected, and the first of
each connected group is kept. Rows that share no band are never compared. Similarity is decided on integers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.dedup.buffers import own
from curation.dedup.kernels import Hashes, Integers, chosen
from curation.dedup.kernels import layout as at
from curation.dedup.room import Room

MAX_KEPT_PER_BAND = 1024  # no ordinary corpus had as many kept documents in one bucket; templates had 2,809 walks cut
SPILL_BYTES = 256 << 20  # of one array of a walk; a component that needs more is worked off from disk


@dataclass(frozen=True, slots=True)
class Rows:
    """Candidate documents sorted by (component, rank), with everything that decides about them.

    Row r's set is hashes[offsets[r]:offsets[r + 1]], sorted and distinct. `bands` is uint64[rows, bands]. A component
    is never negative. A reference is kept whatever it resembles; like all rows it can drop only rows that follow it.
    So is a settled row, which an earlier run has kept.
    """

    components: Integers
    doc_ids: Integers
    bands: Hashes
    hashes: Hashes
    offsets: Integers
    capped: NDArray[np.bool_]
    reference: NDArray[np.bool_]
    settled: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True)
class Decisions:
    """What became of rows, in the order in which they were fed.

    `others` is the kept document a dropped one names, `jaccard_ppm` their similarity in millionths, rounded down; both
    are -1 where a row is kept. `capped` says that a set of either was a sample of the smallest hashes.
    """

    doc_ids: Integers
    dropped: NDArray[np.bool_]
    by_reference: NDArray[np.bool_]
    others: Integers
    jaccard_ppm: Integers
    capped: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Compared pairs: a row, the row before it in rank that it was compared with, and what came of it."""

    doc_ids: Integers
    others: Integers
    jaccard_ppm: Integers
    accepted: NDArray[np.bool_]


class Walk(ABC):
    """One rule of removal, fed with rows in batches whose boundaries change nothing.

    `threshold_ppm` is the similarity, in millionths, from which on two documents are duplicates. Of a bucket at most
    `max_kept_per_band` members are walked, the best in rank. `record_pairs` is for evidence and tests. `room` says
    from which size on members lie on disk.
    """

    def __init__(
        self,
        threshold_ppm: int,
        *,
        max_kept_per_band: int = MAX_KEPT_PER_BAND,
        record_pairs: bool = False,
        room: Room | None = None,
    ) -> None:
        self._rule = (threshold_ppm, max_kept_per_band)
        self._room = room or Room(SPILL_BYTES)
        self._record_pairs = record_pairs
        self._state: at.State | None = None
        self._pairs: list[at.Compared] = []

    @abstractmethod
    def feed(self, rows: Rows) -> Decisions:
        """Take the next rows and return the decisions that have become final.

        Raises:
            ValueError: a component comes after a higher one; the rows are not sorted.
        """

    @abstractmethod
    def finish(self) -> Decisions:
        """Return the decisions that waited for the end of the last component; nothing may be fed after it."""

    @property
    def compared(self) -> int:
        """Pairs compared so far."""
        return self._count(at.COMPARED)

    @property
    def overflowed(self) -> int:
        """How often a bucket held more members than were walked, so that a duplicate may have been missed."""
        return self._count(at.OVERFLOWED)

    def take_pairs(self) -> Pairs:
        """Return the pairs compared since the last call; none unless they are recorded."""
        taken, self._pairs = self._pairs, []
        return Pairs(*_joined([_no_pairs(), *taken]))

    def _advance(self, rows: Rows, kernel: Callable[[at.Batch, int, at.State], int]) -> Decisions:
        """Let a kernel run over the rows, giving it more room wherever it stops."""
        batch = _batch(rows)
        state = self._room.empty_state(batch.bands.shape[1], *self._rule) if self._state is None else self._state
        _check_order(batch.components, int(state.counts[at.COMPONENT]))
        decided, row = [_nothing_decided()], 0
        while row < batch.doc_ids.size:
            row = kernel(batch, row, state)
            decided.append(self._drain(state))
            if row < batch.doc_ids.size:
                state = self._room.enlarged(state, batch, row)
        self._state = state
        self._room.release(state)
        return _decisions(at.Decided(*_joined(decided)))

    def _drain(self, state: at.State) -> at.Decided:
        """Take what was decided and compared since the last time."""
        if self._record_pairs:
            self._pairs.append(at.Compared(*_heads(state.pairs, state.counts[at.PAIRS])))
        decided = at.Decided(*_heads(state.decided, state.counts[at.DECIDED]))
        state.counts[at.PAIRS] = state.counts[at.DECIDED] = 0
        return decided

    def _count(self, which: int) -> int:
        return 0 if self._state is None else int(self._state.counts[which])


class GreedyWalk(Walk):
    """removal = "greedy": a row is dropped if and only if a kept row before it is verified to be its duplicate.

    Later rows change nothing about earlier ones, so every decision is final when its row has been fed, and the state
    is what the open component keeps.
    """

    def feed(self, rows: Rows) -> Decisions:
        return self._advance(rows, chosen().greedy_walk)

    def finish(self) -> Decisions:
        return _decisions(_nothing_decided())


class ComponentWalk(Walk):
    """removal = "component" (the paper): the first row of each group connected by verified pairs is kept.

    A dropped row names the kept one of its group with their exact similarity, which may lie below the threshold. Which
    group a row belongs to is known when its component ends, so the state is all rows of the open component, and rows
    come out when the next component begins.
    """

    def feed(self, rows: Rows) -> Decisions:
        return self._advance(rows, chosen().component_walk)

    def finish(self) -> Decisions:
        if self._state is None:
            return _decisions(_nothing_decided())
        self._state = self._room.enlarged(self._state)
        chosen().close_component(self._state)
        return _decisions(self._drain(self._state))


def _batch(rows: Rows) -> at.Batch:
    """Return the rows as the kernels want them; arrays that are views of Arrow buffers become their own."""
    flags = rows.reference * np.uint8(at.REFERENCE) | rows.capped * np.uint8(at.CAPPED)
    if rows.settled is not None:
        flags |= rows.settled * np.uint8(at.SETTLED)
    return at.Batch(
        own(rows.components, np.int64),
        own(rows.doc_ids, np.int64),
        own(rows.bands, np.uint64),
        own(rows.hashes, np.uint64),
        own(rows.offsets, np.int64),
        flags,
    )


def _check_order(components: Integers, last: int) -> None:
    if (np.diff(components, prepend=last) < 0).any():
        raise ValueError("rows must come in ascending order of component; the sort before the walk is missing")


def _decisions(decided: at.Decided) -> Decisions:
    return Decisions(
        doc_ids=decided.doc_ids,
        dropped=decided.flags & at.DROPPED != 0,
        by_reference=decided.flags & at.BY_REFERENCE != 0,
        others=decided.others,
        jaccard_ppm=decided.jaccard_ppm,
        capped=decided.flags & at.CAPPED != 0,
    )


def _heads(columns: Sequence[NDArray[Any]], size: int) -> Iterator[NDArray[Any]]:
    """Return copies of the first `size` elements of every column."""
    return (column[:size].copy() for column in columns)


def _joined(parts: Sequence[tuple[NDArray[Any], ...]]) -> Iterator[NDArray[Any]]:
    """Return the columns of several parts end to end."""
    return map(np.concatenate, zip(*parts, strict=True))


def _nothing_decided() -> at.Decided:
    none = np.empty(0, np.int64)
    return at.Decided(none, none, none, np.empty(0, np.uint8))


def _no_pairs() -> at.Compared:
    none = np.empty(0, np.int64)
    return at.Compared(none, none, none, np.empty(0, np.bool_))
