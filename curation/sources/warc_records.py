"""WARC framing: where one record ends and the next begins, in files that are honest and in files that are not.

Works on plain files, on files where each record is a compressed member of its own, and on files compressed as a
whole. Declared lengths are checked against what follows. Whatever is no record up to the next record becomes one lost
region; nothing ends the reading but the end of the file.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from curation.limits import MIB
from curation.sources.compression import Expanded
from curation.sources.units import FileEnd, Skipped, UnitErrorClass
from curation.sources.window import Window

MAX_HEADER_BYTES = MIB  # target URIs of data: pages reach hundreds of KiB
_VERSION = re.compile(rb"WARC/[01]\.\d{1,2}[ \t]*\r?\n")
_VERSION_BYTES = 16  # enough to recognise the version line
_INNER_VERSION = re.compile(rb"\n(?=WARC/[01]\.\d{1,2}[ \t]*\r?\n)")
_FILLING = re.compile(rb"[\r\n\0]+")
_SEPARATOR_RUN = re.compile(rb"[\r\n]*")
_HEADER_END = re.compile(rb"\n\r?\n")
_LENGTH = re.compile(r"\d{1,18}")
_STEP_BYTES = 1 << 18
_SEPARATORS = b"\r\n"
_FOLD = (" ", "\t")


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """One record as it lies in the file.

    Attributes:
        headers: the record's header fields, names in lower case; folded lines are joined.
        block: what follows the header, without the separators behind it; empty if `too_large`.
        offset, raw_bytes: the record with header and separators, in the file's coordinates.
        head: the header as it lies in the file, with its blank line.
        damage: "length" if the declared length was wrong, "recovered" if a lost region lies before it, or None.
        too_large: whether the block is longer than what may be held.
        passed_sha256: digest of such a record.
    """

    headers: dict[str, str]
    block: bytes
    offset: int
    raw_bytes: int
    head: bytes
    damage: str | None
    too_large: bool = False
    passed_sha256: str = ""

    def sha256(self) -> str:
        """Return the hex digest of the decoded record without separators."""
        return self.passed_sha256 or hashlib.sha256(self.head + self.block).hexdigest()


@dataclass(frozen=True, slots=True)
class LostRegion:
    """Bytes that are no whole record."""

    offset: int
    raw_bytes: int
    error: UnitErrorClass
    detail: str
    sha256: str


def read_records(expanded: Expanded, max_block_bytes: int) -> Iterator[WarcRecord | LostRegion | Skipped | FileEnd]:
    """Yield everything a WARC file holds, in order, and its account last.

    Args:
        expanded: the file, not yet iterated.
        max_block_bytes: longest block that is held in memory.
    """
    return _Framing(Window(expanded), max_block_bytes).items()


class _Framing:
    def __init__(self, window: Window, max_block_bytes: int) -> None:
        self._window = window
        self._max_block_bytes = max_block_bytes
        self._damage: str | None = None

    def items(self) -> Iterator[WarcRecord | LostRegion | Skipped | FileEnd]:
        window = self._window
        while True:
            available = window.peek(_VERSION_BYTES)
            if window.ended:
                break
            if available and _VERSION.match(window.buffer):
                yield self._record()
            elif filling := _FILLING.match(window.buffer):
                yield self._skip(filling.end())
            elif not available and window.gap and window.gap.kind == "padding":
                window.take_gap()
                yield Skipped("padding", window.close_span()[1])
            else:
                yield self._lose("parse", "no_record", hashlib.sha256())
        rest = window.close_span()[1]
        if rest:  # members without any data
            yield Skipped("framing", rest)
        yield window.end()

    def _skip(self, count: int) -> Skipped:
        self._window.consume(count)
        return Skipped("padding", self._window.close_span()[1])

    def _record(self) -> WarcRecord | LostRegion:
        window = self._window
        head_bytes = self._header_end()
        headers = parse_fields(bytes(window.buffer[:head_bytes])) if head_bytes else {}
        length = headers.get("content-length", "")
        if not head_bytes or not _LENGTH.fullmatch(length):
            return self._lose("parse", "header", self._start_digest(_VERSION_BYTES // 2))
        if int(length) > self._max_block_bytes:
            return self._large(headers, head_bytes, int(length))
        available = window.peek(head_bytes + int(length) + _VERSION_BYTES)
        end, damage = head_bytes + int(length), self._damage
        if available < end or not self._is_end(end):
            inner = self._inner_record(head_bytes, min(end, available))
            if inner is None and available < end:
                return self._lose("truncated", "record", self._start_digest(available))
            end, damage = (end, damage) if inner is None else (inner, "length")
        head, block = bytes(window.buffer[:head_bytes]), bytes(window.buffer[head_bytes:end])
        block = block[: -len(_trailing_separators(block))] if damage == "length" and block[-1:] == b"\n" else block
        window.consume(end)
        self._skip_separators()
        return WarcRecord(headers, block, *window.close_span(), head, damage)

    def _header_end(self) -> int:
        """Return the length of the header with its blank line, 0 if there is none within the limit."""
        window, wanted = self._window, 1 << 11
        while True:
            available = window.peek(wanted)
            match = _HEADER_END.search(window.buffer)
            if match and not _VERSION.search(window.buffer, 1, match.start()):
                return match.end()
            if match or available < wanted or wanted > MAX_HEADER_BYTES:
                return 0
            wanted *= 4

    def _is_end(self, end: int) -> bool:
        """Whether a record that ends at `end` is followed by what may follow a record."""
        rest = self._window.buffer[end : end + _VERSION_BYTES].lstrip(_SEPARATORS)
        return not rest or _could_be_version(rest) or any(end <= at <= end + 4 for at in self._window.boundaries())

    def _inner_record(self, start: int, end: int) -> int | None:
        """Return where another record begins between `start` and `end`: then the declared length was too long."""
        buffer = self._window.buffer
        for at in self._window.boundaries():
            if start <= at < end and _VERSION.match(buffer, at):
                return at
        match = _INNER_VERSION.search(buffer, max(start - 1, 0), min(end + _VERSION_BYTES, len(buffer)))
        return match.end() if match and match.end() <= end else None

    def _large(self, headers: dict[str, str], head_bytes: int, length: int) -> WarcRecord | LostRegion:
        """Pass a block that is too long to be held, but not beyond a record that begins inside it."""
        window, digest, left = self._window, hashlib.sha256(), head_bytes + length
        damage = self._damage
        first = head_bytes
        while left:
            available = window.peek(min(left + _VERSION_BYTES, _STEP_BYTES))
            inner = self._inner_record(first, min(left, available))
            last = window.gap is not None or available < _STEP_BYTES
            step = min(left, available if last else available - _VERSION_BYTES) if inner is None else inner
            if not step:
                break
            digest.update(window.buffer[:step])
            window.consume(step)
            left -= step
            first = 0
            if inner is not None:
                left, damage = 0, "length"
        if left:
            return self._lose("truncated", "record", digest)
        self._skip_separators()
        return WarcRecord(headers, b"", *window.close_span(), b"", damage, True, digest.hexdigest())

    def _skip_separators(self) -> None:
        window = self._window
        while window.peek(_VERSION_BYTES):
            match = _SEPARATOR_RUN.match(window.buffer)
            window.consume(match.end() if match else 0)
            if window.buffer:
                break

    def _start_digest(self, count: int) -> "hashlib._Hash":
        """Consume and hash the beginning of a region that turned out to be lost."""
        digest = hashlib.sha256(self._window.buffer[:count])
        self._window.consume(count)
        return digest

    def _lose(self, error: UnitErrorClass, detail: str, digest: "hashlib._Hash") -> LostRegion:
        """Consume everything up to the next record as one lost region, which may have begun before."""
        window = self._window
        while not window.ended:
            window.peek(_STEP_BYTES)
            found = self._next_record()
            more = window.gap is None and len(window.buffer) >= _STEP_BYTES
            count = found if found is not None else len(window.buffer) - (_VERSION_BYTES if more else 0)
            digest.update(window.buffer[:count])
            window.consume(count)
            if found is not None:
                break
            if window.gap and not window.buffer:
                gap = window.take_gap()
                digest.update(gap.content)
                error, detail = (error, detail) if gap.kind == "padding" else (gap.kind, "region")
        self._damage = "recovered"
        return LostRegion(*window.close_span(), error, detail, digest.hexdigest())

    def _next_record(self) -> int | None:
        match = _VERSION.search(self._window.buffer)  # anywhere: what was cut off need not have ended its line
        return match.start() if match else None


def _trailing_separators(block: bytes) -> bytes:
    kept = block.rstrip(_SEPARATORS)
    return block[max(len(kept), len(block) - 4) :]


def _could_be_version(rest: bytearray) -> bool:
    return rest.startswith(b"WARC/"[: len(rest)])


def parse_fields(head: bytes) -> dict[str, str]:
    """Return header fields after a first line, names in lower case, the first of two equal names winning.

    Lines may end in LF or CRLF and be folded; values that are not UTF-8 are read as Latin-1.
    """
    fields: dict[str, str] = {}
    name = ""
    for line in _lines(head)[1:]:
        if name and line.startswith(_FOLD):
            fields[name] += " " + line.strip()
            continue
        key, colon, value = line.partition(":")
        name = key.strip().lower() if colon else ""
        if name and name not in fields:
            fields[name] = value.strip()
        else:
            name = ""
    return fields


def _lines(head: bytes) -> list[str]:
    try:
        return head.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return [_line(raw) for raw in head.split(b"\n")]


def _line(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
