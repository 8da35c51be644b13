"""The two libraries that turn text into token ids, behind one shape.

fastokens is an order of magnitude faster than what most projects use, and young; tiktoken is mature, and knows GPT-2's
form of byte-pair encoding only. Both give the same ids, which the tests compare. `choose` is the one place where it is
decided which of them works.

Neither ever makes a control token of text: a document that talks about `<|endoftext|>` is a document like any other.
"""

import json
import os
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from curation.errors import InfrastructureError, RecipeError

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of many documents: `ids` uint32[tokens], document d has `ids[offsets[d]:offsets[d + 1]]`, int64."""

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.offsets) - 1

    def __getitem__(self, document: int) -> NDArray[np.uint32]:
        """Return the ids of one document, a view."""
        if not 0 <= document < len(self):
            raise IndexError(f"document {document} of {len(self)}")
        return self.ids[self.offsets[document] : self.offsets[document + 1]]


class Backend(Protocol):
    """What encodes and decodes; on one thread, since an executor runs one task per core."""

    @property
    def name(self) -> str:
        """The library's name."""

    def encode(self, texts: list[str]) -> Encoded:
        """Return the ids of the texts; nothing in a text stands for a control token."""

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids; a cut-off character becomes U+FFFD."""


def choose(definition: dict[str, Any]) -> Backend:
    """Return fastokens where it is installed, else tiktoken.

    Args:
        definition: the content of a tokenizer.json.

    Raises:
        RecipeError: fastokens cannot read the definition.
        InfrastructureError: fastokens is missing and the tokenizer is not of GPT-2's form.
    """
    return Fastokens(definition) if find_spec("fastokens") else Tiktoken(definition)


class Fastokens:
    """Any tokenizer.json."""

    name = "fastokens"

    def __init__(self, definition: dict[str, Any]) -> None:
        # Read once, at the first text of the process; without it the library takes every core of the machine.
        os.environ["FASTOKENS_BPE_THREADS"] = "1"
        from fastokens import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_json_str(json.dumps(definition))
        except ValueError as error:
            raise RecipeError(f"fastokens cannot read this tokenizer: {error}") from None

    def encode(self, texts: list[str]) -> Encoded:
        """Return the ids of the texts, without a Python object per token."""
        ids, offsets = self._tokenizer.encode_batch_flat(texts, add_special_tokens=False, split_special_tokens=True)
        return Encoded(np.frombuffer(ids, "<u4"), np.frombuffer(offsets, "<u8").astype(np.int64))

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids."""
        return str(self._tokenizer.decode(ids))


class Tiktoken:
    """Byte-pair encoding in GPT-2's form: bytes as characters, its splitting pattern, no normalisation."""

    name = "tiktoken"

    def __init__(self, definition: dict[str, Any]) -> None:
        from tiktoken import Encoding

        _require_gpt2_form(definition)
        pattern = import_module("tiktoken_ext.openai_public").r50k_pat_str  # ships without types
        vocabulary, alphabet = definition["model"]["vocab"], byte_alphabet()
        merged = (
            merge.replace(" ", "") if isinstance(merge, str) else "".join(merge)
            for merge in definition["model"]["merges"]
        )
        tokens = list(dict.fromkeys([*alphabet, *merged]))  # the order is the priority of merging
        ranks = {bytes(map(alphabet.__getitem__, token)): rank for rank, token in enumerate(tokens)}
        self._id_of_rank = np.array([vocabulary[token] for token in tokens], np.uint32)
        self._rank_of_id = {int(token): rank for rank, token in enumerate(self._id_of_rank)}
        added = {token["content"]: token["id"] for token in definition.get("added_tokens", ())}
        self._unmerged: dict[int, str] = {token: text for text, token in (vocabulary | added).items()}
        self._encoding = Encoding("gpt2-form", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def encode(self, texts: list[str]) -> Encoded:
        """Return the ids of the texts."""
        ranks = [self._encoding.encode_to_numpy(text, disallowed_special=()) for text in texts]
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(document) for document in ranks], out=offsets[1:])
        return Encoded(self._id_of_rank[np.concatenate(ranks)] if ranks else np.empty(0, np.uint32), offsets)

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids."""
        return b"".join(map(self._bytes_of, ids)).decode("utf-8", "replace")

    def _bytes_of(self, token: int) -> bytes:
        if token in self._rank_of_id:
            return bytes(self._encoding.decode_single_token_bytes(self._rank_of_id[token]))
        return self._unmerged[token].encode()


def byte_alphabet() -> dict[str, int]:
    """Return the character that stands for each byte in a byte-level vocabulary, character -> byte.

    Printable Latin-1 stands for itself; the rest, blanks and controls among them, takes the characters from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}


def _require_gpt2_form(definition: dict[str, Any]) -> None:
    model, splits = definition["model"], definition.get("pre_tokenizer") or {}
    absent = (
        "dropout",
        "unk_token",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "byte_fallback",
        "ignore_merges",
    )
    is_gpt2 = (
        model.get("type") == "BPE"
        and not any(model.get(option) for option in absent)
        and not definition.get("normalizer")
        and splits.get("type") == "ByteLevel"
        and not splits.get("add_prefix_space")
        and splits.get("use_regex", True)
        and all(token.get("special") for token in definition.get("added_tokens", ()))
        and byte_alphabet().keys() <= model["vocab"].keys()
    )
    if not is_gpt2:
        raise InfrastructureError(
            "fastokens is not installed, and tiktoken reads tokenizers of GPT-2's form only: pip install fastokens"
        )
