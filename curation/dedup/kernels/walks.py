"""The decision among the documents of one candidate component, row by row in rank order.

Members are the documents that later rows may be compared with: the kept ones under the greedy rule, all of them under
the component rule. A walk stops before a row that finds no room in some array; the caller enlarges what is short and
calls again with that row.
"""

import numpy as np

from curation.dedup.kernels import Hashes, Integers, inner_loop, loop
from curation.dedup.kernels.layout import Batch, Buckets, Members, State

MILLION = 1_000_000
FREE_SLOT = NO_BUCKET = np.uint64(0)  # the band key of a document without shingles
NO_LIMIT = np.uint64(0xFFFFFFFFFFFFFFFF)
NONE = -1
REFERENCE, CAPPED, DROPPED, BY_REFERENCE, SETTLED = (
    1,
    2,
    4,
    8,
    16,
)  # as in `layout`; see `kernels` for why they stand here again
COMPONENT, MEMBERS, BUCKETS, ENTRIES, DECIDED, PAIRS, COMPARED, OVERFLOWED = range(8)
FIRST, LAST, LENGTH = range(3)  # columns of Buckets.lists
MEMBER, NEXT = range(2)  # columns of Buckets.entries


@inner_loop
def _overlap(a: Hashes, b: Hashes) -> tuple[int, int]:
    """Return how many hashes two sorted sets share, and how many there are in either."""
    i = j = shared = 0
    while i < a.size and j < b.size:
        x, y = a[i], b[j]
        shared += x == y
        i += x <= y
        j += y <= x
    return shared, a.size + b.size - shared


@inner_loop
def _up_to(hashes: Hashes, limit: np.uint64) -> int:
    """Return how many of the sorted hashes are at most `limit`."""
    low, high = 0, hashes.size
    while low < high:
        middle = (low + high) // 2
        if hashes[middle] <= limit:
            low = middle + 1
        else:
            high = middle
    return low


@inner_loop
def _compare(a: Hashes, b: Hashes, a_capped: bool, b_capped: bool) -> tuple[int, int]:
    """Return (intersection, union) of two sets.

    A capped set holds the smallest hashes of a larger one and says nothing beyond its last. Then both are compared
    only as far as both are known: the exact ratio in a random sample of the union.
    """
    limit = NO_LIMIT
    if a_capped and a.size > 0:
        limit = a[a.size - 1]
    if b_capped and b.size > 0:
        limit = min(limit, b[b.size - 1])
    if limit == NO_LIMIT:
        return _overlap(a, b)
    return _overlap(a[: _up_to(a, limit)], b[: _up_to(b, limit)])


@inner_loop
def _slot_of(key: np.uint64, keys: Hashes) -> int:
    """Return the slot of a band key, or the free one where it belongs; band keys are well mixed as they are."""
    mask = keys.size - 1
    slot = int(np.int64(key & np.uint64(mask)))
    while keys[slot] != FREE_SLOT and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@inner_loop
def _open_lists(bands: Hashes, cursors: Integers, state: State) -> None:
    """Put a cursor on the best member of each of the row's buckets; count the buckets that hold more than the cap."""
    buckets = state.buckets
    for band in range(bands.size):
        cursors[band] = NONE
        slot = _slot_of(bands[band], buckets.keys)
        if buckets.keys[slot] != FREE_SLOT:
            cursors[band] = buckets.lists[slot, FIRST]
            state.counts[OVERFLOWED] += buckets.lists[slot, LENGTH] > state.cap


@inner_loop
def _next_member(cursors: Integers, entries: Integers) -> int:
    """Return the best-ranked member under the cursors and move on those that stand on it; NONE when all are through."""
    best = NONE
    for band in range(cursors.size):
        if cursors[band] != NONE:
            member = entries[cursors[band], MEMBER]
            if best == NONE or member < best:
                best = member
    if best != NONE:
        for band in range(cursors.size):
            if cursors[band] != NONE and entries[cursors[band], MEMBER] == best:
                cursors[band] = entries[cursors[band], NEXT]
    return best


@inner_loop
def _slot_for(key: np.uint64, buckets: Buckets, counts: Integers) -> int:
    """Return the slot of a band key, opening an empty list where the key is new."""
    slot = _slot_of(key, buckets.keys)
    if buckets.keys[slot] == FREE_SLOT:
        buckets.keys[slot] = key
        buckets.lists[slot, FIRST] = buckets.lists[slot, LAST] = NONE
        buckets.lists[slot, LENGTH] = 0
        buckets.used[counts[BUCKETS]] = slot
        counts[BUCKETS] += 1
    return slot


