"""`export`: a checkpoint as Hugging Face's GPT-2, a folder with weights in safetensors and a config.json.

The architecture is the same, so the logits are: only names differ, the order of q, k and v, and which side of a matrix
comes first. The rows that padded the vocabulary are cut off.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from curation.shards.errors import RecipeError
from trainer.checkpoint import read_model
from trainer.config import Model
from trainer.model import GPT

_PARTS = {
    "attention_norm": "ln_1",
    "attention.qkv": "attn.c_attn",
    "attention.out": "attn.c_proj",
    "mlp_norm": "ln_2",
    "mlp.up": "mlp.c_fc",
    "mlp.down": "mlp.c_proj",
}
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_SHARD_BYTES = 5 << 30  # of a file; a larger model is divided, as Hugging Face's own are


def tensors(gpt: GPT, model: Model) -> Iterator[tuple[str, Tensor]]:
    """Yield the weights of a whole model under GPT-2's names, each in its shape there."""
    weights: dict[str, Tensor] = dict(gpt.named_parameters())
    yield "transformer.wte.weight", weights["token_embedding.weight"][: model.vocabulary]
    yield "transformer.wpe.weight", weights["position_embedding.weight"]
    for number in range(model.layers):
        for ours, theirs in _PARTS.items():
            for kind in ("weight", "bias"):
                tensor = weights[f"blocks.{number}.{ours}.{kind}"]
                if ours == "attention.qkv":
                    tensor = _apart(tensor, model.heads)
                yield f"transformer.h.{number}.{theirs}.{kind}", tensor.t() if tensor.dim() == 2 else tensor
    yield "transformer.ln_f.weight", weights["final_norm.weight"]
    yield "transformer.ln_f.bias", weights["final_norm.bias"]
    if not model.tied:
        yield "lm_head.weight", weights["head.weight"][: model.vocabulary]


def _apart(tensor: Tensor, heads: int) -> Tensor:
    """Reorder rows from [head, (q, k, v), width] to [(q, k, v), head, width]."""
    return tensor.view(heads, 3, -1, *tensor.shape[1:]).transpose(0, 1).reshape(tensor.shape)


def gpt2_config(model: Model, dtype: str, eod: int | None) -> dict[str, Any]:
    """Return what config.json says."""
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": model.vocabulary,
        "n_positions": model.sequence_tokens,
        "n_embd": model.hidden,
        "n_layer": model.layers,
        "n_head": model.heads,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "tie_word_embeddings": model.tied,
        "bos_token_id": eod,
        "eos_token_id": eod,
        "torch_dtype": dtype,
    }


def export(gpt: GPT, model: Model, folder: Path, dtype: str = "float32", eod: int | None = None) -> list[Path]:
    """Write a model to a folder, and return the files.

    Args:
        gpt: the whole model.
        model: its sizes.
        folder: may be there, but must hold no weights.
        dtype: of the weights written.
        eod: id of the end-of-document token, for those who generate text.

    Raises:
        RecipeError: the folder already holds a model.
    """
    if any(folder.glob("*.safetensors")):
        raise RecipeError(f"{folder} already holds a model; export into another folder")
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "config.json"
    config.write_text(json.dumps(gpt2_config(model, dtype, eod), indent=1), "utf-8")
    return [config, *_write_weights(gpt, model, folder, DTYPES[dtype])]


def _write_weights(gpt: GPT, model: Model, folder: Path, dtype: torch.dtype) -> Iterator[Path]:
    """Write the weights in files of bounded size, with an index where there are several."""
    groups = _groups(gpt, model, dtype)
    names = ["model.safetensors"]
    if len(groups) > 1:
        names = [f"model-{number:05}-of-{len(groups):05}.safetensors" for number in range(1, len(groups) + 1)]
    found = dict(tensors(gpt, model))
    for name, group in zip(names, groups, strict=True):
        chosen = {key: found[key].detach().to(dtype).contiguous() for key in group}
        save_file(chosen, folder / name, metadata={"format": "pt"})
        yield folder / name
    if len(groups) > 1:
        places = {key: name for name, group in zip(names, groups, strict=True) for key in group}
        total = sum(tensor.numel() for tensor in found.values()) * dtype.itemsize
        index = folder / "model.safetensors.index.json"
        index.write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": places}, indent=1), "utf-8")
        yield index


def _groups(gpt: GPT, model: Model, dtype: torch.dtype) -> list[list[str]]:
    groups: list[list[str]] = [[]]
    size = 0
    for name, tensor in tensors(gpt, model):
        size += tensor.numel() * dtype.itemsize
        if size > _SHARD_BYTES and groups[-1]:
            groups.append([])
            size = tensor.numel() * dtype.itemsize
        groups[-1].append(name)
    return groups


def main(argv: Sequence[str]) -> int:
    """Export as the arguments ask."""
    one = argparse.ArgumentParser(prog="python -m trainer export", description="A checkpoint as Hugging Face's GPT-2.")
    one.add_argument("checkpoint", metavar="CHECKPOINT", help="folder of a checkpoint, or of several: then the latest")
    one.add_argument("folder", metavar="FOLDER", help="where config.json and model.safetensors go")
    one.add_argument("--dtype", choices=sorted(DTYPES), default="float32", help="of the weights (default: float32)")
    one.add_argument(
        "--eod", type=int, metavar="ID", help="end-of-document token, `eod` in shards.json; 50256 for GPT-2's"
    )
    options = one.parse_args(argv)
    config, gpt = read_model(options.checkpoint)
    for path in export(gpt, config.model, Path(options.folder), options.dtype, options.eod):
        print(path)
    return 0
