"""Look for every benchmark n-gram in the finished corpus, by another way than the one that took them out.

Plain Python from the examples' texts on: `re` for words, whole texts folded at once, n-grams as strings in a dict. It
shares with the matcher neither hashes nor kernels nor offsets, and is a hundred times slower. Hashes are asked for only
to know whether an n-gram that was found is one of those the manifest says were set aside.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from curation.decontamination import Mode
from curation.decontamination.benchmarks import Example
from curation.decontamination.examples import read_examples
from curation.decontamination.findings import contamination_notes
from curation.decontamination.index import build
from curation.identity import coin
from curation.lookup import Folder
from curation.parts import Part, read_batches

LENGTHS = range(8, 14)
_NO_WIDTH = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True)
class Left:
    """An n-gram of an example in a document or piece of the corpus, `words` words of it from word `word` on."""

    doc_id: int
    piece: int
    task: str
    row: int
    word: int
    words: int


@dataclass(frozen=True)
class Audit:
    """What was looked at, what is left although it was to go, and how many of the n-grams set aside occur, by task."""

    pieces: int
    bytes: int
    left: tuple[Left, ...]
    set_aside: dict[str, int]
    flagged: bool  # the recipe only flags, so that what is left is no fault

    @property
    def ok(self) -> bool:
        """Whether nothing is left that was to go."""
        return self.flagged or not self.left

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        left = [vars(found) for found in self.left]
        return {"ok": self.ok, "pieces": self.pieces, "bytes": self.bytes, "left": left, "set_aside": self.set_aside}


def audit(folder: Folder, sample: float = 1.0, tell: Callable[[str], None] = lambda line: None) -> Audit:
    """Scan the corpus of the last run, or a share of its documents drawn by coin.

    Raises:
        RecipeError: the run had no benchmarks.
        IntegrityError: a committed file is missing or changed.
    """
    notes = contamination_notes(folder)
    decontaminate, matches = folder.manifests["decontaminate"], folder.manifests["matches"]
    mode: Mode = matches.notes["parameters"]["mode"]
    ngrams = _ngrams(read_examples(folder.root, matches.key), mode)
    begins = {ngram.split(" ", 1)[0] for ngram in ngrams}
    generations = {shard.shard: shard.generation for shard in folder.shards}
    spared = {(row["generation"], row["ngram"]) for row in notes["set_aside"]}
    left, aside, size, pieces = [], Counter[str](), 0, 0
    for part in folder.manifests["assemble"].parts("corpus"):
        generation = generations[part.facts["shard"]]
        for row in _sampled(folder, part, sample):
            pieces, size = pieces + 1, size + len(row["text"].encode())
            for word, ngram in _found(row["text"], mode, ngrams, begins):
                task, example = ngrams[ngram]
                if (generation, _hash(ngram, mode)) in spared:
                    aside[task] += 1
                else:
                    left.append(Left(row["doc_id"], row["piece"], task, example, word, ngram.count(" ") + 1))
        tell(f"contamination, {part.facts['shard']}: {pieces:,} pieces, {size / 1e6:,.1f} MB, {len(left):,} left")
    flagged = decontaminate.notes["parameters"].get("removal") == "flag"
    return Audit(pieces, size, tuple(left), dict(sorted(aside.items())), flagged)


def readings(text: str, mode: Mode) -> list[list[str]]:
    """Return the words of a text, in each of its readings: a zero-width space may join words or separate them."""
    if mode == "paper":
        return [re.findall(r"\w+", text.lower().replace("ς", "σ"))]
    texts = [text.replace("\u200b", ""), text.replace("\u200b", " ")] if "\u200b" in text else [text]
    return [re.findall(r"\w+", _folded(_NO_WIDTH.sub("", one))) for one in texts]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _ngrams(examples: Sequence[Example], mode: Mode) -> dict[str, tuple[str, int]]:
    """Return every n-gram with the first example that has it."""
    found: dict[str, tuple[str, int]] = {}
    for example in examples:
        for text in example.texts:
            words = readings(text, mode)[0]
            length = min(len(words), LENGTHS[-1])
            for first in range(len(words) - length + 1) if length >= LENGTHS[0] else ():
                found.setdefault(" ".join(words[first : first + length]), (example.task, example.row))
    return found


def _sampled(folder: Folder, part: Part, sample: float) -> Iterator[dict[str, Any]]:
    for batch in read_batches(folder.root, part, ["doc_id", "doc_key", "piece", "text"]):
        for row in batch.to_pylist():
            if sample >= 1 or coin(0, row["doc_key"], "contamination audit") < sample:
                yield row


def _found(text: str, mode: Mode, ngrams: dict[str, tuple[str, int]], begins: set[str]) -> Iterator[tuple[int, str]]:
    for words in readings(text, mode):
        for first, word in enumerate(words):
            if word in begins:
                for length in LENGTHS:
                    ngram = " ".join(words[first : first + length])
                    if first + length <= len(words) and ngram in ngrams:
                        yield first, ngram


def _hash(ngram: str, mode: Mode) -> int:
    found: int = pa.scalar(build([Example("", 0, (ngram,))], mode).ngrams[0]).as_py()
    return found
