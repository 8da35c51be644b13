"""Which language a text is in, as a fastText model with labels `__label__CODE` says it (lid.176, or one's own).

The number beside the code is the model's probability, where CLD2 gives a share of the text: thresholds do not carry
over from one to the other. Source code and lists have low probabilities in every language.
"""

import os
from dataclasses import dataclass
from functools import lru_cache

import fasttext
import pyarrow as pa

from curation.errors import RecipeError

_PREFIX = "__label__"
_PPM = 1_000_000
_UNDETERMINED = ("und", 0)


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A language model in memory. It cannot be pickled: each process calls `load`."""

    classifier: "fasttext.FastText._FastText"

    def detect(self, texts: pa.Array, max_characters: int) -> tuple[pa.StringArray, pa.Int32Array]:
        """Return the most probable language of each text and its probability in parts per million.

        The first `max_characters` code points are read, as one line. A text without a word is `und` and 0. Codes are
        the model's, without script or region (`zho_Hans` is zho).
        """
        lines = [" ".join(text[:max_characters].replace("\0", " ").split()) for text in texts.to_pylist()]
        labels, probabilities = self.classifier.predict(lines, k=1) if lines else ([], [])
        found = [
            (_code(names[0]), min(int(float(shares[0]) * _PPM + 0.5), _PPM)) if line and len(names) else _UNDETERMINED
            for line, names, shares in zip(lines, labels, probabilities, strict=True)
        ]
        codes = pa.array([code for code, _ in found], pa.string())
        return codes, pa.array([share for _, share in found], pa.int32())


def load(path: str) -> LanguageModel:
    """Return the model in a file, read once per process. Raises RecipeError if it is no fastText language model."""
    return _load(path, os.stat(path).st_mtime_ns)


@lru_cache(maxsize=1)
def _load(path: str, _modified_ns: int) -> LanguageModel:
    try:
        classifier = fasttext.load_model(path)
    except ValueError as error:
        raise RecipeError(f"{path} is not a fastText model; name another file as `model` under [language]") from error
    labels = classifier.get_labels()
    if not any(_code(label) == "en" or _code(label) == "eng" for label in labels):
        raise RecipeError(f"{path} has no label for English: it is no language model; see `model` under [language]")
    return LanguageModel(classifier)


def _code(label: str) -> str:
    return str(label).removeprefix(_PREFIX).replace("-", "_").split("_")[0]
