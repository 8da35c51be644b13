"""In which order a trainer meets the sources: the paper's weights, spread evenly over every stretch of samples.

Each step takes the source that is furthest below its share; ties go to the first. No chance is involved, and no source
is ever more than about a sample away from its share. This is Megatron's rule, so that Megatron gives the same order.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, Field

from curation.errors import RecipeError
from curation.shards.sidecar import PairEntry

MAX_MEMBERS = 2**15 - 1  # Megatron numbers the members of a blend with an int16

BlendIndices = tuple[NDArray[np.int16], NDArray[np.int64]]


class _Plain(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BlendSource(_Plain):
    """One source's share of the training tokens."""

    source: str
    weight: float = Field(gt=0, le=1, description="share of all samples; the weights of a blend sum to 1")
    tokens: int = Field(ge=1, description="tokens in its train pairs")
    epochs: float = Field(
        gt=0, description="how often training meets each of its tokens: weight × training tokens / tokens"
    )


class BlendPair(_Plain):
    """One pair's share of the samples of its split."""

    name: str = Field(description="prefix of its .bin and .idx, relative to the folder of blend.json")
    source: str
    weight: float = Field(gt=0, le=1, description="weight of the source × tokens of the pair / tokens of the source")


class Blend(_Plain):
    """`blend.json`: the sources as they are mixed, and the pairs as Megatron takes them."""

    version: Literal[1] = 1
    training_tokens: int = Field(ge=1, description="the length of training that the epochs are counted for")
    sources: tuple[BlendSource, ...]
    train: tuple[BlendPair, ...]
    valid: tuple[BlendPair, ...]


def plan(source_weights: Mapping[str, float], pairs: Iterable[PairEntry], training_tokens: int) -> Blend:
    """Return the blend of finished pairs; sources without a pair leave their weight to the others.

    Raises:
        RecipeError: a source has pairs but no positive weight, or there is no train pair.
    """
    pairs = sorted(pairs, key=lambda pair: pair.name)
    train, valid = ([pair for pair in pairs if pair.split == split] for split in ("train", "valid"))
    tokens = source_tokens(train)
    weights = shares(source_weights, tokens)
    passes = epochs(weights, tokens, training_tokens)
    return Blend(
        training_tokens=training_tokens,
        sources=tuple(
            BlendSource(source=source, weight=weights[source], tokens=tokens[source], epochs=passes[source])
            for source in weights
        ),
        train=_weighted(source_weights, train),
        valid=_weighted(source_weights, valid) if valid else (),
    )


def shares(source_weights: Mapping[str, float], present: Iterable[str]) -> dict[str, float]:
    """Return the weights of the sources that are present, in the recipe's order, scaled so that they sum to 1.

    >>> shares({"books": 1.0, "web": 2.0, "code": 1.0}, {"code", "books"})
    {'books': 0.5, 'code': 0.5}

    Raises:
        RecipeError: a source that is present has no positive weight, or none is present.
    """
    present = set(present)
    if not present:
        raise RecipeError("there is nothing to blend: no source has tokens")
    for source in sorted(present):
        weight = source_weights.get(source, 0)
        if not (math.isfinite(weight) and weight > 0):
            raise RecipeError(f"source {source} has tokens but no positive weight; give it one in the recipe")
    whole = math.fsum(source_weights[source] for source in present)
    return {source: weight / whole for source, weight in source_weights.items() if source in present}


def source_tokens(pairs: Iterable[PairEntry]) -> dict[str, int]:
    """Return the tokens of each source over its pairs."""
    tokens: dict[str, int] = {}
    for pair in pairs:
        tokens[pair.source] = tokens.get(pair.source, 0) + pair.tokens
    return tokens


def pair_weights(source_weights: Mapping[str, float], pairs: Iterable[PairEntry]) -> dict[str, float]:
    """Return the weight of each pair by its name: that of its source, divided over its pairs by their tokens.

    So a source's samples are spread over its pairs in proportion, and each of its tokens is met equally often.
    The weights sum to 1 over the pairs given.
    """
    pairs = list(pairs)
    tokens = source_tokens(pairs)
    weights = shares(source_weights, tokens)
    return {pair.name: weights[pair.source] * pair.tokens / tokens[pair.source] for pair in pairs}


