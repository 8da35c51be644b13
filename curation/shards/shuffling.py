"""A shuffled source: its documents stand in the order of a hash of their doc_key, whatever file they came in.

Token ids cross Spark's shuffle here, which text never does: that is the price of a global permutation, and each commit
says how many bytes it was. A document's place depends on seed and doc_key alone, so any partitioning gives the same
bytes. `token_rows` makes the rows of one corpus part, `written` takes them back, sorted by pair, place, doc_id, piece.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from curation.commits import Commit
from curation.identity import coin
from curation.parts import Part
from curation.shards.layout import dtype_for
from curation.shards.pairs import SPLITS, PairTask, SplitWriter, is_held_out, text_batches, tokenizer_of
from curation.shards.tokenizer import Encoded, Tokenizer

ROWS = "pair int, place long, doc_id long, piece int, held_out boolean, text_bytes long, tokens binary"
SORTED_BY = ("pair", "place", "doc_id", "piece")
_PLACES = 53  # bits of a coin
_ROW_BYTES = 4 + 8 + 8 + 4 + 1 + 8  # of a row beside its tokens


@dataclass(frozen=True)
class SpreadTask:
    """One corpus part of a shuffled source; `pairs` are the tasks of the pairs that its documents are spread over."""

    part: Part
    first_pair: int  # number of the first pair among all that are written together
    pairs: tuple[PairTask, ...]


def place_of(seed: int, doc_key: int) -> int:
    """Return a document's place in the permutation, below 2^53; equal places stand in order of doc_id."""
    return int(coin(seed, doc_key, "shuffle") * (1 << _PLACES))


def token_rows(task: SpreadTask) -> Iterator[pa.RecordBatch]:
    """Yield a row per document or piece of a corpus part: the pair it goes to, its place, and its tokens."""
    pair = task.pairs[0]
    assert pair.group.share is not None
    shares = pair.group.share[1]
    tokenizer = tokenizer_of(pair.spec, pair.asset_root)
    numbered = enumerate(task.pairs, task.first_pair)
    wanted = {each.group.share[0]: number for number, each in numbered if each.group.share is not None}
    dtype = dtype_for(tokenizer.largest_id)
    for batch in text_batches(pair.root, [task.part]):
        keys = batch["doc_key"].to_pylist()
        places = [place_of(pair.seed, key) for key in keys]
        numbers = [wanted.get(place * shares >> _PLACES) for place in places]
        documents = tokenizer.encode_batch(batch["text"])
        columns = {
            "pair": pa.array(numbers, pa.int32()),
            "place": pa.array(places, pa.int64()),
            "doc_id": batch["doc_id"],
            "piece": batch["piece"],
            "held_out": pa.array([is_held_out(pair, key) for key in keys], pa.bool_()),
            "text_bytes": pa.compute.binary_length(batch["text"]).cast(pa.int64()),
            "tokens": pa.array([ids.astype(dtype).tobytes() for ids in _each(documents)], pa.binary()),
        }
        rows = pa.RecordBatch.from_pydict(columns)
        yield rows.filter(rows["pair"].is_valid())


def written(tasks: Mapping[int, PairTask], batches: Iterable[pa.RecordBatch]) -> Iterator[Commit]:
    """Write the pairs whose rows come, one after the other, and yield their commits; nothing is committed yet."""
    open_pair: _Pair | None = None
    for batch in batches:
        numbers = batch["pair"].to_numpy()
        edges: list[int] = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]]).tolist() if len(numbers) else []
        for start, stop in pairwise([*edges, len(numbers)]):
            number = int(numbers[start])
            if open_pair is None or open_pair.number != number:
                if open_pair is not None:
                    yield open_pair.commit()
                open_pair = _Pair(number, tasks[number])
            open_pair.write(batch.slice(start, stop - start))
    if open_pair is not None:
        yield open_pair.commit()


class _Pair:
    def __init__(self, number: int, task: PairTask) -> None:
        self.number, self._task = number, task
        tokenizer: Tokenizer = tokenizer_of(task.spec, task.asset_root)
        self._dtype, self._bytes = dtype_for(tokenizer.largest_id), 0
        self._stack = ExitStack()
        self._writers = {split: self._stack.enter_context(SplitWriter(task, split, tokenizer)) for split in SPLITS}

    def write(self, rows: pa.RecordBatch) -> None:
        held_out = rows["held_out"]
        self._bytes += _ROW_BYTES * rows.num_rows + _sum(pa.compute.binary_length(rows["tokens"]))
        for split, writer in self._writers.items():
            some = rows.filter(held_out if split == "valid" else pa.compute.invert(held_out))
            if some.num_rows:
                documents = _encoded(some["tokens"], self._dtype)
                writer.write(some["doc_id"], some["piece"], documents, _sum(some["text_bytes"]))

    def commit(self) -> Commit:
        self._stack.close()
        parts = [part for writer in self._writers.values() for part in writer.parts]
        return Commit("tokenize", self._task.group.item, self._task.key, tuple(parts), {"shuffled_bytes": self._bytes})


def _each(documents: Encoded) -> Iterator[Any]:
    return (documents[number] for number in range(len(documents)))


def _encoded(tokens: pa.Array, dtype: Any) -> Encoded:
    offsets = np.zeros(len(tokens) + 1, np.int64)
    np.cumsum(pa.compute.binary_length(tokens).to_numpy(), out=offsets[1:])
    data = b"".join(tokens.to_pylist())
    return Encoded(np.frombuffer(data, dtype).astype(np.uint32), offsets // dtype.itemsize)


def _sum(column: pa.Array) -> int:
    return int(pa.compute.sum(column).as_py() or 0)
