"""Backends: the fast library and the mature one give the same ids, and one stands in for the other."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.errors import InfrastructureError, RecipeError
from curation.shards import backends
from curation.shards.backends import BYTE_LEVEL, Backend, Fastokens, Tiktoken, byte_alphabet, choose


def definition_of(vocabulary: dict[str, int], merges: list[str], **changes: object) -> dict[str, Any]:
    model = {"type": "BPE", "vocab": vocabulary, "merges": merges}
    return {
        "version": "1.0",
        "model": model,
        "pre_tokenizer": BYTE_LEVEL,
        "decoder": BYTE_LEVEL,
        "added_tokens": [],
    } | changes


def read_merges(data: bytes) -> list[str]:
    return [line for line in data.decode().split("\n")[1:] if line]


@pytest.fixture(scope="module")
def tiny_definition(tiny_files: dict[str, bytes]) -> dict[str, Any]:
    return definition_of(json.loads(tiny_files["vocab.json"]), read_merges(tiny_files["merges.txt"]))


@pytest.fixture(scope="module")
def gpt2_pair(real_data: Path) -> tuple[Backend, Backend]:
    folder = real_data / "tokenizer"
    vocabulary = json.loads((folder / "gpt2-vocab.json").read_bytes())
    definition = definition_of(vocabulary, read_merges((folder / "gpt2-merges.txt").read_bytes()))
    return Fastokens(definition), Tiktoken(definition)


def assert_equal_ids(one: Backend, other: Backend, texts: list[str]) -> None:
    a, b = one.encode(texts), other.encode(texts)
    np.testing.assert_array_equal(a.offsets, b.offsets)
    np.testing.assert_array_equal(a.ids, b.ids)
    assert (a.ids.dtype, a.offsets.dtype) == (b.ids.dtype, b.offsets.dtype) == (np.uint32, np.int64)


texts = st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=80), max_size=5)
spiky = st.lists(st.text(alphabet=" \n\t\r'’sdmtlvre19ABab.-é½١東\u00a0\u2028<|endoftext|>", max_size=60), max_size=5)


@given(texts | spiky)
@settings(max_examples=300, deadline=None)
def test_both_libraries_agree_on_a_small_vocabulary(tiny_definition: dict[str, Any], documents: list[str]) -> None:
    pytest.importorskip("tiktoken")
    assert_equal_ids(Fastokens(tiny_definition), Tiktoken(tiny_definition), documents)


@given(documents=texts | spiky)
@settings(max_examples=500, deadline=None)
def test_both_libraries_agree_on_gpt2(gpt2_pair: tuple[Backend, Backend], documents: list[str]) -> None:
    assert_equal_ids(*gpt2_pair, documents)


def test_both_libraries_agree_on_real_documents(gpt2_pair: tuple[Backend, Backend], real_data: Path) -> None:
    files = sorted(path for path in (real_data / "encoding").rglob("*") if path.is_file())
    files += sorted(
        path for path in (real_data / "sources").rglob("*") if path.is_file() and path.stat().st_size < 2**21
    )
    texts = [path.read_bytes()[:200_000].decode("utf-8", "replace") for path in files]
    assert sum(map(len, texts)) > 1_000_000
    for text in texts:
        assert_equal_ids(*gpt2_pair, [text])


def test_ids_need_not_follow_the_order_of_merges(tiny_definition: dict[str, Any]) -> None:
    vocabulary = tiny_definition["model"]["vocab"]
    last = len(vocabulary) - 1
    backwards = {token: last - number for token, number in vocabulary.items()}
    definition = definition_of(backwards, tiny_definition["model"]["merges"])
    documents = ["In 1911, people wrote letters", "", "naïve"]
    assert_equal_ids(Fastokens(definition), Tiktoken(definition), documents)
    expected = last - Tiktoken(tiny_definition).encode(documents).ids
    np.testing.assert_array_equal(Tiktoken(definition).encode(documents).ids, expected)


def test_both_libraries_decode_alike(tiny_definition: dict[str, Any]) -> None:
    definition = tiny_definition | {"added_tokens": []}
    ids = [*range(60, 400, 3), definition["model"]["vocab"]["<|endoftext|>"]]
    assert Tiktoken(definition).decode(ids) == Fastokens(definition).decode(ids)


def test_tiktoken_stands_in_where_fastokens_is_missing(
    tiny_definition: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert choose(tiny_definition).name == "fastokens"
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    assert choose(tiny_definition).name == "tiktoken"


@pytest.mark.parametrize(
    "changes",
    [
        {"normalizer": {"type": "NFC"}},
        {"pre_tokenizer": BYTE_LEVEL | {"add_prefix_space": True}},
        {"pre_tokenizer": None},
        {"added_tokens": [{"content": "|||EMAIL|||", "id": 9, "special": False}]},
        {"model": {"type": "Unigram", "vocab": []}},
        {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}},
    ],
)
def test_tiktoken_does_not_stand_in_for_another_form(tiny_definition: dict[str, Any], changes: dict[str, Any]) -> None:
    with pytest.raises(InfrastructureError, match="pip install fastokens"):
        Tiktoken(tiny_definition | changes)


def test_a_definition_that_fastokens_cannot_read_is_the_recipes_fault(tiny_definition: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match="fastokens cannot read this tokenizer"):
        Fastokens(tiny_definition | {"pre_tokenizer": {"type": "NoSuchThing"}})


def test_every_byte_has_one_character() -> None:
    alphabet = byte_alphabet()
    assert sorted(alphabet.values()) == list(range(256))
    assert (alphabet["A"], alphabet["Ġ"], alphabet["Ċ"]) == (0x41, 0x20, 0x0A)
