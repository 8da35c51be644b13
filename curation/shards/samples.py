"""The order in which Megatron's GPTDataset cuts one pair into training samples: the same three arrays, bit for bit.

The documents of all epochs are shuffled and laid end to end; sample j begins at token j × `sequence_tokens` of that
stream and reads one token more than it advances, so neighbours share a token and documents run on from one sample into
the next. A second shuffle says which sample is met when. Both shuffles draw from one random state in this order: that
is what makes the arrays equal Megatron's.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.shards.permutation import shuffle

_INT32, _UINT32 = 2**31 - 1, 2**32 - 1
_SEPARATE_BELOW = 0.80  # Megatron's threshold: a last epoch shorter than this share is shuffled for itself

Lengths = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class SampleIndices:
    """Which tokens each sample has.

    Attributes:
        documents: int32[positions], the sequences in the order of the stream, epochs × sequences of them; int64 where
            a pair has more than 2^31 sequences.
        samples: int32[samples + 1, 2], where each sample begins: position in `documents`, token within that document.
            int64 where a number needs it. Row j + 1 is the last token that sample j reads.
        shuffle: uint32[samples], the row of the k-th sample that training meets; int64 where it has more than 2^32.
    """

    documents: NDArray[Any]
    samples: NDArray[Any]
    shuffle: NDArray[Any]


def epochs_needed(tokens: int, samples: int | None, sequence_tokens: int) -> int:
    """Return the fewest epochs of so many tokens that hold the samples and one token; None asks for one epoch.

    >>> epochs_needed(tokens=100, samples=13, sequence_tokens=8)
    2

    Raises:
        ValueError: there are no tokens to make samples of.
    """
    if tokens < 1:
        raise ValueError("a pair without tokens has no samples")
    return 1 if samples is None else max(1, -(-(samples * sequence_tokens + 1) // tokens))


def build(lengths: Lengths, samples: int | None, sequence_tokens: int, seed: int) -> SampleIndices:
    """Return the indices of a pair for at least so many samples; a last partial sample is left out.

    Args:
        lengths: tokens of each sequence, int32[sequences].
        samples: how many a training asks for; None for those of one epoch.
        sequence_tokens: how far a sample advances; it reads one token more.
        seed: Megatron's `--seed`, below 2^32.

    Raises:
        ValueError: there are no tokens, or `sequence_tokens` is less than 1.
    """
    if sequence_tokens < 1:
        raise ValueError(f"a sample of {sequence_tokens} tokens")
    tokens = int(lengths.sum(dtype=np.int64))
    epochs = epochs_needed(tokens, samples, sequence_tokens)
    state = np.random.RandomState(seed)
    separate = _last_epoch_apart(tokens, epochs, samples, sequence_tokens)
    documents = _document_index(len(lengths), epochs, separate, state)
    rows = _sample_index(lengths, documents, sequence_tokens)
    shuffled_first = _whole_samples((epochs - 1) * tokens, sequence_tokens) if separate else len(rows) - 1
    return SampleIndices(documents, rows, _shuffle_index(shuffled_first, len(rows) - 1, state))


def _whole_samples(tokens: int, sequence_tokens: int) -> int:
    return (tokens - 1) // sequence_tokens


def _last_epoch_apart(tokens: int, epochs: int, samples: int | None, sequence_tokens: int) -> bool:
    if epochs == 1 or samples is None:
        return False
    from_last = samples - _whole_samples((epochs - 1) * tokens, sequence_tokens)
    return from_last < int(_SEPARATE_BELOW * _whole_samples(tokens, sequence_tokens))


def _document_index(sequences: int, epochs: int, separate: bool, state: np.random.RandomState) -> NDArray[Any]:
    ids = np.arange(sequences, dtype=np.int32 if sequences <= _INT32 else np.int64)
    index = np.tile(ids, epochs)
    edge = sequences * (epochs - 1) if separate else len(index)
    shuffle(index[:edge], state)
    if separate:
        shuffle(index[edge:], state)
    return index


def _sample_index(lengths: Lengths, documents: NDArray[Any], sequence_tokens: int) -> NDArray[Any]:
    """Count, for each document of the stream, the samples that begin in it; no search and no loop."""
    own = lengths[documents]
    ends = np.cumsum(own, dtype=np.int64)
    count = _whole_samples(int(ends[-1]), sequence_tokens)
    largest = max(len(documents), int(lengths.max()))
    index = np.zeros((count + 1, 2), np.int32 if largest <= _INT32 else np.int64)
    begun = (ends - 1) // sequence_tokens  # samples after the first that begin up to this document's end
    positions = np.repeat(np.arange(len(documents), dtype=index.dtype), np.diff(begun, prepend=0))[:count]
    index[1:, 0] = positions
    index[1:, 1] = np.arange(1, count + 1, dtype=np.int64) * sequence_tokens - (ends - own)[positions]
    return index


def _shuffle_index(first: int, total: int, state: np.random.RandomState) -> NDArray[Any]:
    index = np.arange(total, dtype=np.uint32 if total < _UINT32 - 1 else np.int64)
    shuffle(index[:first], state)
    if first < total:
        shuffle(index[first:], state)
    return index
