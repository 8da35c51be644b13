"""What is trained on: rows of tokens as a pure function of (seed, samples consumed, blend).

Nothing is consumed in truth. Row n of the run is sample n of the blend, whoever asks; a layout only decides which
process reads which rows. So a position is one integer, good on every layout as long as `digest` is the same.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from curation.shards.blend import Blend, BlendPair
from curation.shards.errors import IntegrityError, RecipeError
from curation.shards.reader import PairReader
from curation.shards.sidecar import PairSidecar, Shards
from curation.shards.training import BlendedSamples, Order, PairSamples
from trainer.config import Config

Tokens = NDArray[np.int64]
Paper = TypeVar("Paper", bound=BaseModel)


class TrainingData:
    """The samples of a training, in order, and the held-out rows it is judged by.

    Attributes:
        name: of the folder of the shards.
        sources: names of the blend's sources, in its order; elsewhere sources are numbers into this.
        digest: of all that decides the order and the tokens of the samples, 32 hex digits.
    """

    def __init__(self, folder: str | Path, config: Config, cache: str | Path | None = None) -> None:
        """Open the shards below `folder`, where blend.json lies, and check that they are for this model.

        Raises:
            RecipeError: there is no blend, or its tokens do not fit the model's vocabulary.
            IntegrityError: a file of the shards is damaged.
        """
        self._folder, self._cache = Path(folder), cache
        self._sequence_tokens, self._seed = config.model.sequence_tokens, config.seed
        self._blend = _read(self._folder, "blend.json", Blend)
        self._check_vocabulary(config)
        self.name = self._folder.name
        self.sources = tuple(source.source for source in self._blend.sources)
        order = Order(config.samples, self._sequence_tokens, config.seed)
        self._samples = BlendedSamples(self._blend.train, order, self._folder, cache)
        self.digest = self._digest(order)

    def rows(self, numbers: Tokens) -> Tokens:
        """Return samples by their numbers in the run, int64[n, sequence_tokens + 1]."""
        return np.stack([self._samples[number] for number in numbers.tolist()])

    def sources_of(self, numbers: Tokens) -> Tokens:
        """Return the source of each sample, int64[n]."""
        members, _ = self._samples.blend
        return self._pair_sources[members[numbers]]

    def prepare(self) -> None:
        """Build the order and the indices of every pair, so that processes forked later share them."""
        for member in np.unique(self._samples.blend[0]).tolist():
            self._samples.member(member)

    def held_out(self, source: str, sequences: int) -> Tokens:
        """Return the first rows of a source's held-out pairs, int64[up to `sequences`, sequence_tokens + 1].

        They are the samples of one epoch, pair after pair; a source whose pairs are shorter than a row has none.
        """
        found: list[Tokens] = []
        for pair in (pair for pair in self._blend.valid if pair.source == source):
            reader = PairReader(self._folder / pair.name)
            if len(reader.tokens) > self._sequence_tokens:
                samples = PairSamples(reader, None, self._sequence_tokens, self._seed, self._cache)
                found += [samples[number] for number in range(min(len(samples), sequences - len(found)))]
        return np.array(found, np.int64).reshape(-1, self._sequence_tokens + 1)

    @cached_property
    def _pair_sources(self) -> Tokens:
        return np.array([self.sources.index(pair.source) for pair in self._blend.train])

    def _check_vocabulary(self, config: Config) -> None:
        first = self._blend.train[0].name
        sidecar = _read(self._folder, f"{first}.json", PairSidecar)
        if sidecar.largest_id >= config.model.vocabulary:
            raise RecipeError(
                f"{self._folder}: the tokenizer's largest id is {sidecar.largest_id:,}, but model.vocabulary = "
                f"{config.model.vocabulary:,}; give the recipe the vocabulary the shards were made with"
            )

    def _digest(self, order: Order) -> str:
        """Digest bytes, weights and order; where files lie and how pairs are called plays no part."""
        made = {pair.name: (pair.sha256_bin, pair.sha256_idx) for pair in self._shards.pairs}
        pairs = [(repr(pair.weight), self._made(pair, made)) for pair in self._blend.train]
        told = json.dumps([pairs, order.samples, order.sequence_tokens, order.seed])
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    @cached_property
    def _shards(self) -> Shards:
        return _read(self._folder, "shards.json", Shards)

    def _made(self, pair: BlendPair, made: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
        if pair.name not in made:
            raise IntegrityError(f"{self._folder}: blend.json names {pair.name}, shards.json does not; tokenize again")
        return made[pair.name]


def share(consumed: int, sequences: int, micro: int, data: int, rank: int) -> Tokens:
    """Return the numbers of the samples that one data-parallel process reads of a batch, int64[sequences / data].

    Microbatch by microbatch the processes take turns, as in Megatron: microbatch i of all processes together is one
    stretch of the order.

    >>> share(100, 8, micro=2, data=2, rank=1)
    array([102, 103, 106, 107])
    """
    return np.arange(consumed, consumed + sequences).reshape(-1, data, micro)[:, rank].ravel()


def _read(folder: Path, name: str, model: type[Paper]) -> Paper:
    try:
        return model.model_validate_json((folder / name).read_bytes())
    except FileNotFoundError:
        raise RecipeError(f"{folder}: no {name}; give the folder that `curate run` wrote blend.json to") from None
    except ValidationError:
        raise IntegrityError(
            f"{folder / name} is damaged; run the curation recipe again, which writes it anew"
        ) from None
