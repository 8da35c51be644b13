"""The quality classifier: fastText on words and word pairs, one thread, so that the same examples make the same bytes.

A text's score is the probability of the label `positive`: how much it reads like the sources the recipe named as good.
Both classes and every scored text pass through one `prepare`, so that layout, in which sources differ most, cannot be
what the model learns.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import fasttext
import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from curation.errors import InfrastructureError, RecipeError
from curation.text.normalise import head, normalise, normalise_all

POSITIVE, NEGATIVE = "__label__positive", "__label__negative"
MAX_SCORED_KIB = 64  # about 10,000 words: a book is judged by its beginning
# Fewer, and the model has hardly moved from where it began: on the texts of benchmarks/quality_truth.py 5,600 steps at
# a rate of 0.1 judged 59 % right, 20,000 at 0.5 83 %
MIN_STEPS = 20_000
_PPM = 1_000_000
_END_OF_EXAMPLE = "</s>"
# With one thread, fastText initialises a tenth of its matrix and trains on whatever the rest of that memory held (its
# issue 1061): other bytes each time, or NaN. So it trains in a process whose allocator hands out zeros; glibc fills new
# memory with the complement of this number.
_ZEROED_MEMORY = {"MALLOC_PERTURB_": "255"}
_TRAINER = """
import json, sys
import fasttext
fasttext.train_supervised(**json.loads(sys.argv[1])).save_model(sys.argv[2])
"""
_BATCH = 512  # texts handed to fastText together
_NOT_RARE = 20  # a word of fewer examples may name a person


class Parameters(BaseModel):
    """How the classifier is trained. The paper fixes the word pairs; it is silent about the rest.

    A small sample is seen more often than `epochs`, so that training takes at least MIN_STEPS steps. The defaults give
    a model of 50 to 100 MB and train on 4 million words a second. Threads are not here: more than one makes different
    bytes each time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    word_ngrams: int = Field(default=2, ge=1, le=5, description="longest run of words that is a feature")
    dimensions: int = Field(default=64, ge=1, le=1024, description="length of a word's vector")
    epochs: int = Field(default=3, ge=1, le=1000, description="how often each example is seen at least")
    learning_rate: float = Field(default=0.5, gt=0, le=10, description="step size at the start; it falls to 0")
    buckets: int = Field(default=200_000, ge=1, le=100_000_000, description="hash buckets that runs of words share")
    min_count: int = Field(default=5, ge=1, description="words that occur less often have no vector of their own")


def prepare(text: str, max_kib: int = MAX_SCORED_KIB) -> str:
    """Return what the classifier sees of a text: its first `max_kib` KiB of UTF-8, normalised."""
    return normalise(head(text, max_kib * 1024))


