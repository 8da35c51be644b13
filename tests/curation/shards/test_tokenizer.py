"""Tokenizers: text is data, ids are the oracle's, digests say what ids mean."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from curation.errors import RecipeError
from curation.shards import tokenizer as module
from curation.shards.tokenizer import Encoded, Tokenizer, TokenizerSpec, load

SPEC = TokenizerSpec(vocab="vocab.json", merges="merges.txt")
Files = dict[str, bytes]


def tokenizer_json(files: Files, **changes: object) -> bytes:
    model = {
        "type": "BPE",
        "vocab": json.loads(files["vocab.json"]),
        "merges": files["merges.txt"].decode().split("\n")[1:-1],
    }
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    whole = {"version": "1.0", "added_tokens": [], "pre_tokenizer": level, "decoder": level, "model": model}
    return json.dumps(whole | changes).encode()


def added(content: str, number: int, **flags: bool) -> dict[str, object]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {"id": number, "content": content} | plain | flags


texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60)


@given(st.lists(texts, max_size=8))
@settings(deadline=None)
def test_ids_decode_to_the_text_they_came_from(tiny: Tokenizer, documents: list[str]) -> None:
    encoded = tiny.encode_batch(documents)
    assert len(encoded) == len(documents)
    assert [tiny.decode(encoded[number]) for number in range(len(documents))] == documents


@given(st.lists(texts, max_size=8))
@settings(deadline=None)
def test_a_document_has_the_same_ids_in_any_batch(tiny: Tokenizer, documents: list[str]) -> None:
    together = tiny.encode_batch(documents)
    for number, document in enumerate(documents):
        np.testing.assert_array_equal(together[number], tiny.encode_batch([document]).ids)


def test_merges_are_applied_in_the_order_they_were_learnt(tiny: Tokenizer) -> None:
    assert len(tiny.encode_batch([" letter"]).ids) < len(" letter")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_an_arrow_slice_is_encoded_as_its_strings_are(tiny: Tokenizer, kind: pa.DataType) -> None:
    array = pa.array(["left out", "über", "", "東京"], kind)[1:]
    expected = tiny.encode_batch(["über", "", "東京"])
    found = tiny.encode_batch(array)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.offsets, expected.offsets)


def test_nothing_to_encode_gives_no_ids(tiny: Tokenizer) -> None:
    for documents in ([], [""], ["", ""]):
        encoded = tiny.encode_batch(documents)
        assert (len(encoded), len(encoded.ids)) == (len(documents), 0)


def test_a_document_beyond_the_batch_is_refused(tiny: Tokenizer) -> None:
    with pytest.raises(IndexError, match="document 1 of 1"):
        tiny.encode_batch(["one"])[1]


def test_end_of_document_in_a_text_is_data(tiny: Tokenizer) -> None:
    text = "what <|endoftext|> means<|endoftext|>"
    ids = tiny.encode_batch([text]).ids
    assert tiny.eod not in ids
    assert tiny.decode(ids) == text


def test_added_special_tokens_in_a_text_are_data_and_other_added_tokens_are_not(
    tiny_files: Files, tiny: Tokenizer
) -> None:
    user, mail = tiny.eod + 1, tiny.eod + 2
    tokens = [added("<|endoftext|>", tiny.eod), added("<|user|>", user, special=True), added("|||EMAIL|||", mail)]
    file = tokenizer_json(tiny_files, added_tokens=tokens)
    tokenizer = load(TokenizerSpec(file="t.json"), {"t.json": file}.__getitem__)
    ids = tokenizer.encode_batch(["<|user|> wrote |||EMAIL||| <|endoftext|>"]).ids
    assert {user, tokenizer.eod}.isdisjoint(ids)
    assert mail in ids
    assert (tokenizer.largest_id, tokenizer.vocabulary_size) == (mail, mail + 1)


def test_a_template_adds_no_tokens_and_truncation_cuts_none(tiny_files: Files, tiny: Tokenizer) -> None:
    eod = {"id": "<|endoftext|>", "type_id": 0}
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": eod}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [tiny.eod], "tokens": ["<|endoftext|>"]}},
    }
    cut = {"max_length": 2, "stride": 0, "strategy": "LongestFirst", "direction": "Right"}
    file = tokenizer_json(tiny_files, post_processor=template, truncation=cut)
    tokenizer = load(TokenizerSpec(file="t.json"), {"t.json": file}.__getitem__)
    np.testing.assert_array_equal(
        tokenizer.encode_batch(["In 1911 people"]).ids, tiny.encode_batch(["In 1911 people"]).ids
    )


def test_a_tokenizer_that_makes_control_tokens_of_text_is_refused(
    tiny_files: Files, tiny: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Naive:
        name = "naive"

        def encode(self, texts: list[str]) -> Encoded:
            return Encoded(np.array([tiny.eod], np.uint32), np.array([0, 1]))

        def decode(self, ids: list[int]) -> str:
            return ""

    monkeypatch.setattr(module, "choose", lambda definition: Naive())
    with pytest.raises(RecipeError, match="makes a control token of the text"):
        load(SPEC, tiny_files.__getitem__)


def test_the_digest_says_what_ids_mean_and_not_how_files_are_laid_out(tiny_files: Files, tiny: Tokenizer) -> None:
    vocabulary = json.loads(tiny_files["vocab.json"])
    layout = {"vocab.json": json.dumps(vocabulary, indent=2, sort_keys=True).encode()}
    swapped = {"vocab.json": json.dumps(vocabulary | {"A": vocabulary["B"], "B": vocabulary["A"]}).encode()}
    assert load(SPEC, (tiny_files | layout).__getitem__).digest == tiny.digest
    assert load(SPEC, (tiny_files | swapped).__getitem__).digest != tiny.digest
    other_end = tokenizer_json(tiny_files, added_tokens=[added("<|end|>", tiny.eod + 1)])
    specs = (TokenizerSpec(file="t.json", end_of_document=end) for end in ("<|endoftext|>", "<|end|>"))
    assert len({load(spec, {"t.json": other_end}.__getitem__).digest for spec in specs}) == 2


@pytest.mark.parametrize(
    "fields", [{}, {"vocab": "v"}, {"merges": "m"}, {"vocab": "v", "merges": "m", "file": "f"}, {"file": "f", "x": 1}]
)
def test_a_specification_names_one_form_of_files(fields: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        TokenizerSpec.model_validate(fields)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"vocab.json": b"{"}, "vocab.json is not JSON"),
        ({"vocab.json": b"[1]"}, "vocab.json holds no JSON object"),
        ({"vocab.json": b"{}", "merges.txt": b""}, "vocab.json holds no vocabulary"),
        ({"merges.txt": b"#version: 0.2\none two three\n"}, "merges.txt is no list of merges"),
        ({"merges.txt": b"zz zz\n"}, "the two do not belong together"),
    ],
)
def test_files_that_are_no_tokenizer_are_refused_by_name(tiny_files: Files, damage: Files, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        load(SPEC, (tiny_files | damage).__getitem__)


def test_an_end_of_document_that_is_no_token_is_refused(tiny_files: Files) -> None:
    with pytest.raises(RecipeError, match="has no token '</s>'; set end_of_document"):
        load(SPEC.model_copy(update={"end_of_document": "</s>"}), tiny_files.__getitem__)


COUNT_THREADS = """
import os, sys
from pathlib import Path
from curation.shards.tokenizer import TokenizerSpec, load

