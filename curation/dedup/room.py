"""The arrays behind a walk: how they begin, how they grow when a row finds no room, and when they spill to disk.

An array that grows beyond its share of memory lies in a file without a name from then on, mapped. What is not in use is
given back after every batch, so that a component of any size passes; the kernels see an array like any other.
"""

import mmap
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.dedup.kernels import Integers, chosen
from curation.dedup.kernels import layout as at

_FIRST_MEMBERS = 1 << 10
_FIRST_HASHES = 1 << 18  # 2 MiB of sets
_FIRST_PAIRS = 1 << 14
_FIRST_DECISIONS = 1 << 14
_COPIED_BYTES = 32 << 20  # of an array moved at once


@dataclass(frozen=True)
class Room:
    """Where the arrays of a walk lie: in memory up to `spill_bytes` each, in files of `folder` beyond.

    `folder` is the machine's folder for temporary files unless given. Nothing that is decided depends on either.
    """

    spill_bytes: int
    folder: str | None = None

    def empty_state(self, bands: int, threshold_ppm: int, cap: int) -> at.State:
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
        table = self._table(_FIRST_MEMBERS * bands)
        decided, pairs = _decisions(_FIRST_DECISIONS), _pairs(_FIRST_PAIRS)
        return at.State(members, table, decided, pairs, counts, threshold_ppm, cap)

    def enlarged(self, state: at.State, batch: at.Batch | None = None, row: int = 0) -> at.State:
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
        full = counts[at.BUCKETS] + bands > state.buckets.used.size
        if full or counts[at.ENTRIES] + bands > len(state.buckets.entries):
            state = state._replace(buckets=self._grown(state.buckets, counts))
        return state._replace(members=self._members_with_room(state.members, held, size))

    def release(self, state: at.State) -> None:
        """Give back the memory behind what is spilled; it is read again from the files where it is wanted."""
        for array in (*state.members, *state.buckets):
            _give_back(array)

    def _members_with_room(self, members: at.Members, held: int, size: int) -> at.Members:
        taken = int(members.offsets[held])
        if taken + size > members.hashes.size:
            hashes = self._array(2 * members.hashes.size + size, np.uint64)
            _copy(members.hashes, hashes, taken)
            members = members._replace(hashes=hashes)
        if held < members.doc_ids.size:
            return members
        return members._replace(
            doc_ids=self._doubled(members.doc_ids),
            flags=self._doubled(members.flags),
            offsets=self._doubled(members.offsets),
            parents=self._doubled(members.parents),
        )

    def _grown(self, old: at.Buckets, counts: Integers) -> at.Buckets:
        """Return a table twice as large with the same lists."""
        new = self._table(2 * len(old.entries))
        chosen().rehash(old, new, int(counts[at.BUCKETS]))
        _copy(old.entries, new.entries, int(counts[at.ENTRIES]))
        return new

    def _table(self, entries: int) -> at.Buckets:
        """Return an empty table for this many entries, in the worst case each of a key of its own: half full then."""
        slots = 1 << (2 * entries - 1).bit_length()
        return at.Buckets(
            keys=self._array(slots, np.uint64, zero=True),
            lists=self._array(slots * 3, np.int64).reshape(slots, 3),
            used=self._array(entries, np.int64),
            entries=self._array(entries * 2, np.int64).reshape(entries, 2),
        )

    def _array(self, size: int, dtype: Any, *, zero: bool = False) -> NDArray[Any]:
        if size * np.dtype(dtype).itemsize <= self.spill_bytes:
            return np.zeros(size, dtype) if zero else np.empty(size, dtype)
        with tempfile.TemporaryFile(dir=self.folder) as file:  # the mapping outlives the descriptor, and is all zeros
            return np.asarray(np.memmap(file, dtype, "w+", shape=(size,)))

    def _doubled(self, array: NDArray[Any]) -> NDArray[Any]:
        new = self._array(2 * array.size, array.dtype)
        _copy(array, new, array.size)
        return new


def _copy(old: NDArray[Any], new: NDArray[Any], size: int) -> None:
    """Copy the first elements piece by piece, giving back what is behind."""
    step = max(1, _COPIED_BYTES // old[:1].nbytes) if size else 1
    for start in range(0, size, step):
        new[start : min(start + step, size)] = old[start : min(start + step, size)]
        _give_back(old)
        _give_back(new)


def _give_back(array: NDArray[Any]) -> None:
    owner: Any = array
    while type(owner) is np.ndarray and owner.base is not None:
        owner = owner.base
    mapping = getattr(owner, "_mmap", None)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)  # a shared mapping: what was written stays in its file


def _decisions(size: int) -> at.Decided:
    return at.Decided(
        np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.uint8)
    )


def _pairs(size: int) -> at.Compared:
    return at.Compared(
        np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.bool_)
    )
