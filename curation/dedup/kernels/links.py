"""Union-find over arbitrary ids, grown edge by edge: the root of a component is its smallest id.

Ids are numbered as they come (`ids[node]`); a hash table with linear probing (`slots`) finds the number again.
"""

from curation.dedup.kernels import Integers, Nodes, inner_loop, loop

FREE = -1  # a slot of the table without a node


@inner_loop
def _root_of(parents: Nodes, node: int) -> int:
    """Return the root of a node, halving the path to it on the way."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@inner_loop
def _slot_of(key: int, ids: Integers, slots: Nodes) -> int:
    """Return the slot that holds the id, or the free one where it belongs; the table's size is a power of two."""
    mask = slots.size - 1
    spread = key ^ (key >> 33)  # ids of one file are neighbours, those of other files differ in high bits
    slot = (spread ^ (spread >> 17)) & mask
    while slots[slot] != FREE and ids[slots[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@inner_loop
def _node_of(key: int, ids: Integers, parents: Nodes, slots: Nodes, used: int) -> int:
    """Return the node of an id; it is `used`, and new, where the id was not known."""
    slot = _slot_of(key, ids, slots)
    if slots[slot] == FREE:
        slots[slot] = used
        ids[used] = key
        parents[used] = used
    return int(slots[slot])


@loop
def link(a: Integers, b: Integers, ids: Integers, parents: Nodes, slots: Nodes, used: int) -> int:
    for i in range(a.size):
        first = _node_of(a[i], ids, parents, slots, used)
        used = max(used, first + 1)
        second = _node_of(b[i], ids, parents, slots, used)
        used = max(used, second + 1)
        first, second = _root_of(parents, first), _root_of(parents, second)
        if ids[first] < ids[second]:
            parents[second] = first
        else:
            parents[first] = second
    return used


@loop
def place(ids: Integers, slots: Nodes) -> None:
    for node in range(ids.size):
        slots[_slot_of(ids[node], ids, slots)] = node


@loop
def flatten(parents: Nodes) -> None:
    for node in range(parents.size):
        parents[node] = _root_of(parents, node)
