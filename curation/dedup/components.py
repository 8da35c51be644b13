"""Connected components of a graph that arrives in batches of edges and does not fit anywhere as edges."""

import numpy as np

from curation.dedup.buffers import own
from curation.dedup.kernels import Integers, Nodes, chosen
from curation.errors import InfrastructureError

_CHUNK = 1 << 16  # edges linked between two looks at the room left
_MAX_NODES = (1 << 31) - 1  # nodes are numbered in int32


class UnionFind:
    """The components of all edges fed so far, over any int64 ids; the label of a component is its smallest id.

    Labels depend on the edges alone, not on their order, direction or batches. Memory is 20 to 40 bytes per id and
    nothing per edge.
    """

    def __init__(self) -> None:
        self._nodes = 0
        self._ids: Integers = np.empty(1 << 10, np.int64)
        self._parents: Nodes = np.empty(1 << 10, np.int32)
        self._slots: Nodes = np.full(1 << 11, -1, np.int32)

    def __len__(self) -> int:
        """How many ids are known."""
        return self._nodes

    def feed(self, a: Integers, b: Integers) -> None:
        """Connect a[i] with b[i] for every i; an edge from an id to itself makes the id known.

        Raises:
            InfrastructureError: more than 2**31 - 1 different ids came.
        """
        a, b = own(a, np.int64), own(b, np.int64)
        for start in range(0, a.size, _CHUNK):
            end = min(start + _CHUNK, a.size)
            self._make_room(self._nodes + 2 * (end - start))
            self._nodes = chosen().link(a[start:end], b[start:end], self._ids, self._parents, self._slots, self._nodes)

    def labels(self) -> tuple[Integers, Integers]:
        """Return (ids, labels): every id fed, ascending, and the smallest id of its component."""
        parents = self._parents[: self._nodes]
        chosen().flatten(parents)
        ids = self._ids[: self._nodes]
        order = np.argsort(ids)
        return ids[order], ids[parents[order]]

    def edges(self) -> tuple[Integers, Integers]:
        """Return (ids, labels) of the ids that are not the smallest of their component: a spanning forest."""
        ids, labels = self.labels()
        follows = ids != labels
        return ids[follows], labels[follows]

    def _make_room(self, nodes: int) -> None:
        """Let `nodes` nodes fit, the table being at most half full."""
        if nodes <= self._ids.size:
            return
        if nodes > _MAX_NODES:
            raise InfrastructureError(
                f"{nodes} candidate documents are more than one process can number ({_MAX_NODES}): "
                "nothing was written; curate the sources in two runs, the second with the first as its reference"
            )
        size = max(nodes, min(2 * self._ids.size, _MAX_NODES))
        self._ids = np.concatenate([self._ids[: self._nodes], np.empty(size - self._nodes, np.int64)])
        self._parents = np.concatenate([self._parents[: self._nodes], np.empty(size - self._nodes, np.int32)])
        self._slots = np.full(1 << (2 * size - 1).bit_length(), -1, np.int32)
        chosen().place(self._ids[: self._nodes], self._slots)
