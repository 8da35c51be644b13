"""An exported model is GPT-2 to Hugging Face's own code, and gives the same logits."""

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch
from safetensors.torch import load_file

from curation.shards.errors import RecipeError
from tests.trainer.tiny import tables
from trainer import export as exporting
from trainer.config import Model, parse_config
from trainer.export import export
from trainer.init import initialise
from trainer.model import GPT


def made(tied: bool) -> tuple[GPT, Model]:
    """Return a model whose biases and norms are not at their start, which would hide a mistake in them."""
    model = parse_config(tables(model__tied=tied)).model
    gpt = GPT(model)
    initialise(gpt, model, seed=5)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in gpt.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return gpt.double(), model


@pytest.mark.parametrize("tied", [True, False])
def test_the_logits_are_those_of_hugging_faces_gpt2(tied, tmp_path):
    transformers = pytest.importorskip("transformers")
    gpt, model = made(tied)
    export(gpt, model, tmp_path)
    theirs, told = transformers.GPT2LMHeadModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(told[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert (theirs.lm_head.weight is theirs.transformer.wte.weight) == tied
    tokens = torch.randint(0, model.vocabulary, (3, model.sequence_tokens))
    with torch.no_grad():
        logits, expected = theirs.eval().double()(tokens).logits, gpt.float().double()(tokens)
    assert logits.shape[-1] == model.vocabulary
    assert torch.allclose(logits, expected[..., : model.vocabulary], rtol=0, atol=1e-12)


def test_the_padding_of_the_vocabulary_is_cut_off(tmp_path):
    gpt, model = made(tied=False)
    export(gpt, model, tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    assert weights["transformer.wte.weight"].shape[0] == weights["lm_head.weight"].shape[0] == model.vocabulary
    assert json.loads((tmp_path / "config.json").read_text())["vocab_size"] == model.vocabulary


def test_a_tied_output_layer_is_written_once(tmp_path):
    gpt, model = made(tied=True)
    export(gpt, model, tmp_path, dtype="bfloat16", eod=3)
    weights = load_file(tmp_path / "model.safetensors")
    assert "lm_head.weight" not in weights
    assert {tensor.dtype for tensor in weights.values()} == {torch.bfloat16}
    assert json.loads((tmp_path / "config.json").read_text())["eos_token_id"] == 3


def test_a_large_model_is_divided_into_files_with_an_index(tmp_path, monkeypatch):
    gpt, model = made(tied=False)
    whole, divided = tmp_path / "whole", tmp_path / "divided"
    export(gpt, model, whole)
    monkeypatch.setattr(exporting, "_SHARD_BYTES", 40_000)
    export(gpt, model, divided)
    index = json.loads((divided / "model.safetensors.index.json").read_text())
    expected = load_file(whole / "model.safetensors")
    assert set(index["weight_map"]) == set(expected)
    assert len(set(index["weight_map"].values())) > 2
    for name, file in index["weight_map"].items():
        assert torch.equal(load_file(divided / file)[name], expected[name])


def test_a_model_is_not_written_over_another(tmp_path):
    gpt, model = made(tied=True)
    export(gpt, model, tmp_path)
    with pytest.raises(RecipeError, match="already holds a model"):
        export(gpt, model, tmp_path)