threads = lambda: len(os.listdir("/proc/self/task"))
before = threads()
folder = Path(sys.argv[1])
spec = TokenizerSpec(vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"))
load(spec, lambda path: Path(path).read_bytes()).encode_batch(["In 1911, 2,400 people lived there. " * 20_000] * 20)
print(threads() - before)
"""


def test_encoding_starts_no_threads(tiny_files: Files, tmp_path: Path) -> None:
    if not Path("/proc/self/task").exists():
        pytest.skip("counts the threads of Linux")
    for name, content in tiny_files.items():
        (tmp_path / name).write_bytes(content)
    path = os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FASTOKENS")}
    environment["PYTHONPATH"] = path
    command = [sys.executable, "-c", COUNT_THREADS, str(tmp_path)]  # a process that has encoded nothing yet
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert int(result.stdout) == 0


def test_gpt2_is_the_vocabulary_we_think_it_is(gpt2: Tokenizer) -> None:
    assert (gpt2.vocabulary_size, gpt2.largest_id, gpt2.eod) == (50257, 50256, 50256)
    assert gpt2.encode_batch(["Hello world"]).ids.tolist() == [15496, 995]


@pytest.mark.parametrize(
    ("name", "eod"), [("gpt-neo-tokenizer.json", "<|endoftext|>"), ("llama-tokenizer.json", "</s>")]
)
def test_other_tokenizers_keep_control_tokens_out_of_text(real_data: Path, name: str, eod: str) -> None:
    spec = TokenizerSpec(file=str(real_data / "tokenizer" / name), end_of_document=eod)
    tokenizer = load(spec, lambda path: Path(path).read_bytes())
    text = "a        b <s> </s> <|padding|> <|endoftext|>"
    ids = tokenizer.encode_batch([text]).ids
    assert tokenizer.eod not in ids
    assert tokenizer.decode(ids) == text
