"""From a unit of input files to sealed shards, quarantine rows and an account of every unit and byte.

The files of a unit are read once, in order, by one task. Each of its units ends in exactly one place: a row of
`documents`, a row of `quarantine`, or a count of `drop[reason]`. Memory is one record, one batch and one row
group per source.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from curation import storage
from curation.commits import Commit
from curation.errors import InfrastructureError
from curation.identity import coin, doc_key
from curation.quarantine import guarded
from curation.reasons import Drop
from curation.recipe import Container, Recipe, Source, readings
from curation.registry import InputFile
from curation.sources.block_list import BlockList
from curation.sources.options import ReaderOptions
from curation.sources.pg19 import read_books
from curation.sources.pile import canonical_set_name
from curation.sources.registry import read_file
from curation.sources.sealing import QuarantineWriter, ShardWriter, document_row
from curation.sources.units import BadUnit, Dropped, FileEnd, Record, Skipped
from curation.sources.witness import Witness
from curation.stages import Unit
from curation.text.pipeline import DocumentText, document_text
from curation.text.sandbox import Sandbox

_BATCH_RECORDS = 64  # that wait for their texts; markup goes to the sandbox together
_BATCH_BYTES = 1 << 20  # of their content: what a pipe holds, and less than one record may
_FILE_DAMAGE = ("truncated", "bomb")  # errors of a unit that put its whole file in doubt


@dataclass(frozen=True)
class UnitTask:
    """All that a task needs to ingest one unit."""

    root: str
    input_root: str
    recipe: Recipe
    unit: Unit
    key: str
    numbers: Mapping[str, int]

    @property
    def sources(self) -> list[Source]:
        """The sources that the unit's records may belong to."""
        return [source for source in self.recipe.source if self.unit.group in (source.name, source.from_)]


@dataclass
class Account:
    """What became of every unit and byte, by source; a container's own name holds what belongs to no source."""

    received: dict[str, list[int]] = field(default_factory=dict)
    dropped: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    quarantined: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    files: list[dict[str, Any]] = field(default_factory=list)

    def receive(self, source: str, raw_bytes: int) -> None:
        """Count one unit in."""
        _add(self.received.setdefault(source, [0, 0]), raw_bytes)

    def drop(self, source: str, reason: Drop, raw_bytes: int) -> None:
        """Count one unit out, for a reason."""
        _add(self.dropped.setdefault(source, {}).setdefault(reason.value, [0, 0]), raw_bytes)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for the commit."""
        return {
            "in": self.received,
            "drop": self.dropped,
            "quarantined": dict(self.quarantined),
            "repaired": dict(self.repaired),
            "files": self.files,
        }


def ingest_unit(task: UnitTask) -> Commit:
    """Read a unit's files, write its shards and quarantine rows, and return the commit that describes them."""
    intake = _Intake(task)
    with contextlib.ExitStack() as stack:
        for writer in intake.shards.values():
            stack.enter_context(writer)
        stack.enter_context(intake.quarantine)
        stack.enter_context(intake.sandbox)
        for file in task.unit.files:
            intake.read(file)
    parts = [part for writer in intake.shards.values() for part in writer.parts]
    return Commit("ingest", task.unit.item, task.key, (*parts, *intake.quarantine.parts), intake.account.to_json())


