"""The paper's nine tasks from their files: with how many solved examples, and which of the questions are clean.

A recipe of tasks names the files as a corpus recipe names its benchmarks, so that the contamination table of a finished
run tells which examples its text had. Each score then stands beside that on the clean ones: those that the table could
look for and did not find.
"""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from curation.decontamination.benchmarks import Benchmark, records, resolve
from curation.shards.errors import RecipeError
from curation.shards.tokenizer import Tokenizer, TokenizerSpec
from trainer.prompts import Question, Unanswered, question
from trainer.ranking import Outcome, Score, Scorer, ask, shots_for, summary

_QUESTIONS = 256  # encoded and scored at once


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Task(_Table):
    """One of the nine tasks, from one file."""

    benchmark: Benchmark = Field(description="the file, as a corpus recipe names it")
    labels: str | None = Field(
        None, description="file with the answer of each example, one a line, where records lack it"
    )
    shots: Benchmark | None = Field(None, description="file of the solved examples; none: the others of the same file")
    shot_labels: str | None = Field(None, description="as `labels`, for `shots`")
    few: int = Field(10, ge=2, description="solved examples of the few-shot score")


class Tasks(_Table):
    """A recipe of tasks, and the tokenizer of the model."""

    task: tuple[Task, ...] = Field(min_length=1)
    tokenizer: TokenizerSpec = TokenizerSpec(builtin="gpt2")


class Contaminated(_Table):
    """What the contamination table says of a task: its examples, those that were found, those not looked for."""

    examples: int
    found: tuple[int, ...]
    unprotected: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TaskScore:
    """A task with so many solved examples before each question; `clean` is None without a contamination table."""

    task: str
    shots: int
    all: Score
    clean: Score | None


def read_tasks(path: str) -> Tasks:
    """Read a recipe of tasks; names of files are relative to it. Raises RecipeError where it is not one."""
    try:
        tasks = Tasks.model_validate(tomllib.loads(Path(path).read_text("utf-8")))
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror}; give the path of a recipe of tasks") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError) as error:
        raise RecipeError(f"{path}: not a recipe of tasks: {error}; docs/training.md shows one") from None
    return tasks.model_copy(update={"task": tuple(_below(Path(path).parent, task) for task in tasks.task)})


def _below(folder: Path, task: Task) -> Task:
    placed: dict[str, Any] = {}
    for name in ("benchmark", "shots"):
        file: Benchmark | None = getattr(task, name)
        if file is not None:
            placed[name] = file.model_copy(update={"path": str(folder / file.path)})
    for name in ("labels", "shot_labels"):
        if getattr(task, name) is not None:
            placed[name] = str(folder / getattr(task, name))
    return task.model_copy(update=placed)


def questions(benchmark: Benchmark, labels: str | None) -> list[Question]:
    """Return the questions of a file in its order.

    Raises:
        RecipeError: the file or its labels cannot be read, or an example lacks what its task needs.
    """
    known = resolve(benchmark, _open)
    answers = _read_labels(labels)
    found = []
    for row, record in records(known, _open):
        if answers is not None and row >= len(answers):
            raise RecipeError(f"{labels}: {len(answers):,} labels, but {benchmark.path} has more examples")
        try:
            found.append(question(str(known.format), record, answers[row] if answers is not None else None))
        except Unanswered as problem:
            raise RecipeError(f"{benchmark.path}: example {row} {problem}; name a file of `labels`?") from None
    return found


def _open(path: str) -> Any:
    try:
        return open(path, "rb")
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror}; paths are relative to the recipe of tasks") from None


def _read_labels(path: str | None) -> list[str] | None:
    if path is None:
        return None
    with _open(path) as file:
        lines: list[str] = file.read().decode().split()
    return lines


def score_task(
    task: Task, shots: int, scorer: Scorer, tokenizer: Tokenizer, window: int, table: dict[str, Contaminated] | None
) -> TaskScore:
    """Return the score of a task with so many solved examples before each question."""
    asked = questions(task.benchmark, task.labels)
    solved = questions(task.shots, task.shot_labels) if task.shots is not None else asked
    outcomes: list[Outcome] = []
    for first in range(0, len(asked), _QUESTIONS):
        outcomes += ask(
            asked[first : first + _QUESTIONS],
            lambda number, first=first: shots_for(first + number, shots, solved, own=solved is asked),  # type: ignore[misc]
            tokenizer,
            window,
            scorer,
        )
    name = resolve(task.benchmark, _open).task
    clean = None if table is None else summary(_clean(outcomes, name, table))
    return TaskScore(name, shots, summary(outcomes), clean)


def _clean(outcomes: Sequence[Outcome], name: str, table: dict[str, Contaminated]) -> list[Outcome]:
    if name not in table:
        raise RecipeError(f"the contamination table has no task {name}; it has {', '.join(sorted(table))}")
    about = table[name]
    if about.examples != len(outcomes):
        raise RecipeError(
            f"{name} has {about.examples:,} examples in the contamination table and {len(outcomes):,} here, so this is "
            "another file; evaluate on the one that the corpus recipe names"
        )
    unclean = {*about.found, *about.unprotected}
    return [outcome for row, outcome in enumerate(outcomes) if row not in unclean]


def read_contaminated(path: str) -> dict[str, Contaminated]:
    """Read what `curate contamination WORK --examples --json` printed. Raises RecipeError where it is not that."""
    try:
        tables = json.loads(Path(path).read_bytes())
        return {name: Contaminated.model_validate(about) for name, about in tables.items()}
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror}; give the file of a contamination table") from None
    except (ValueError, AttributeError):
        raise RecipeError(
            f"{path}: no contamination table; `curate contamination WORK --examples --json > {path}` makes one"
        ) from None
