"""A tokenizer small enough to make in every test, the real ones where they are, and pairs written with them."""

import io
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from curation.shards.backends import byte_alphabet
from curation.shards.sidecar import PairSidecar
from curation.shards.tokenizer import Encoded, Tokenizer, TokenizerSpec, load
from curation.shards.writer import PairCounts, PairWriter

CORPUS = (
    "Whether he wrote it or not, the letter was read aloud: “They're coming!” In 1911, 2,400 people lived there.\n\n"
    "def area(width, height):\n    return width * height  # ∀ width ≥ 0\n\tÜber naïve Straßen – 東京 — привет\r\n"
) * 3


def train_merges(text: str, merges: int) -> list[str]:
    """Return the merges that byte-pair encoding learns of a text's blank-separated words."""
    character = {byte: char for char, byte in byte_alphabet().items()}
    words = Counter(tuple(character[byte] for byte in f" {word}".encode()) for word in text.split())
    learnt: list[str] = []
    for _ in range(merges):
        pairs: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                pairs[pair] += count
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        learnt.append(" ".join(best))
        words = Counter({_merged(word, best): count for word, count in words.items()})
    return learnt


def _merged(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    out, place = [], 0
    while place < len(word):
        step = 2 if word[place : place + 2] == pair else 1
        out.append("".join(word[place : place + step]))
        place += step
    return tuple(out)


@pytest.fixture(scope="session")
def tiny_files() -> dict[str, bytes]:
    """vocab.json and merges.txt of a byte-level vocabulary of 256 + 150 tokens and <|endoftext|>."""
    merges = train_merges(CORPUS, 150)
    tokens = [*byte_alphabet(), *(merge.replace(" ", "") for merge in merges), "<|endoftext|>"]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return {
        "vocab.json": json.dumps(vocabulary).encode(),
        "merges.txt": "\n".join(["#version: 0.2", *merges, ""]).encode(),
    }


@pytest.fixture(scope="session")
def tiny(tiny_files: dict[str, bytes]) -> Tokenizer:
    """The tokenizer of `tiny_files`."""
    return load(TokenizerSpec(vocab="vocab.json", merges="merges.txt"), tiny_files.__getitem__)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data, where CURATION_REAL_DATA names one."""
    folder = os.environ.get("CURATION_REAL_DATA")
    if not folder:
        pytest.skip("CURATION_REAL_DATA is not set")
    return Path(folder)


@pytest.fixture(scope="session")
def gpt2_spec(real_data: Path) -> TokenizerSpec:
    """GPT-2's own vocabulary and merges."""
    folder = real_data / "tokenizer"
    return TokenizerSpec(vocab=str(folder / "gpt2-vocab.json"), merges=str(folder / "gpt2-merges.txt"))


@pytest.fixture(scope="session")
def gpt2(gpt2_spec: TokenizerSpec) -> Tokenizer:
    """The tokenizer of the paper."""
    return load(gpt2_spec, lambda path: Path(path).read_bytes())


WritePair = Callable[..., tuple[bytes, bytes, PairCounts]]


@pytest.fixture(scope="session")
def encoded() -> Callable[[list[list[int]]], Encoded]:
    """A function that makes a batch of lists of ids."""

    def make(documents: list[list[int]]) -> Encoded:
        offsets = np.cumsum([0, *map(len, documents)], dtype=np.int64)
        return Encoded(np.array([token for document in documents for token in document], np.uint32), offsets)

    return make


@pytest.fixture(scope="session")
def write_pair(encoded: Callable[[list[list[int]]], Encoded]) -> WritePair:
    """A function that writes documents in batches and returns `.bin`, `.idx` and their counts."""

    def write(*batches: list[list[int]], largest_id: int = 50256, eod: int = 50256) -> tuple[bytes, bytes, PairCounts]:
        bin_stream, idx_stream = io.BytesIO(), io.BytesIO()
        writer = PairWriter(bin_stream, idx_stream, largest_id=largest_id, eod=eod)
        for batch in batches:
            writer.write(encoded(batch))
        counts = writer.finish()
        return bin_stream.getvalue(), idx_stream.getvalue(), counts

    return write


@pytest.fixture(scope="session")
def sidecar_of() -> Callable[..., PairSidecar]:
    """A function that makes the sidecar of a pair from its counts."""

    def make(counts: PairCounts, **changes: object) -> PairSidecar:
        about = {"name": "wiki-train-00000", "source": "wiki", "split": "train", "tokenizer": "0" * 64, "recipe": "r"}
        vocabulary = {"vocabulary_size": 50257, "largest_id": 50256, "dtype": "uint16", "eod": 50256}
        return PairSidecar.model_validate(about | vocabulary | asdict(counts) | changes)

    return make
