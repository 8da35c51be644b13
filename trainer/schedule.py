"""What changes as training goes on, as functions of the samples consumed: the size of the batch and the learning rate.

Nothing here has a state or needs torch, so that a run can be resumed, and planned, from one number.
"""

import math
from collections.abc import Iterator

from trainer.config import Config


def batch_sequences(config: Config, consumed: int) -> int:
    """Return the batch the recipe asks for after so many samples; level l of the ramp's n + 1 begins at l/n of it."""
    levels = config.batch.levels
    if config.batch.ramp is None or len(levels) == 1:
        return config.batch.sequences
    growing = max(1, config.batch.ramp.tokens // config.model.sequence_tokens)
    return levels[min(len(levels) - 1, consumed * (len(levels) - 1) // growing)]


def next_batch(config: Config, consumed: int, data: int) -> int:
    """Return the sequences of the step after so many samples, 0 at the end of training.

    A last batch that the training's tokens do not fill is left out. A level of the ramp that does not divide among the
    data-parallel processes is rounded down where the recipe allows it, and was refused with the layout where not.
    """
    asked = batch_sequences(config, consumed)
    sequences = config.microbatches(asked, data) * config.batch.micro * data
    return sequences if consumed + sequences <= config.samples else 0


def batches(config: Config, data: int, consumed: int = 0) -> Iterator[tuple[int, int]]:
    """Yield for each step that is left the samples consumed before it and the sequences of its batch."""
    while sequences := next_batch(config, consumed, data):
        yield consumed, sequences
        consumed += sequences


def learning_rate(config: Config, consumed: int) -> float:
    """Return the rate of the step that ends after so many samples: linear up, then a cosine down, then level."""
    rate = config.learning_rate
    tokens = consumed * config.model.sequence_tokens
    if tokens < rate.warmup_tokens:
        return rate.peak * tokens / rate.warmup_tokens
    progress = min(1.0, (tokens - rate.warmup_tokens) / (rate.decay_tokens - rate.warmup_tokens))
    lowest = rate.peak * rate.final_fraction
    return lowest + (rate.peak - lowest) * (1 + math.cos(math.pi * progress)) / 2
