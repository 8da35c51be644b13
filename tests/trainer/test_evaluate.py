"""A checkpoint is scored alike by one process and by many, on shards and on tasks, and the result is printed."""

import json
import os
import socket

import pytest

pytest.importorskip("torch")

import numpy as np
import torch
from torch.distributed.checkpoint.state_dict_saver import save
from torch.nn import functional

from curation.shards.backends import byte_alphabet
from curation.shards.errors import RecipeError
from tests.trainer import examples, tiny
from trainer.checkpoint import PAPER, VERSION, read_model
from trainer.config import parse_config
from trainer.data import TrainingData
from trainer.evaluate import main
from trainer.init import initialise
from trainer.loop import CHECKPOINTS
from trainer.model import GPT
from trainer.scorers import WholeModel

BYTES = 257  # each byte, and the end of a document


@pytest.fixture
def of_bytes(tmp_path):
    """A checkpoint of a model whose tokens are bytes, and the folder of its tokenizer and of tasks."""
    config = parse_config(tiny.tables(model__vocabulary=BYTES, model__padded_vocabulary=260, model__sequence_tokens=96))
    gpt = GPT(config.model)
    initialise(gpt, config.model, seed=1)
    folder = tmp_path / "step-00000001"
    save(
        {f"model.{name}": tensor.detach() for name, tensor in gpt.named_parameters()},
        checkpoint_id=folder,
        no_dist=True,
    )
    recipe = config.model_dump(mode="json")
    (folder / PAPER).write_text(json.dumps({"version": VERSION, "progress": {}, "data": "", "recipe": recipe}))
    model = {"type": "BPE", "vocab": {**byte_alphabet(), "<|endoftext|>": 256}, "merges": []}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    definition = {"version": "1.0", "model": model, "pre_tokenizer": level, "decoder": level, "added_tokens": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps(definition))
    examples.write(tmp_path)
    names = "\n".join(f'[[task]]\nbenchmark = "{name}.jsonl"\nfew = 2' for name in ("lambada", "piqa"))
    (tmp_path / "tasks.toml").write_text(f'{names}\n[tokenizer]\nfile = "{tmp_path}/tokenizer.json"\n')
    return folder


def test_tasks_are_scored_with_no_one_and_few_examples_and_on_the_clean_ones(of_bytes, tmp_path, capsys):
    about = {"examples": 5, "found": [1], "unprotected": []}
    (tmp_path / "table.json").write_text(json.dumps({"lambada": about, "piqa": about}))
    words = [str(of_bytes), "--tasks", str(tmp_path / "tasks.toml"), "--contamination", str(tmp_path / "table.json")]
    assert main([*words, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["tasks"]
    assert [(s["task"], s["shots"]) for s in scores] == [(t, n) for t in ("lambada", "piqa") for n in (0, 1, 2)]
    assert all(s["all"]["questions"] == 5 and s["clean"]["questions"] == 4 for s in scores)
    assert main(words) == 0
    text = capsys.readouterr().out.splitlines()
    assert len(text) == 7
    assert text[0].split()[:4] == ["task", "shots", "questions", "accuracy"]


def test_a_tokenizer_larger_than_the_model_is_refused(of_bytes, tmp_path):
    (tmp_path / "tasks.toml").write_text('[[task]]\nbenchmark = "piqa.jsonl"\n')
    with pytest.raises(RecipeError, match=r"largest id is 50,256, but model\.vocabulary = 257"):
        main([str(of_bytes), "--tasks", str(tmp_path / "tasks.toml")])


def test_something_must_be_asked_for(of_bytes):
    with pytest.raises(RecipeError, match="nothing to evaluate"):
        main([str(of_bytes)])


def test_the_loss_of_a_source_is_that_of_its_held_out_rows(eight, shards, capsys):
    assert main([str(eight / CHECKPOINTS), "--shards", str(shards), "--json"]) == 0
    found = {one["source"]: one for one in json.loads(capsys.readouterr().out)["held_out"]}
    config, gpt = read_model(eight / CHECKPOINTS)
    data = TrainingData(shards, config)
    assert set(found) == {"books", "web"}  # code has no held-out pair
    for source, one in found.items():
        rows = torch.from_numpy(data.held_out(source, 1000))
        with torch.no_grad():
            logits = gpt(rows[:, :-1])[..., : config.model.vocabulary]
        loss = functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()).item()
        assert one["loss"] == pytest.approx(loss, abs=1e-12)
        assert one["perplexity"] == pytest.approx(np.exp(loss))
        assert one["tokens"] == rows[:, 1:].numel()


def test_rows_of_any_length_are_scored_in_their_order(eight):
    config, gpt = read_model(eight / CHECKPOINTS)
    scorer = WholeModel(gpt, config.model.vocabulary)
    random = np.random.Generator(np.random.Philox(key=3))
    rows = [random.integers(0, 60, length) for length in (5, 17, 2, 9, 17)]
    together = scorer(rows)
    for row, scored in zip(rows, together, strict=True):
        (alone,) = scorer([row])
        assert len(scored.losses) == len(scored.likeliest) == len(row) - 1
        assert scored.losses == pytest.approx(alone.losses, abs=1e-12)
    assert scorer([]) == []


def _as_one_of(rank: int, world: int, port: int, words: list[str], out: str) -> None:
    """Be one of the processes that torchrun would start."""
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()}, GLOO_SOCKET_IFNAME="lo")
    import contextlib

    with open(out, "w") as file, contextlib.redirect_stdout(file):
        raise SystemExit(main(words))


def test_eight_processes_score_as_one_does(eight, shards, tmp_path, capsys):
    words = [str(eight / CHECKPOINTS), "--shards", str(shards), "--json"]
    assert main(words) == 0
    alone = json.loads(capsys.readouterr().out)["held_out"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    outs = [tmp_path / f"{rank}.json" for rank in range(8)]
    processes = [
        tiny._server().Process(target=_as_one_of, args=(rank, 8, port, words, str(out)))
        for rank, out in enumerate(outs)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 8
    assert not any(out.read_text() for out in outs[1:])
    for ours, theirs in zip(json.loads(outs[0].read_text())["held_out"], alone, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], abs=1e-12)