@inner_loop
def _put_in_bucket(key: np.uint64, member: int, buckets: Buckets, counts: Integers, cap: int) -> None:
    """Append a member to the list of a band key, unless the list is as long as anybody will walk."""
    slot = _slot_for(key, buckets, counts)
    buckets.lists[slot, LENGTH] += 1
    if buckets.lists[slot, LENGTH] > cap:
        return
    entry = counts[ENTRIES]
    counts[ENTRIES] += 1
    buckets.entries[entry, MEMBER] = member
    buckets.entries[entry, NEXT] = NONE
    if buckets.lists[slot, FIRST] == NONE:
        buckets.lists[slot, FIRST] = entry
    else:
        buckets.entries[buckets.lists[slot, LAST], NEXT] = entry
    buckets.lists[slot, LAST] = entry


@inner_loop
def _add_member(batch: Batch, row: int, state: State) -> int:
    """Make a row a member, and return its number."""
    members = state.members
    member = state.counts[MEMBERS]
    state.counts[MEMBERS] += 1
    members.doc_ids[member] = batch.doc_ids[row]
    members.flags[member] = batch.flags[row]
    members.parents[member] = member
    hashes = batch.hashes[batch.offsets[row] : batch.offsets[row + 1]]
    members.offsets[member + 1] = members.offsets[member] + hashes.size
    own = _set_of(members, member)
    for i in range(hashes.size):  # assigning the slice would cost half a second of compiling
        own[i] = hashes[i]
    for band in range(batch.bands.shape[1]):
        if batch.bands[row, band] != NO_BUCKET:
            _put_in_bucket(batch.bands[row, band], member, state.buckets, state.counts, state.cap)
    return int(member)


@inner_loop
def _has_room(batch: Batch, row: int, state: State) -> bool:
    """Say whether a row can be compared, decided and made a member without running over the end of any array."""
    members, buckets, counts = state.members, state.buckets, state.counts
    held, bands = counts[MEMBERS], batch.bands.shape[1]
    return bool(
        held < members.doc_ids.size
        and members.offsets[held] + batch.offsets[row + 1] - batch.offsets[row] <= members.hashes.size
        and counts[ENTRIES] + bands <= buckets.entries.shape[0]
        and counts[BUCKETS] + bands <= buckets.used.size
        and counts[DECIDED] < state.decided.doc_ids.size
        and counts[PAIRS] + min(held, bands * state.cap) <= state.pairs.doc_ids.size
    )


@inner_loop
def _forget(state: State) -> None:
    """Empty the state; what members and entries held is written over."""
    buckets, counts = state.buckets, state.counts
    for i in range(counts[BUCKETS]):
        buckets.keys[buckets.used[i]] = FREE_SLOT
    counts[MEMBERS] = counts[BUCKETS] = counts[ENTRIES] = 0


@inner_loop
def _set_of(members: Members, member: int) -> Hashes:
    return members.hashes[members.offsets[member] : members.offsets[member + 1]]


@inner_loop
def _matches(batch: Batch, row: int, member: int, state: State) -> bool:
    """Compare a row with a member, note the pair, and say whether it reaches the threshold. Integers decide."""
    members, pairs, counts = state.members, state.pairs, state.counts
    shared, either = _compare(
        batch.hashes[batch.offsets[row] : batch.offsets[row + 1]],
        _set_of(members, member),
        batch.flags[row] & CAPPED != 0,
        members.flags[member] & CAPPED != 0,
    )
    accepted = either > 0 and shared * MILLION >= state.threshold_ppm * either
    pair = counts[PAIRS]
    counts[PAIRS] += 1
    counts[COMPARED] += 1
    pairs.doc_ids[pair] = batch.doc_ids[row]
    pairs.others[pair] = members.doc_ids[member]
    pairs.jaccard_ppm[pair] = shared * MILLION // max(either, 1)
    pairs.accepted[pair] = accepted
    return accepted


@inner_loop
def _keep(doc_id: int, flags: int, state: State) -> None:
    decided, at = state.decided, state.counts[DECIDED]
    state.counts[DECIDED] += 1
    decided.doc_ids[at] = doc_id
    decided.others[at] = decided.jaccard_ppm[at] = NONE
    decided.flags[at] = flags


