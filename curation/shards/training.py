"""What training reads: sample k of a pair, and sample n of a blend, each a pure function of its number.

Nothing is consumed and nothing has a state, so training goes on at any sample by asking for it. Sizes, surplus and
arithmetic are those of Megatron's BlendedMegatronDatasetBuilder, which so gives the same tokens in the same order.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from curation.shards.blend import BlendIndices, BlendPair, greedy, normalised
from curation.shards.reader import PairReader
from curation.shards.sample_cache import cached
from curation.shards.samples import SampleIndices

SURPLUS = 0.005  # Megatron's mid_level_dataset_surplus: the rule of the blend may run a little ahead of its share


@dataclass(frozen=True, slots=True)
class Order:
    """What decides the order of training, as Megatron is told it.

    Attributes:
        samples: how many the whole training has; a part of it must be asked for with the number of the whole.
        sequence_tokens: `--seq-length`; a sample has one token more.
        seed: `--seed`.
    """

    samples: int
    sequence_tokens: int = 2048
    seed: int = 1234


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens `first` to `first + tokens` of one sequence of a pair."""

    sequence: int
    first: int
    tokens: int


class PairSamples:
    """The samples of one pair in the order of training; `samples` is None for those of one epoch."""

    def __init__(
        self,
        pair: PairReader,
        samples: int | None,
        sequence_tokens: int,
        seed: int,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        """Build the indices, or map them from the folder `cache`. Raises ValueError for a pair without tokens."""
        self.pair = pair
        self._sequence_tokens = sequence_tokens
        self.indices: SampleIndices = cached(cache, pair.lengths, samples, sequence_tokens, seed)

    def __len__(self) -> int:
        """Return the number of samples: whole epochs of them, so at least those asked for."""
        return len(self.indices.shuffle)

    def spans(self, sample: int) -> list[Span]:
        """Return the pieces of sequences that make up a sample, in order. Raises IndexError beyond the last."""
        if not 0 <= sample < len(self):
            raise IndexError(f"sample {sample} of {len(self)}")
        row = int(self.indices.shuffle[sample])
        (first, start), (last, end) = self.indices.samples[row : row + 2].tolist()
        spans = []
        for position in range(first, last + 1):
            sequence = int(self.indices.documents[position])
            begin = start if position == first else 0
            stop = end + 1 if position == last else int(self.pair.lengths[sequence])
            if stop > begin:
                spans.append(Span(sequence, begin, stop - begin))
        return spans

    def __getitem__(self, sample: int) -> NDArray[np.int64]:
        """Return the tokens of a sample, int64[sequence_tokens + 1]: inputs are all but the last, labels all but
        the first."""
        parts = [self.pair.get(span.sequence, span.first, span.tokens) for span in self.spans(sample)]
        return np.concatenate(parts).astype(np.int64)

    def holding(self, sequences: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the samples that read a token of any of these sequences, ascending, over all epochs."""
        documents, begins = self.indices.documents, self.indices.samples
        ends = np.cumsum(self.pair.lengths[documents], dtype=np.int64)
        positions = np.flatnonzero(np.isin(documents, sequences) & (self.pair.lengths[documents] > 0))
        starts = ends[positions] - self.pair.lengths[documents[positions]]
        step = self._sequence_tokens
        # A row reads tokens row × step to (row + 1) × step, both included.
        first = np.maximum(0, -(-(starts - step) // step))
        last = np.minimum(len(begins) - 2, (ends[positions] - 1) // step)
        rows = [np.arange(a, b + 1) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        wanted = np.unique(np.concatenate(rows)) if rows else np.empty(0, np.int64)
        return np.flatnonzero(np.isin(self.indices.shuffle, wanted)).astype(np.int64)


class BlendedSamples:
    """The samples of a blend: weights over pairs, each read in its own order."""

    def __init__(
        self,
        pairs: Sequence[BlendPair],
        order: Order,
        folder: str | os.PathLike[str],
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        """Prepare the blend of pairs below `folder`, the one where blend.json lies; a pair is opened when it is met."""
        self.pairs, self.order = tuple(pairs), order
        self._folder, self._cache = os.fspath(folder), cache
        self._opened: dict[int, PairSamples] = {}

    def __len__(self) -> int:
        """Return the number of samples: that of the order, each pair's share rounded up."""
        return sum(self._shares()) if len(self.pairs) > 1 else self.order.samples

    def __getitem__(self, number: int) -> NDArray[np.int64]:
        """Return the tokens of a sample, int64[sequence_tokens + 1]."""
        member, sample = self.place(number)
        return self.member(member)[sample]

    def place(self, number: int) -> tuple[int, int]:
        """Return which pair a sample is drawn from, and its number there. Raises IndexError beyond the last."""
        if not 0 <= number < len(self):
            raise IndexError(f"sample {number} of {len(self)}")
        members, numbers = self.blend
        return int(members[number]), int(numbers[number])

    @cached_property
    def blend(self) -> BlendIndices:
        """For each sample its pair, int16, and its number there, int64."""
        if len(self.pairs) == 1:
            return np.zeros(len(self), np.int16), np.arange(len(self), dtype=np.int64)
        return greedy(self._weights, len(self))

    def member(self, number: int) -> PairSamples:
        """Return the samples of one pair."""
        if number not in self._opened:
            surplus = [math.ceil(share * (1 + SURPLUS)) for share in self._shares()]
            size = surplus[number] if len(self.pairs) > 1 else self.order.samples
            pair = PairReader(os.path.join(self._folder, self.pairs[number].name))
            self._opened[number] = PairSamples(pair, size, self.order.sequence_tokens, self.order.seed, self._cache)
        return self._opened[number]

    def holding(self, pair: str, sequences: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the samples of the blend that read a token of these sequences of a pair, ascending."""
        number = next(number for number, found in enumerate(self.pairs) if found.name == pair)
        members, numbers = self.blend
        drawn = np.flatnonzero(members == number)
        return drawn[np.isin(numbers[drawn], self.member(number).holding(sequences))]

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return normalised([pair.weight for pair in self.pairs])

    def _shares(self) -> list[int]:
        return [math.ceil(self.order.samples * weight) for weight in self._weights.tolist()]