def epochs(weights: Mapping[str, float], tokens: Mapping[str, float], training_tokens: float) -> dict[str, float]:
    """Return how often each source is met in a training of so many tokens; `weights` sum to 1."""
    return {source: weight * training_tokens / tokens[source] for source, weight in weights.items()}


def normalised(weights: ArrayLike) -> NDArray[np.float64]:
    """Return weights divided by their sum, in the arithmetic of Megatron, whose last bit decides ties."""
    values = np.asarray(weights, np.float64)
    return values / np.sum(values)


def greedy(weights: ArrayLike, samples: int) -> BlendIndices:
    """Return the order of a blend: for each sample the member it is drawn from, and its number within that member.

    At sample s the member with the largest weight × max(s, 1) - (samples it has given) is next, ties to the lowest.

    Args:
        weights: of the members, positive; scaled to sum to 1.
        samples: how many to order.

    Returns:
        member int16[samples] and number int64[samples]; the numbers of a member run 0, 1, 2, ….

    Raises:
        ValueError: there are no weights or too many, or one is not positive and finite.
    """
    weights = np.asarray(weights, np.float64)
    if not 1 <= len(weights) <= MAX_MEMBERS or not np.all((weights > 0) & np.isfinite(weights)):
        raise ValueError(f"a blend has 1 to {MAX_MEMBERS} members, each with a positive weight")
    member, number = np.empty(samples, np.int16), np.empty(samples, np.int64)
    _fill()(normalised(weights), member, number)
    return member, number


def data_path(pairs: Iterable[BlendPair], root: str = "") -> list[str]:
    """Return the words of Megatron's `--data-path`: weight, prefix, weight, prefix, ….

    Weights have all their digits, so that Megatron computes with the same numbers. `root` is put before the names.
    """
    folder = f"{root.rstrip('/')}/" if root else ""
    return [word for pair in pairs for word in (repr(pair.weight), f"{folder}{pair.name}")]


def megatron_splits(blend: Blend, root: str = "") -> dict[str, list[str] | None]:
    """Return the content of the JSON file that Megatron's `--per-split-data-args-path` names: split -> data path.

    Megatron wants all three splits named and takes null for one that does not exist; there is no test set here.
    """
    return {"train": data_path(blend.train, root), "valid": data_path(blend.valid, root) or None, "test": None}


def megatron_arguments(blend: Blend, root: str = "") -> str:
    """Return the data arguments of Megatron's command line, one set of pairs per split."""
    splits = megatron_splits(blend, root)
    return " ".join(f"--{split}-data-path {' '.join(words)}" for split, words in splits.items() if words)


def _weighted(source_weights: Mapping[str, float], pairs: list[PairEntry]) -> tuple[BlendPair, ...]:
    weights = pair_weights(source_weights, pairs)
    return tuple(BlendPair(name=pair.name, source=pair.source, weight=weights[pair.name]) for pair in pairs)


@cache
def _fill() -> Callable[..., Any]:
    """Return `_fill_greedily` compiled, or as it is where numba is missing: the same order, about 100 times slower."""
    if not find_spec("numba"):
        return _fill_greedily
    import numba

    compiled: Callable[..., Any] = numba.njit(_fill_greedily)
    return compiled


def _fill_greedily(weights: NDArray[np.float64], member: NDArray[np.int16], number: NDArray[np.int64]) -> None:
    given = np.zeros(len(weights), np.int64)
    for sample in range(len(member)):
        step = max(float(sample), 1.0)
        best, furthest = 0, weights[0] * step - given[0]
        for candidate in range(1, len(weights)):
            behind = weights[candidate] * step - given[candidate]
            if behind > furthest:
                best, furthest = candidate, behind
        member[sample] = best
        number[sample] = given[best]
        given[best] += 1
