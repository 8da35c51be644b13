"""The words of n-grams, which the index knows by a hash only, taken from the examples that the index was made of.

Benchmarks are public, so a report may show them; manifests and logs hold hashes.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from curation.decontamination import Mode
from curation.decontamination.benchmarks import Example
from curation.decontamination.index import ngrams_of_words
from curation.decontamination.words import split


def wording(owners: Mapping[int, tuple[str, int]], examples: Iterable[Example], mode: Mode) -> dict[int, str]:
    """Return the n-grams as their examples write them, white space squeezed; one that is not found is left out.

    Args:
        owners: of each n-gram, task and row of an example that has it.
        examples: those of the index, from which only the owners are read.
        mode: the word rule of the index.
    """
    asked = set(owners.values())
    texts = [text for example in examples if (example.task, example.row) in asked for text in example.texts]
    words = split(pa.array(texts, pa.large_string()), mode)
    hashes, _, lengths, numbers = ngrams_of_words(words.hashes, words.offsets)
    firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
    before = np.repeat(firsts, np.diff(np.append(firsts, len(numbers))))  # n-grams before those of the same text
    found: dict[int, str] = {}
    for at in np.flatnonzero(np.isin(hashes, np.fromiter(owners, np.uint64, len(owners)))).tolist():
        number = int(numbers[at])
        first = int(words.offsets[number]) + at - int(before[at])
        stretch = texts[number].encode()[words.starts[first] : words.ends[first + int(lengths[at]) - 1]]
        found.setdefault(int(hashes[at]), " ".join(stretch.decode().split()))
    return found