@inner_loop
def _drop(doc_id: int, flags: int, member: int, jaccard_ppm: int, state: State) -> None:
    """Note that a document goes because of a member; either's being capped makes the similarity a capped one."""
    decided, at = state.decided, state.counts[DECIDED]
    state.counts[DECIDED] += 1
    decided.doc_ids[at] = doc_id
    decided.others[at] = state.members.doc_ids[member]
    decided.jaccard_ppm[at] = jaccard_ppm
    cause = state.members.flags[member]
    by_reference = BY_REFERENCE if cause & REFERENCE != 0 else 0
    decided.flags[at] = flags | DROPPED | cause & CAPPED | by_reference


@inner_loop
def _first_match(batch: Batch, row: int, cursors: Integers, state: State) -> int:
    """Return the best-ranked member that shares a band with the row and is similar enough, or NONE."""
    _open_lists(batch.bands[row], cursors, state)
    member = _next_member(cursors, state.buckets.entries)
    while member != NONE and not _matches(batch, row, member, state):
        member = _next_member(cursors, state.buckets.entries)
    return member


@loop
def greedy_walk(batch: Batch, start: int, state: State) -> int:
    counts = state.counts
    cursors = np.empty(batch.bands.shape[1], np.int64)
    for row in range(start, batch.doc_ids.size):
        if batch.components[row] != counts[COMPONENT]:
            _forget(state)
            counts[COMPONENT] = batch.components[row]
        if not _has_room(batch, row, state):
            return row
        stays = batch.flags[row] & (REFERENCE | SETTLED) != 0
        match = NONE if stays else _first_match(batch, row, cursors, state)
        if match == NONE:
            _add_member(batch, row, state)
            _keep(batch.doc_ids[row], batch.flags[row], state)
        else:
            jaccard_ppm = state.pairs.jaccard_ppm[counts[PAIRS] - 1]
            _drop(batch.doc_ids[row], batch.flags[row], match, jaccard_ppm, state)
    return batch.doc_ids.size


@inner_loop
def _root_of(parents: Integers, node: int) -> int:
    """Return the root of a node, halving the path to it on the way."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@inner_loop
def _join(batch: Batch, row: int, cursors: Integers, state: State) -> None:
    """Make a row a member and join it with every earlier one it is verified with, unless they are joined already."""
    parents, entries = state.members.parents, state.buckets.entries
    _open_lists(batch.bands[row], cursors, state)
    me = _add_member(batch, row, state)
    member = _next_member(cursors, entries)
    while member != NONE and member != me:
        mine, its = _root_of(parents, me), _root_of(parents, member)
        if mine != its and _matches(batch, row, member, state):
            parents[max(mine, its)] = min(mine, its)
        member = _next_member(cursors, entries)


@loop
def component_walk(batch: Batch, start: int, state: State) -> int:
    counts = state.counts
    cursors = np.empty(batch.bands.shape[1], np.int64)
    for row in range(start, batch.doc_ids.size):
        if batch.components[row] != counts[COMPONENT]:
            if counts[DECIDED] + counts[MEMBERS] > state.decided.doc_ids.size:
                return row
            close_component(state)
            counts[COMPONENT] = batch.components[row]
        if not _has_room(batch, row, state):
            return row
        _join(batch, row, cursors, state)
    return batch.doc_ids.size


@loop
def close_component(state: State) -> None:
    members = state.members
    for member in range(state.counts[MEMBERS]):
        root = _root_of(members.parents, member)
        flags, root_flags = members.flags[member], members.flags[root]
        if root == member or flags & REFERENCE != 0:
            _keep(members.doc_ids[member], flags, state)
            continue
        shared, either = _compare(
            _set_of(members, member), _set_of(members, root), flags & CAPPED != 0, root_flags & CAPPED != 0
        )
        _drop(members.doc_ids[member], flags, root, shared * MILLION // max(either, 1), state)
    _forget(state)


@loop
def rehash(old: Buckets, new: Buckets, buckets: int) -> None:
    for i in range(buckets):
        slot = old.used[i]
        target = _slot_of(old.keys[slot], new.keys)
        new.keys[target] = old.keys[slot]
        for column in range(3):
            new.lists[target, column] = old.lists[slot, column]
        new.used[i] = target