def train(examples: Iterable[tuple[str, bool]], parameters: Parameters, path: Path) -> None:
    """Train on (text, is it positive) pairs and write the model to `path`: same examples, same order, same bytes.

    fastText takes the examples as they come, so their order must mix the classes: by coin, not by source. Texts are
    prepared here; those without a word are left out.

    Raises:
        RecipeError: a class has no text with a word, no word occurs `min_count` times, or the numbers diverge.
        InfrastructureError: the process that trains failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, "examples.txt")
        steps = _write_examples(examples, lines) * parameters.epochs
        epochs = parameters.epochs * max(1, -(-MIN_STEPS // steps))
        _run_fasttext(lines, parameters.model_copy(update={"epochs": epochs}), path)
    if not set(fasttext.load_model(str(path)).words) - {_END_OF_EXAMPLE}:
        raise RecipeError(
            f"no word of the examples occurs {parameters.min_count} times: lower min_count under [quality_model] in "
            "the recipe, or name larger sources there"
        )


def _run_fasttext(lines: Path, parameters: Parameters, path: Path) -> None:
    options = {
        "input": str(lines),
        "dim": parameters.dimensions,
        "epoch": parameters.epochs,
        "lr": parameters.learning_rate,
        "wordNgrams": parameters.word_ngrams,
        "bucket": parameters.buckets,
        "minCount": parameters.min_count,
        "loss": "softmax",
        "thread": 1,
        "verbose": 0,
    }
    command = [sys.executable, "-c", _TRAINER, json.dumps(options), str(path)]
    done = subprocess.run(command, env={**os.environ, **_ZEROED_MEMORY}, capture_output=True, text=True, check=False)
    if "Encountered NaN" in done.stderr:
        raise RecipeError("the quality classifier diverged: lower learning_rate under [quality_model] in the recipe")
    if done.returncode:
        raise InfrastructureError(
            f"fastText ended with status {done.returncode} while training {path}: see that memory and disk suffice and "
            "that fasttext-numpy2 is installed (`curate doctor`), then run again"
        )


def _write_examples(examples: Iterable[tuple[str, bool]], path: Path) -> int:
    """Write one line an example and return how many there are."""
    written = {POSITIVE: 0, NEGATIVE: 0}
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        for text, positive in examples:
            label, line = POSITIVE if positive else NEGATIVE, prepare(text)
            if line:
                lines.write(f"{label} {line}\n")
                written[label] += 1
    for label, count in written.items():
        if not count:
            name = label.removeprefix("__label__")
            raise RecipeError(
                f"the quality classifier has no {name} example with a word in it: name sources with text under "
                f"{name}s in [quality_model] of the recipe"
            )
    return sum(written.values())


@dataclass(frozen=True, slots=True)
class Model:
    """A trained classifier in memory. It cannot be pickled: each process calls `load`."""

    classifier: "fasttext.FastText._FastText"

    def score(self, texts: pa.Array, max_scored_kib: int = MAX_SCORED_KIB) -> pa.Int32Array:
        """Return the probability of `positive` for each text, parts per million, rounded half up.

        Args:
            texts: string or large_string without nulls, n of them.
            max_scored_kib: how much of a text is read, so that no text takes longer than another of that length.

        Returns:
            int32, n, from 0 to 1,000,000; 0 for a text without a word.
        """
        scores = np.zeros(len(texts), np.int32)
        for start in range(0, len(texts), _BATCH):
            lines = normalise_all(texts.slice(start, _BATCH), max_scored_kib * 1024)
            scores[start : start + len(lines)] = list(self._score_lines(lines))
        return pa.array(scores)

    def top_words(self, count: int) -> dict[str, list[str]]:
        """Return the words of letters that alone speak most for each label, the strongest first; no rare ones."""
        words, frequencies = self.classifier.get_words(include_freq=True)
        common = [word for word, often in zip(words, frequencies, strict=True) if often >= _NOT_RARE and word.isalpha()]
        if not common:
            return {"positive": [], "negative": []}
        labels = self.classifier.get_labels()
        speaks = dict(zip(labels, self.classifier.get_output_matrix(), strict=True))
        vectors = np.array([self.classifier.get_word_vector(word) for word in common])
        weights = vectors @ (speaks[POSITIVE] - speaks[NEGATIVE])
        first, last = (np.argsort(signed, kind="stable")[:count] for signed in (-weights, weights))
        return {
            "positive": [common[row] for row in first if weights[row] > 0],
            "negative": [common[row] for row in last if weights[row] < 0],
        }

    def _score_lines(self, lines: list[str]) -> Iterator[int]:
        labels, probabilities = self.classifier.predict(lines, k=2)
        for line, names, shares in zip(lines, labels, probabilities, strict=True):
            # fastText scores a text without words too, and its probabilities can exceed 1 by 1e-5
            share = float(shares[names.index(POSITIVE)]) if line else 0.0
            yield min(max(int(share * _PPM + 0.5), 0), _PPM)


def load(path: Path) -> Model:
    """Return the model in a file, read once per process for as long as the file stays as it is.

    Raises:
        RecipeError: the file is no fastText classifier with the labels positive and negative.
    """
    status = os.stat(path)
    return _load(str(path), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1)  # a model is as large as a worker's other memory together
def _load(path: str, _modified_ns: int, _bytes: int) -> Model:
    try:
        classifier = fasttext.load_model(path)
    except ValueError as error:
        raise RecipeError(f"{path} is not a fastText model; name another file under [quality_model]") from error
    if set(classifier.get_labels()) != {POSITIVE, NEGATIVE}:
        raise RecipeError(
            f"{path} is a fastText model with other labels than {POSITIVE} and {NEGATIVE}: it cannot say how probable "
            "the positive one is; name another file under [quality_model]"
        )
    return Model(classifier)
