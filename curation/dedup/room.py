"""The arrays behind a walk: how they begin, and how they grow when a row finds no room."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.dedup.kernels import Integers, chosen
from curation.dedup.kernels import layout as at

_FIRST_MEMBERS = 1 << 10
_FIRST_HASHES = 1 << 18  # 2 MiB of sets
_FIRST_PAIRS = 1 << 14
_FIRST_DECISIONS = 1 << 14


def empty_state(bands: int, threshold_ppm: int, cap: int) -> at.State:
    """Return the state before the first row: no component is open."""
    counts = np.zeros(at.COUNTS, np.int64)
    counts[at.COMPONENT] = at.NONE
    members = at.Members(
        doc_ids=np.empty(_FIRST_MEMBERS, np.int64),
        flags=np.empty(_FIRST_MEMBERS, np.uint8),
        offsets=np.zeros(_FIRST_MEMBERS + 1, np.int64),
        hashes=np.empty(_FIRST_HASHES, np.uint64),
        parents=np.empty(_FIRST_MEMBERS, np.int64),
    )
    return at.State(
        members,
        _table(_FIRST_MEMBERS * bands),
        _decisions(_FIRST_DECISIONS),
        _pairs(_FIRST_PAIRS),
        counts,
        threshold_ppm,
        cap,
    )


def with_room(state: at.State, batch: at.Batch | None = None, row: int = 0) -> at.State:
    """Return the state with room for every member's decision, and for one more row if one is given.

    Decisions and pairs must have been drained. What was full at least doubles, so that growing costs little in all.
    """
    counts = state.counts
    held = int(counts[at.MEMBERS])
    if held + 1 > state.decided.doc_ids.size:
        state = state._replace(decided=_decisions(2 * held + 1))
    if batch is None:
        return state
    bands = batch.bands.shape[1]
    size = int(batch.offsets[row + 1] - batch.offsets[row])
    if min(held, bands * state.cap) > state.pairs.doc_ids.size:
        state = state._replace(pairs=_pairs(2 * held))
    if counts[at.BUCKETS] + bands > state.buckets.used.size or counts[at.ENTRIES] + bands > len(state.buckets.entries):
        state = state._replace(buckets=_grown(state.buckets, counts))
    return state._replace(members=_members_with_room(state.members, held, size))


def _members_with_room(members: at.Members, held: int, size: int) -> at.Members:
    taken = int(members.offsets[held])
    if taken + size > members.hashes.size:
        hashes = np.empty(2 * members.hashes.size + size, np.uint64)
        hashes[:taken] = members.hashes[:taken]
        members = members._replace(hashes=hashes)
    if held < members.doc_ids.size:
        return members
    return members._replace(
        doc_ids=_doubled(members.doc_ids),
        flags=_doubled(members.flags),
        offsets=_doubled(members.offsets),
        parents=_doubled(members.parents),
    )


def _grown(old: at.Buckets, counts: Integers) -> at.Buckets:
    """Return a table twice as large with the same lists."""
    new = _table(2 * len(old.entries))
    chosen().rehash(old, new, int(counts[at.BUCKETS]))
    new.entries[: counts[at.ENTRIES]] = old.entries[: counts[at.ENTRIES]]
    return new


def _table(entries: int) -> at.Buckets:
    """Return an empty table for this many entries, in the worst case each of a band key of its own: half full then."""
    slots = 1 << (2 * entries - 1).bit_length()
    return at.Buckets(
        keys=np.zeros(slots, np.uint64),
        lists=np.empty((slots, 3), np.int64),
        used=np.empty(entries, np.int64),
        entries=np.empty((entries, 2), np.int64),
    )


def _decisions(size: int) -> at.Decided:
    return at.Decided(
        np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.uint8)
    )


def _pairs(size: int) -> at.Compared:
    return at.Compared(
        np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.bool_)
    )


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([array, np.empty_like(array)])
