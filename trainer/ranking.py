"""Which choice a model finds likeliest, given any number of solved examples before the question.

Texts are encoded, cut to the model's window and scored as lm-evaluation-harness does it, so that the numbers are equal.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.shards.tokenizer import Tokenizer
from trainer.prompts import Question

Tokens = NDArray[np.int64]
BETWEEN = "\n\n"  # between examples


@dataclass(frozen=True, slots=True)
class Scored:
    """Of each token of a row but the first: its negative log-likelihood, and whether it was the likeliest."""

    losses: NDArray[np.float64]
    likeliest: NDArray[np.bool_]


Scorer = Callable[[Sequence[Tokens]], list[Scored]]
"""Scores rows of up to `sequence_tokens` + 1 tokens, in their order."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a model made of one question.

    Attributes:
        correct: whether the right choice was the likeliest; for a lone choice, whether each of its tokens was.
        correct_normalised: the same of log-likelihoods per character; None for a lone choice.
        loss: negative log-likelihood of the right choice.
    """

    correct: bool
    correct_normalised: bool | None
    loss: float


def prompt(question: Question, shots: Sequence[Question], choice: int) -> str:
    """Return all that stands before a choice."""
    return BETWEEN.join([*(shot.solved for shot in shots), question.contexts[choice]])


def shots_for(row: int, count: int, solved: Sequence[Question], own: bool) -> list[Question]:
    """Return the solved examples that stand before the question of a row.

    Args:
        row: of the question.
        count: examples wanted; there may be fewer.
        solved: what they are taken from: a run of it for each question, going round.
        own: whether `solved` holds the question itself, at this row, which must not be among them.
    """
    first = row + 1 if own else row * count
    count = min(count, len(solved) - own)
    return [solved[(first + number) % len(solved)] for number in range(count)]


def ask(
    questions: Sequence[Question],
    shots: Callable[[int], Sequence[Question]],
    tokenizer: Tokenizer,
    window: int,
    score: Scorer,
) -> list[Outcome]:
    """Put every question to a model, and return what it made of each.

    Args:
        questions: in order.
        shots: the examples before the question of a number.
        tokenizer: of the model.
        window: tokens the model sees; the beginning of a longer prompt is cut off.
        score: the model.
    """
    pairs: list[tuple[str, str]] = []
    for number, question in enumerate(questions):
        before = shots(number)
        pairs += [(prompt(question, before, i), f" {choice}") for i, choice in enumerate(question.choices)]
    rows, lengths = zip(*_encoded(pairs, tokenizer, window), strict=True) if pairs else ((), ())
    found = [_sum(one, length) for one, length in zip(score(rows), lengths, strict=True)]
    outcomes, first = [], 0
    for question in questions:
        outcomes.append(_judge(question, found[first : first + len(question.choices)]))
        first += len(question.choices)
    return outcomes


def _encoded(pairs: Sequence[tuple[str, str]], tokenizer: Tokenizer, window: int) -> Iterator[tuple[Tokens, int]]:
    """Yield each row of tokens and how many of them, at its end, are the choice's."""
    moved = [_blanks_moved(context, choice) for context, choice in pairs]
    contexts = tokenizer.encode_batch([context for context, _ in moved])
    both = tokenizer.encode_batch([context + choice for context, choice in moved])
    for number in range(len(moved)):
        before, whole = len(contexts[number]), both[number].astype(np.int64)
        row = whole if before else np.concatenate([[tokenizer.eod], whole])
        yield row[-(window + 1) :], min(len(whole) - before, window)


def _blanks_moved(context: str, choice: str) -> tuple[str, str]:
    """Blanks at the end of a context belong to the word that follows, where the tokenizer has them."""
    bare = context.rstrip()
    return bare, context[len(bare) :] + choice


def _sum(scored: Scored, length: int) -> tuple[float, bool]:
    """Return the log-likelihood of a row's last tokens, and whether each was the likeliest."""
    start = len(scored.losses) - length
    return -float(scored.losses[start:].sum()), bool(scored.likeliest[start:].all())


def _judge(question: Question, found: Sequence[tuple[float, bool]]) -> Outcome:
    likelihoods = np.array([likelihood for likelihood, _ in found])
    loss = -float(likelihoods[question.right])
    if len(found) == 1:
        return Outcome(found[0][1], None, loss)
    lengths = np.array([len(choice) for choice in question.choices])
    normalised = int(np.argmax(likelihoods / lengths)) == question.right
    return Outcome(int(np.argmax(likelihoods)) == question.right, normalised, loss)


@dataclass(frozen=True, slots=True)
class Score:
    """A task's score over some of its questions.

    Attributes:
        questions: how many.
        accuracy: share answered right; None where there are none.
        accuracy_normalised: by log-likelihood per character; None where nothing is chosen.
        perplexity: of the right answers, per answer; what LAMBADA reports.
    """

    questions: int
    accuracy: float | None
    accuracy_normalised: float | None
    perplexity: float | None


def summary(outcomes: Sequence[Outcome]) -> Score:
    """Return the score over some outcomes."""
    if not outcomes:
        return Score(0, None, None, None)
    normalised = [outcome.correct_normalised for outcome in outcomes if outcome.correct_normalised is not None]
    mean_loss = math.fsum(outcome.loss for outcome in outcomes) / len(outcomes)
    return Score(
        questions=len(outcomes),
        accuracy=sum(outcome.correct for outcome in outcomes) / len(outcomes),
        accuracy_normalised=sum(normalised) / len(normalised) if normalised else None,
        perplexity=math.exp(mean_loss) if mean_loss < 700 else math.inf,  # where floats end
    )
