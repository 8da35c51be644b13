"""`evaluate`: a checkpoint's perplexity on the held-out shards of each source, and its scores on the paper's tasks.

Alone, one process reads the whole model. Started by torchrun, the model is divided as its recipe says, and the first
process prints.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from curation.shards.errors import RecipeError
from curation.shards.tokenizer import Tokenizer, TokenizerSpec
from curation.shards.tokenizer import load as load_tokenizer
from trainer import mesh as meshes
from trainer.checkpoint import find, read_model, read_recipe
from trainer.config import Config
from trainer.data import TrainingData
from trainer.ranking import Score, Scorer
from trainer.scorers import DividedModel, WholeModel
from trainer.tasks import TaskScore, read_contaminated, read_tasks, score_task


@dataclass(frozen=True, slots=True)
class SourceScore:
    """Loss on the held-out rows of a source, in nats per token."""

    source: str
    tokens: int
    loss: float

    @property
    def perplexity(self) -> float:
        """Of a token."""
        return math.exp(self.loss)


def score_shards(shards: str, config: Config, scorer: Scorer, sequences: int) -> Iterator[SourceScore]:
    """Yield the loss on the first held-out rows of each source; one whose pairs are shorter than a row has none."""
    data = TrainingData(shards, config)
    for source in data.sources:
        rows = data.held_out(source, sequences)
        if len(rows):
            scored = scorer(list(rows))
            total = math.fsum(float(one.losses.sum()) for one in scored)
            tokens = len(rows) * config.model.sequence_tokens
            yield SourceScore(source, tokens, total / tokens)


@contextmanager
def _model(checkpoint: str) -> Iterator[tuple[Config, Scorer]]:
    """Give the recipe and the model of a checkpoint, whole or divided over the processes that were started."""
    place = meshes.Place.from_environment()
    if place is None:
        config, gpt = read_model(checkpoint)
        yield config, WholeModel(gpt, config.model.vocabulary)
        return
    folder = find(checkpoint)
    config = read_recipe(folder)
    with meshes.processes(place) as device:
        layout = config.layout(place.world)
        divided = DividedModel(config, layout, meshes.build(layout, device.type), device)
        divided.read(folder)
        yield config, divided


def _tokenizer(spec: TokenizerSpec, config: Config) -> Tokenizer:
    tokenizer = load_tokenizer(spec, lambda path: Path(path).read_bytes())
    if tokenizer.largest_id >= config.model.vocabulary:
        raise RecipeError(
            f"the tokenizer's largest id is {tokenizer.largest_id:,}, but model.vocabulary = "
            f"{config.model.vocabulary:,}; name the tokenizer of the model's shards in the recipe of tasks"
        )
    return tokenizer


def _task_scores(options: argparse.Namespace, config: Config, scorer: Scorer) -> Iterator[TaskScore]:
    tasks = read_tasks(options.tasks)
    table = read_contaminated(options.contamination) if options.contamination else None
    tokenizer, window = _tokenizer(tasks.tokenizer, config), config.model.sequence_tokens
    for task in tasks.task:
        for shots in (0, 1, task.few):
            yield score_task(task, shots, scorer, tokenizer, window, table)


def _parser() -> argparse.ArgumentParser:
    one = argparse.ArgumentParser(
        prog="python -m trainer evaluate", description="Perplexity and tasks of a checkpoint."
    )
    one.add_argument("checkpoint", metavar="CHECKPOINT", help="folder of a checkpoint, or of several: then the latest")
    one.add_argument("--shards", metavar="DIR", help="perplexity on the held-out pairs beside DIR/blend.json")
    one.add_argument("--sequences", type=int, default=1000, metavar="N", help="of each source, at most (default: 1000)")
    one.add_argument("--tasks", metavar="FILE", help="recipe of tasks, TOML")
    one.add_argument(
        "--contamination", metavar="FILE", help="`curate contamination WORK --examples --json`, for clean scores"
    )
    one.add_argument("--json", action="store_true", help="print JSON")
    return one


def main(argv: Sequence[str]) -> int:
    """Evaluate as the arguments ask, and print."""
    options = _parser().parse_args(argv)
    if not (options.shards or options.tasks):
        raise RecipeError("nothing to evaluate; give --shards DIR, or --tasks FILE, or both")
    with _model(options.checkpoint) as (config, scorer):
        sources = list(score_shards(options.shards, config, scorer, options.sequences)) if options.shards else []
        tasks = list(_task_scores(options, config, scorer)) if options.tasks else []
    if os.environ.get("RANK", "0") == "0":
        text = json.dumps(_plain(sources, tasks), indent=1) if options.json else "\n".join(_lines(sources, tasks))
        print(text, file=sys.stdout)
    return 0


def _plain(sources: Sequence[SourceScore], tasks: Sequence[TaskScore]) -> dict[str, Any]:
    held_out = [{**asdict(source), "perplexity": source.perplexity} for source in sources]
    return {"held_out": held_out, "tasks": [asdict(task) for task in tasks]}


def _lines(sources: Sequence[SourceScore], tasks: Sequence[TaskScore]) -> Iterator[str]:
    if sources:
        yield f"{'source':<24}{'tokens':>12}{'loss':>10}{'perplexity':>12}"
        yield from (f"{s.source:<24}{s.tokens:>12,}{s.loss:>10.4f}{s.perplexity:>12,.2f}" for s in sources)
    if tasks:
        yield f"{'task':<16}{'shots':>6}" + _HEAD + ("  clean:" + _HEAD if tasks[0].clean else "")
    for task in tasks:
        clean = "        " + _cells(task.clean) if task.clean else ""
        yield f"{task.task:<16}{task.shots:>6}{_cells(task.all)}{clean}"


_HEAD = f"{'questions':>11}{'accuracy':>10}{'normalised':>12}{'perplexity':>12}"


def _cells(score: Score) -> str:
    perplexity = None if score.accuracy_normalised is not None else score.perplexity
    texts = ["–" if x is None else f"{x:.3f}" for x in (score.accuracy, score.accuracy_normalised)]
    return (
        f"{score.questions:>11,}{texts[0]:>10}{texts[1]:>12}"
        + f"{'–' if perplexity is None else f'{perplexity:,.2f}':>12}"
    )
