"""The n-grams that protect benchmarks, as one compact, read-only table.

A text of 13 words or more is protected by each of its 13-grams, one of 8 to 12 words by itself as a whole; a shorter
one is unprotected, and counted. An n-gram is known by a 64-bit hash of its words: no occurrence can be missed, and a
trillion words of corpus against ten million n-grams give half a chance hit (10^12 * 10^7 / 2^64), which costs half a
page of one document.
"""

import hashlib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.decontamination import Mode
from curation.decontamination.benchmarks import Example
from curation.decontamination.kernels import Hashes, Offsets, chosen
from curation.decontamination.words import split

SHORTEST, LONGEST = 8, 13  # words of an n-gram (MT-NLG's tool; GPT-3, appendix C)
_ARRAYS = ("ngrams", "words", "posting_offsets", "postings", "endings", "example_tasks", "example_rows")


class Coverage(NamedTuple):
    """How much of a task the index protects: examples in all, those with an n-gram, and distinct n-grams."""

    task: str
    examples: int
    protected: int
    ngrams: int


@dataclass(frozen=True, eq=False)
class Index:
    """N-grams sorted by hash, and the examples each belongs to: postings[posting_offsets[i] : posting_offsets[i + 1]].

    Examples are numbered in the order given to `build`. Arrays are read-only and may be shared.
    """

    mode: Mode
    tasks: tuple[str, ...]
    ngrams: Hashes
    words: npt.NDArray[np.uint8]
    posting_offsets: Offsets
    postings: npt.NDArray[np.int32]
    endings: Hashes  # hashes of the last 8 words of the n-grams, sorted
    example_tasks: npt.NDArray[np.int32]
    example_rows: Offsets

    @cached_property
    def digest(self) -> str:
        """Return sha256 of everything in the index, hex: two indexes with one digest find the same."""
        digest = hashlib.sha256("\0".join([self.mode, *self.tasks]).encode())
        for name in _ARRAYS:
            array = getattr(self, name)
            digest.update(f"\0{name} {array.dtype.str} {len(array)}\0".encode() + array.tobytes())
        return digest.hexdigest()

    @cached_property
    def lookup(self) -> object:
        """Return the tables for the search, made once per process."""
        return chosen().lookup(self)

    def positions(self, ngrams: Hashes) -> Offsets:
        """Return the position of each n-gram in the index. All must be in it."""
        return np.searchsorted(self.ngrams, ngrams)

    def task_of(self, ngrams: Hashes) -> npt.NDArray[np.int32]:
        """Return, as a number in `tasks`, the task of the first example that has each n-gram."""
        return self.example_tasks[self.postings[self.posting_offsets[self.positions(ngrams)]]]

    def examples_of(self, ngram: int) -> list[tuple[str, int]]:
        """Return task and row of every example that has the n-gram."""
        at = int(self.positions(np.array([ngram], np.uint64))[0])
        examples = self.postings[self.posting_offsets[at] : self.posting_offsets[at + 1]]
        return [(self.tasks[self.example_tasks[e]], int(self.example_rows[e])) for e in examples]

    def ngrams_of(self, task: str, row: int) -> Hashes:
        """Return the n-grams of an example, sorted; none if it is unprotected or there is no such example."""
        number = self.tasks.index(task) if task in self.tasks else -1
        examples = np.flatnonzero((self.example_tasks == number) & (self.example_rows == row))
        owned = np.isin(self.postings, examples)
        return self.ngrams[np.unique(np.repeat(np.arange(len(self.ngrams)), np.diff(self.posting_offsets))[owned])]

    @property
    def coverage(self) -> list[Coverage]:
        """Return per task, in the order of `tasks`, how many examples are protected and by how many n-grams."""
        protected = np.zeros(len(self.example_tasks), np.bool_)
        protected[self.postings] = True
        ngram_of = np.repeat(np.arange(len(self.ngrams)), np.diff(self.posting_offsets))
        pairs = np.unique(np.stack([self.example_tasks[self.postings], ngram_of]), axis=1)
        counts = [np.bincount(t, minlength=len(self.tasks)) for t in (self.example_tasks, pairs[0])]
        guarded = np.bincount(self.example_tasks[protected], minlength=len(self.tasks))
        return [
            Coverage(task, int(counts[0][i]), int(guarded[i]), int(counts[1][i])) for i, task in enumerate(self.tasks)
        ]

    def unprotected(self) -> list[tuple[str, int]]:
        """Return task and row of the examples whose texts all have fewer than 8 words."""
        rest = np.setdiff1d(np.arange(len(self.example_tasks)), self.postings)
        return [(self.tasks[self.example_tasks[e]], int(self.example_rows[e])) for e in rest]

    def to_bytes(self) -> bytes:
        """Return the index as one NumPy archive, the same bytes for the same content."""
        stream = io.BytesIO()
        names = np.array([self.mode, *self.tasks], np.str_)
        np.savez(stream, names=names, **{name: getattr(self, name) for name in _ARRAYS})
        return stream.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Index":
        """Return the index that `to_bytes` wrote."""
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            mode, *tasks = archive["names"].tolist()
            arrays = {name: archive[name] for name in _ARRAYS}
        return cls(mode, tuple(tasks), **_frozen(arrays))


def build(examples: Iterable[Example], mode: Mode) -> Index:
    """Make the index of all n-grams of all texts, by the mode's word rule. Examples of a task need not be together."""
    texts: list[str] = []
    owners: list[int] = []
    tasks: dict[str, int] = {}
    example_tasks, example_rows = [], []
    for number, example in enumerate(examples):
        example_tasks.append(tasks.setdefault(example.task, len(tasks)))
        example_rows.append(example.row)
        texts += example.texts
        owners += [number] * len(example.texts)
    words = split(pa.array(texts, pa.large_string()), mode)
    hashes, endings, lengths, text_numbers = ngrams_of_words(words.hashes, words.offsets)
    owner = np.array(owners, np.int64)[text_numbers]
    order = np.lexsort((owner, hashes))
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = np.any(np.diff(np.stack([hashes[order], owner[order].astype(np.uint64)])) != 0, axis=0)
    order = order[fresh]
    ngrams, firsts = np.unique(hashes[order], return_index=True)
    arrays: dict[str, npt.NDArray[Any]] = {
        "ngrams": ngrams,
        "words": lengths[order][firsts].astype(np.uint8),
        "posting_offsets": np.append(firsts, len(order)).astype(np.int64),
        "postings": owner[order].astype(np.int32),
        "endings": np.unique(endings),
        "example_tasks": np.array(example_tasks, np.int32),
        "example_rows": np.array(example_rows, np.int64),
    }
    return Index(mode, tuple(tasks), **_frozen(arrays))


def _frozen(arrays: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def ngrams_of_words(hashes: Hashes, offsets: Offsets) -> tuple[Hashes, Hashes, Offsets, Offsets]:
    """Return hash, hash of the last 8 words, length and text number of every n-gram of every text."""
    sizes = np.diff(offsets)
    counts = np.where(sizes < SHORTEST, 0, np.maximum(sizes - LONGEST, 0) + 1)
    keys, endings, lengths = chosen().ngrams(hashes, offsets, counts)
    return keys, endings, lengths, np.repeat(np.arange(len(sizes)), counts)
