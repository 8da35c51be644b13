"""CC-Stories: texts with one sentence per line, in files, a tar, a zip or JSON lines.

Mirrors do not agree on where a story ends: at a blank line, or with its file. `document_boundary` says it.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import BinaryIO

from curation.limits import Limits
from curation.sources import jsonl, text_tree
from curation.sources.archived import is_jsonl
from curation.sources.archives import read_archive
from curation.sources.compression import Expanded
from curation.sources.lines import LostLine, read_lines
from curation.sources.members import ReadMember
from curation.sources.options import ReaderOptions
from curation.sources.units import BadUnit, Event, Record, Skipped


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the stories of one file.

    Raises:
        OSError: storage failed.
    """
    stories = text_tree.read if options.document_boundary == "file" else _read

    def choose(name: str) -> ReadMember | None:
        return jsonl.read if is_jsonl(name) else stories if name.endswith(options.member_suffixes) else None

    yield from read_archive(raw, uri, limits, options, choose, jsonl.read if is_jsonl(uri) else stories)


def _read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the stories between blank lines; a lost region costs the story it cuts."""
    expanded = Expanded(raw, uri, limits)
    story = _Story()
    ordinal = 0
    for line in read_lines(expanded, limits.max_document_bytes):
        if isinstance(line, Skipped):
            yield line
        elif isinstance(line, LostLine):
            yield story.lost(line, ordinal)
            story, ordinal = _Story(), ordinal + 1
        elif line.content.strip():
            story.add(line.offset, line.raw_bytes, line.content)
            if story.raw_bytes > limits.max_document_bytes:
                yield story.close(ordinal, limits)
                story, ordinal = _Story(), ordinal + 1
        else:
            if story:
                yield story.close(ordinal, limits)
                story, ordinal = _Story(), ordinal + 1
            yield Skipped("blank_line", line.raw_bytes)
    if story:
        yield story.close(ordinal, limits)
    yield expanded.end()


class _Story:
    def __init__(self) -> None:
        self._held = bytearray()  # not the lines: many short ones would cost many times their bytes
        self._offset, self.raw_bytes = 0, 0

    def __bool__(self) -> bool:
        return bool(self._held)

    def add(self, offset: int, raw_bytes: int, content: bytes) -> None:
        self._offset = self._offset if self else offset
        self.raw_bytes += raw_bytes
        self._held += content
        self._held += b"\n"

    def close(self, ordinal: int, limits: Limits) -> Record | BadUnit:
        record = Record(ordinal, "", self._offset, self.raw_bytes, bytes(self._held[:-1]))
        return record if self.raw_bytes <= limits.max_document_bytes else record.as_bad("too_large", "story")

    def lost(self, line: LostLine, ordinal: int) -> BadUnit:
        offset = self._offset if self else line.offset
        digest = sha256(bytes(self._held[:-1]) + line.sha256.encode()).hexdigest()
        return BadUnit(ordinal, "", offset, self.raw_bytes + line.raw_bytes, line.error, line.detail, digest)
