"""Benchmark files as their authors publish them, read into the texts that must not be trained on.

A recipe names each file, as a bare path where file name or content tell the benchmark, or as a `Benchmark` that says
it. A benchmark is small and trusted: anything wrong with it is an error that names file and record, never a skip,
since an example that is skipped in silence is an example unprotected.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

from curation.decontamination import Mode
from curation.decontamination.records import Container, Record, WrongFile, elements, read_records, values
from curation.decontamination.tasks import NAMED, Layout
from curation.errors import RecipeError

OpenStream = Callable[[str], BinaryIO]
Format = Literal["lambada", "race", "boolq", "piqa", "hellaswag", "winogrande", "anli", "hans", "wic", "general"]


class BenchmarkError(RecipeError):
    """A benchmark file that is not what the recipe says, or of which nothing says what it is."""


class Example(NamedTuple):
    """The texts of one benchmark example that must not be trained on, and its row in the benchmark's file, from 0."""

    task: str
    row: int
    texts: tuple[str, ...]


class Benchmark(BaseModel):
    """One file of a benchmark, as a recipe names it; a bare path is one, too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str = Field(min_length=1, description="the file, local or remote; may be compressed or an archive")
    task: str = Field(default="", description="name in reports; default: the format's name")
    format: Format | None = Field(default=None, description="layout of the file; default: told by name or content")
    fields: tuple[str, ...] = Field(
        default=(),
        description="fields that protect, instead of the format's own; dots go into objects, lists are gone through",
    )
    each: str = Field(
        default="",
        description="where in a record its examples stand if it holds several, e.g. `paragraphs.qas` of SQuAD; "
        "`fields` are then those of an example",
    )
    container: Container | None = Field(default=None, description="default: told by the file's name or first bytes")
    members: str = Field(default="*", description="which files of an archive to read, e.g. `RACE/test/*`")

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, entry: object) -> object:
        return {"path": entry} if isinstance(entry, str) else entry


def read(benchmark: Benchmark, open_stream: OpenStream, mode: Mode) -> Iterator[Example]:
    """Yield the examples of a benchmark file in file order, rows numbered from 0 through all its members.

    `paper` protects what MT-NLG's tool did, most often the question alone; `extended` adds passages and options.

    Raises:
        BenchmarkError: the file is damaged, a record lacks a field, there are no records, or nothing tells the format.
    """
    benchmark = resolve(benchmark, open_stream)
    row = -1
    for row, (record, place) in enumerate(_examples(benchmark, open_stream)):
        with _placed(benchmark, place):
            texts = _texts(benchmark, record, mode)
        yield Example(benchmark.task, row, texts)
    if row < 0:
        raise BenchmarkError(f"benchmark {benchmark.path} holds no examples; check `path`, `container` and `members`")


def records(benchmark: Benchmark, open_stream: OpenStream) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield row and whole record of each example, rows numbered as `read` does: what an evaluation asks about.

    Raises:
        BenchmarkError: as `read`, but for fields, which are the caller's to look for.
    """
    benchmark = resolve(benchmark, open_stream)
    for row, (record, _) in enumerate(_examples(benchmark, open_stream)):
        yield row, record


def resolve(benchmark: Benchmark, open_stream: OpenStream) -> Benchmark:
    """Return the benchmark with its format and task filled in, from the file's name or else its first record.

    Raises:
        BenchmarkError: neither tells; the message says what to write.
    """
    layout = benchmark.format or ("general" if benchmark.fields else None)
    layout = layout or _format_by_name(benchmark.path) or _format_by_content(benchmark, open_stream)
    if layout == "general" and not benchmark.fields:
        raise BenchmarkError(f'benchmark {benchmark.path} has format "general" and no fields; write fields = ["…"]')
    task = benchmark.task or (layout if layout != "general" else PurePosixPath(benchmark.path).name.split(".")[0])
    return benchmark.model_copy(update={"format": layout, "task": task})


def _format_by_name(path: str) -> Format | None:
    """Tell the format by the last part of the path that names exactly one benchmark as a word."""
    for part in reversed(PurePosixPath(path.lower()).parts):
        named = [name for name in NAMED if re.search(rf"(?<![a-z]){name}(?![a-z])", part)]
        if len(named) == 1:
            return named[0]  # type: ignore[return-value]
    return None


def _format_by_content(benchmark: Benchmark, open_stream: OpenStream) -> Format:
    first = next(_records(benchmark, open_stream), None)
    keys = set(first.value) if first else set()
    fitting = [name for name, layout in NAMED.items() if any(signature <= keys for signature in layout.signatures)]
    if len(fitting) == 1:
        return fitting[0]  # type: ignore[return-value]
    raise BenchmarkError(
        f"benchmark {benchmark.path}: neither its name nor its first record tells one benchmark; write "
        f'{{ path = "{benchmark.path}", task = "…", fields = ["…"] }} with the fields to protect, or format = one of '
        + ", ".join(NAMED)
    )


def _examples(benchmark: Benchmark, open_stream: OpenStream) -> Iterator[Record]:
    """Yield the examples of all records: mostly one of each."""
    unfold = NAMED.get(str(benchmark.format), Layout()).unfold
    for record, place in _records(benchmark, open_stream):
        with _placed(benchmark, place):
            inner = elements(record, benchmark.each) if benchmark.each else unfold(record)
        yield from (Record(example, place) for example in inner)


def _records(benchmark: Benchmark, open_stream: OpenStream) -> Iterator[Record]:
    columns = NAMED.get(str(benchmark.format), Layout()).columns
    try:
        with open_stream(benchmark.path) as stream:
            yield from read_records(stream, benchmark.path, benchmark.container, benchmark.members, columns)
    except WrongFile as problem:
        raise BenchmarkError(f"benchmark {benchmark.path}, {problem}") from None


def _texts(benchmark: Benchmark, record: dict[str, Any], mode: Mode) -> tuple[str, ...]:
    """Return the texts of an example without repeats, in order."""
    if benchmark.fields:
        texts = [text for field in benchmark.fields for text in values(record, field)]
    else:
        texts = NAMED[str(benchmark.format)].texts(record, mode)
    return tuple(dict.fromkeys(texts))


@contextmanager
def _placed(benchmark: Benchmark, place: str) -> Iterator[None]:
    """Say in which record of which file something is wrong."""
    try:
        yield
    except WrongFile as problem:
        raise BenchmarkError(
            f'benchmark {benchmark.path}, {place}: {problem}; read as format "{benchmark.format}". '
            "Correct the file, or name its format or its fields in the recipe"
        ) from None