class _Intake:
    """The state of one unit while it is read."""

    def __init__(self, task: UnitTask) -> None:
        self.task, self.account = task, Account()
        self.shards = {
            source.name: ShardWriter(
                task.root, source.name, task.numbers[source.name], task.unit, task.recipe.shard_mib
            )
            for source in task.sources
        }
        self.quarantine = QuarantineWriter(task.root, task.unit)
        self.sandbox = Sandbox(task.recipe.limits.max_cpu_seconds)
        self._select = _selector(task)
        self._blocked = {source.name: _block_list(task, source) for source in task.sources}
        self._options = _options(task)
        self._make = {source.name: _maker(source) for source in task.sources}
        self._waiting: list[tuple[str, int, Record]] = []
        self._waiting_bytes = 0

    def read(self, file: InputFile) -> None:
        """Take in one file, event by event."""
        skipped: Counter[str] = Counter()
        record_bytes, damaged = 0, False
        for event in _events(self.task, file, self._options):
            if isinstance(event, Skipped):
                skipped[event.kind] += event.bytes
            elif isinstance(event, FileEnd):
                self._settle(file)
                damaged |= event.damaged_regions > 0
                self.account.files.append(_file_account(file, event, record_bytes, skipped, damaged))
            else:
                record_bytes += event.raw_bytes
                damaged |= isinstance(event, BadUnit) and event.error in _FILE_DAMAGE
                self._take(file, event)

    def _take(self, file: InputFile, unit: Record | BadUnit | Dropped) -> None:
        source = self._select(unit)
        name = source.name if source is not None else self.task.unit.group
        self.account.receive(name, unit.raw_bytes)
        if isinstance(unit, BadUnit):
            self._settle(file)
            self._refuse(name, file, unit)
        elif isinstance(unit, Dropped):
            self.account.drop(name, Drop(unit.reason), unit.raw_bytes)
        elif source is None:
            self.account.drop(name, Drop.NOT_SELECTED, unit.raw_bytes)
        else:
            self._take_record(file, source, unit)

    def _take_record(self, file: InputFile, source: Source, record: Record) -> None:
        key = doc_key(source.name, file.uri, record.member, record.ordinal)
        if source.sample < 1 and coin(self.task.recipe.seed, key, "sample") >= source.sample:
            self.account.drop(source.name, Drop.NOT_SAMPLED, record.raw_bytes)
            return
        if self._blocked[source.name].blocks(record.url):
            self.account.drop(source.name, Drop.REMOVAL_LIST, record.raw_bytes)
            return
        self._waiting.append((source.name, key, record))
        self._waiting_bytes += len(record.content)
        if len(self._waiting) >= _BATCH_RECORDS or self._waiting_bytes >= _BATCH_BYTES:
            self._settle(file)

    def _settle(self, file: InputFile) -> None:
        """Make the texts of the records that wait, and put each where it belongs, in order."""
        pages = [(record, self._make[name].keywords) for name, _, record in self._waiting if record.form != "text"]
        texts = iter(self.sandbox.document_texts(pages))
        for name, key, record in self._waiting:
            text = guarded(self._make[name], record) if record.form == "text" else next(texts)
            row = text if isinstance(text, BadUnit) else guarded(partial(document_row, document=text), record)
            if isinstance(row, BadUnit):
                self._refuse(name, file, row)
            else:
                self.account.repaired.update(row.repairs)
                self.shards[name].add(file, key, record, row)
        self._waiting.clear()
        self._waiting_bytes = 0

    def _refuse(self, source: str, file: InputFile, unit: BadUnit) -> None:
        self.account.quarantined[source] += 1
        self.quarantine.add(source, file, unit)


def _maker(source: Source) -> "partial[DocumentText]":
    return partial(
        document_text,
        extract=source.extract,
        repair=source.repair,
        clean=source.clean,
        languages=source.language_before_extraction or None,
    )


def _events(task: UnitTask, file: InputFile, options: ReaderOptions) -> Iterator[Any]:
    reading = _reading(task)
    url = storage.join(task.input_root, file.uri)
    witness = Witness(file, url)
    try:
        for event in read_file(reading.reader or "", url, witness.open, task.recipe.limits, options):
            if isinstance(event, FileEnd):
                witness.check()
            yield event
    except FileNotFoundError:
        raise InfrastructureError(f"{file.uri}: registered, and not there any more below the input root") from None


def _reading(task: UnitTask) -> Container | Source:
    return next(reading for reading in readings(task.recipe) if reading.name == task.unit.group)


def _options(task: UnitTask) -> ReaderOptions:
    reading = _reading(task)
    if not isinstance(reading, Source):
        return ReaderOptions(text_field=reading.text_field)
    books = read_books(_asset(task, reading.books)) if reading.books else {}
    return ReaderOptions(reading.text_field, document_boundary=reading.document_boundary, books=books)


def _block_list(task: UnitTask, source: Source) -> BlockList:
    return BlockList.parse(_asset(task, source.url_block_list)) if source.url_block_list else BlockList()


def _asset(task: UnitTask, path: str) -> bytes:
    return storage.read_bytes(storage.resolve(task.input_root, path))


def _selector(task: UnitTask) -> Callable[[Record | BadUnit | Dropped], Source | None]:
    """Return what tells a unit's source; a bad unit of a container belongs to no source."""
    if task.sources[0].from_ is None:
        return lambda unit: task.sources[0]
    by_set = {canonical_set_name(name): source for source in task.sources for name in source.select}
    return lambda unit: by_set.get(unit.set_name or "") if isinstance(unit, Record) else None


def _file_account(
    file: InputFile, end: FileEnd, record_bytes: int, skipped: Counter[str], damaged: bool
) -> dict[str, Any]:
    return {
        "file": file.file,
        "uri": file.uri,
        "bytes": end.bytes,
        "records": record_bytes,
        "skipped": dict(skipped),
        "damaged": damaged,
    }


def _add(count: list[int], raw_bytes: int) -> None:
    count[0] += 1
    count[1] += raw_bytes
