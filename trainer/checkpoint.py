"""The state on disk: written by all processes while training goes on, complete only when `latest.json` names it.

A checkpoint is a folder of PyTorch's distributed format, `step-00000020`, with tensors under global names, and
`checkpoint.json`: position, updates, digest of the data's order, the recipe. It knows no layout, so any can resume.
The last files put down are `checkpoint.json` and then `latest.json`, which is replaced at once; folders that a killed
run left without the first are removed by the next.
"""

import json
import os
import shutil
import warnings
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import AsyncSaveResponse, async_save, save

from curation.shards.errors import IntegrityError, RecipeError
from trainer.config import Config, parse_config
from trainer.model import GPT
from trainer.optim import Adam
from trainer.parallel import parameter_dtype

VERSION = 1
PAPER, LATEST = "checkpoint.json", "latest.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Attributes:
        step: steps done, skipped ones too.
        consumed: samples consumed: the position in the data.
        updates: steps that changed the weights.
        skipped: skipped steps since the last one that did.
        trained_tokens: tokens of each source, by name, that were trained on.
    """

    step: int
    consumed: int
    updates: int
    skipped: int
    trained_tokens: Mapping[str, int]


class Checkpoints:
    """The checkpoints of a run, below one folder that all processes see."""

    def __init__(self, folder: Path, config: Config, adam: Adam, digest: str) -> None:
        """Take charge of a folder. All processes must do so together."""
        self._folder, self._config, self._adam, self._digest = folder, config, adam, digest
        # A group of its own: a save in the background must not mix its messages with those of training.
        self._group = dist.new_group(backend="gloo")
        self._pending: tuple[Future[Any], Progress] | None = None

    def resume(self) -> Progress | None:
        """Load the latest checkpoint and return its position; None if there is none.

        Raises:
            RecipeError: the recipe describes another model or another order of samples than the checkpoint's.
            IntegrityError: `latest.json` names a checkpoint that is not there.
        """
        self._on_first(self._remove_incomplete)
        folder = latest(self._folder)
        if folder is None:
            return None
        paper = _paper(folder)
        self._check(folder, paper)
        load(self._adam.state(), checkpoint_id=folder, process_group=self._group)
        progress = Progress(**paper["progress"])
        self._adam.set_updates(progress.updates)
        return progress

    def save(self, progress: Progress) -> None:
        """Write a checkpoint, or begin to; one that is still being written is waited for first."""
        self.finish()
        folder = self._folder / name(progress.step)
        if not dist.get_rank():  # after a roll-back one of this name may stand there; from here on it is not whole
            (folder / PAPER).unlink(missing_ok=True)
        if self._config.checkpoint.asynchronous:
            saving = async_save(self._adam.state(), checkpoint_id=folder, process_group=self._group)
            future = saving.upload_completion if isinstance(saving, AsyncSaveResponse) else saving
            self._pending = future, progress
        else:
            save(self._adam.state(), checkpoint_id=folder, process_group=self._group)
            self._complete(progress)

    def finish(self, wait: bool = True) -> None:
        """Put down what makes a checkpoint complete once it is written, or wait until it is."""
        if self._pending is not None and (wait or self._pending[0].done()):
            future, progress = self._pending
            future.result()
            self._complete(progress)
            self._pending = None

    def _complete(self, progress: Progress) -> None:
        if dist.get_rank():
            return
        recipe = self._config.model_dump(mode="json")
        paper = {"version": VERSION, "progress": asdict(progress), "data": self._digest, "recipe": recipe}
        _put(self._folder / name(progress.step) / PAPER, paper)
        _put(self._folder / LATEST, {"checkpoint": name(progress.step)})
        until_now = [folder for folder in complete(self._folder) if folder.name <= name(progress.step)]
        for old in until_now[: -self._config.checkpoint.keep]:
            shutil.rmtree(old)

    def _on_first(self, work: Any) -> None:
        if not dist.get_rank():
            work()
        dist.barrier(self._group)

    def _remove_incomplete(self) -> None:
        kept = complete(self._folder)
        for folder in self._folder.glob("step-*"):
            if folder not in kept:
                shutil.rmtree(folder)

    def _check(self, folder: Path, paper: Mapping[str, Any]) -> None:
        before = parse_config(paper["recipe"], str(folder / PAPER))
        if before.model != self._config.model:
            raise RecipeError(
                f"{folder} holds {before.model!r}, the recipe says {self._config.model!r}; train into another folder"
            )
        if paper["data"] != self._digest:
            raise RecipeError(
                f"{folder} was trained on samples of order {paper['data']}, these are of {self._digest}: its position "
                "means nothing here. Resume with the same shards, seed and training.tokens, or use another folder"
            )


def name(step: int) -> str:
    """Return the folder of a checkpoint."""
    return f"step-{step:08}"


def complete(folder: Path) -> list[Path]:
    """Return the checkpoints below a folder that were written to the end, oldest first."""
    return sorted(path.parent for path in folder.glob(f"step-*/{PAPER}"))


def latest(folder: Path) -> Path | None:
    """Return the checkpoint that a run goes on from; None if there is none."""
    try:
        found = folder / json.loads((folder / LATEST).read_text("utf-8"))["checkpoint"]
    except FileNotFoundError:
        return None
    if not (found / PAPER).exists():
        raise IntegrityError(
            f"{folder / LATEST} names {found.name}, which is not there; put it back, or remove the file"
        )
    return Path(found)


def find(folder: str | Path) -> Path:
    """Return the folder of one checkpoint: this one, or the latest of those in it. Raises RecipeError without any."""
    found = Path(folder) if (Path(folder) / PAPER).exists() else latest(Path(folder))
    if found is None:
        raise RecipeError(f"{folder}: no checkpoint; give the folder of one, step-NNNNNNNN, or of several")
    return found


def read_recipe(checkpoint: Path) -> Config:
    """Return the recipe that a checkpoint was made by."""
    return parse_config(_paper(checkpoint)["recipe"], str(checkpoint / PAPER))


def read_model(folder: str | Path) -> tuple[Config, GPT]:
    """Return the recipe and the whole model of a checkpoint, on the CPU, in one process without a group.

    Args:
        folder: of one checkpoint, or of several, of which the latest is read.

    Raises:
        RecipeError: there is no checkpoint.
    """
    found = find(folder)
    config = read_recipe(found)
    with torch.device("meta"):
        gpt = GPT(config.model).to(parameter_dtype(config.training))
    gpt.to_empty(device="cpu")
    if config.model.tied:
        gpt.head.weight = gpt.token_embedding.weight  # type: ignore[union-attr]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that there is no process group is meant
        wanted = {f"model.{key}": value.detach() for key, value in gpt.named_parameters()}
        load(wanted, checkpoint_id=found, no_dist=True)
    return config, gpt


def _paper(folder: Path) -> dict[str, Any]:
    paper: dict[str, Any] = json.loads((folder / PAPER).read_text("utf-8"))
    if paper["version"] != VERSION:
        raise IntegrityError(f"{folder / PAPER} has version {paper['version']}, this program reads {VERSION}")
    return paper


def _put(path: Path, content: Mapping[str, Any]) -> None:
    """Write a small file under a name of its own, make sure of it, then give it its name at once."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
