"""XML files as a stream of the elements that are records, each cut out as it stands and parsed alone.

What lies between records (prolog, DOCTYPE, closing tags) is skipped and never parsed, so that no entity is ever
declared: a reference to one makes its record bad, and a billion of them cost nothing. A damaged record costs itself;
the next start tag begins the next one. Memory is one record.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import lxml.etree  # type: ignore[import-untyped]

from curation.limits import Limits
from curation.sources.compression import Expanded
from curation.sources.units import BadUnit, FileEnd, Skipped, UnitError, UnitErrorClass
from curation.sources.window import Window

_STEP_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Tag:
    """How a record begins and ends: its start tag up to the name's end, and the bytes that close it."""

    start: bytes
    end: bytes


@dataclass(frozen=True, slots=True)
class Element:
    """One record as it stands in the file."""

    offset: int
    raw_bytes: int
    content: bytes

    def as_bad(self, ordinal: int, error: UnitErrorClass, detail: str) -> BadUnit:
        """Return the record as one that cannot be used."""
        digest = hashlib.sha256(self.content).hexdigest()
        return BadUnit(ordinal, "", self.offset, self.raw_bytes, error, detail, digest)


@dataclass(frozen=True, slots=True)
class LostElement:
    """A record without its end, one that is too large, or a region that could not be decompressed."""

    offset: int
    raw_bytes: int
    error: UnitErrorClass
    detail: str
    sha256: str

    def as_bad(self, ordinal: int) -> BadUnit:
        """Return the region as a bad unit."""
        return BadUnit(ordinal, "", self.offset, self.raw_bytes, self.error, self.detail, self.sha256)


def read_elements(expanded: Expanded, tag: Tag, limits: Limits) -> Iterator[Element | LostElement | Skipped | FileEnd]:
    """Yield a file's records in order and what lies between them; the file's account comes last."""
    scan = _Scan(Window(expanded, "stream"), tag, limits.max_document_bytes)
    while not scan.window.ended:
        yield from scan.between()
        if scan.window.buffer:
            yield scan.element()
    yield scan.window.end()


def parse_element(content: bytes) -> Any:
    """Return a record as an lxml element.

    Raises:
        UnitError: decode/invalid_utf8, or parse/xml; a reference to an entity of one's own is the latter.
    """
    parser = lxml.etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=True, encoding="utf-8", remove_comments=True, remove_pis=True
    )
    try:
        content.decode("utf-8")
        return lxml.etree.fromstring(content, parser)
    except UnicodeDecodeError:
        raise UnitError("decode", "invalid_utf8") from None
    except (lxml.etree.LxmlError, ValueError):
        raise UnitError("parse", "xml") from None


class _Scan:
    def __init__(self, window: Window, tag: Tag, max_bytes: int) -> None:
        self.window, self._tag, self._max_bytes = window, tag, max_bytes

    def between(self) -> Iterator[Skipped | LostElement]:
        """Move to the next start tag, the end, or past lost regions."""
        window, start = self.window, self._tag.start
        while not window.ended:
            window.peek(_STEP_BYTES)
            found = window.buffer.find(start)
            last = window.gap is not None or len(window.buffer) < _STEP_BYTES
            count = found if found >= 0 else len(window.buffer) - (0 if last else len(start) - 1)
            if count:
                window.consume(count)
                yield Skipped("framing", window.close_span()[1])
            if found >= 0:
                return
            if window.gap and not window.buffer:
                yield self._gap()

    def element(self) -> Element | LostElement:
        """Take the record that begins here, whole or as far as it goes."""
        window, start, end = self.window, self._tag.start, self._tag.end
        searched = len(start)
        while True:
            wanted = len(window.buffer) + _STEP_BYTES
            exhausted = window.peek(wanted) < wanted
            close = window.buffer.find(end, searched)
            following = window.buffer.find(start, searched, close if close >= 0 else len(window.buffer))
            if following >= 0:  # another record begins before this one ends
                return self._lose("parse", "no_end", following)
            if close >= 0:
                return self._whole(close + len(end))
            if exhausted:
                return self._lose("truncated", "element", len(window.buffer))
            if len(window.buffer) > self._max_bytes:
                return self._pass()
            searched = max(len(window.buffer) - len(start) - len(end), len(start))

    def _whole(self, size: int) -> Element | LostElement:
        if size > self._max_bytes:
            return self._lose("too_large", "element", size)
        content = bytes(self.window.buffer[:size])
        self.window.consume(size)
        return Element(*self.window.close_span(), content)

    def _pass(self) -> LostElement:
        """Give up a record that is too large with all of its bytes, holding few of them."""
        window, start, end, digest = self.window, self._tag.start, self._tag.end, hashlib.sha256()
        searched, is_over = len(start), False
        while not is_over:
            more = window.peek(searched + _STEP_BYTES) >= searched + _STEP_BYTES
            close = window.buffer.find(end, searched)
            following = window.buffer.find(start, searched, close if close >= 0 else len(window.buffer))
            ends = [following, close + len(end) if close >= 0 else -1, -1 if more else len(window.buffer)]
            stop = next((at for at in ends if at >= 0), -1)
            is_over = stop >= 0
            count = stop if is_over else len(window.buffer) - len(start) - len(end)
            digest.update(window.buffer[:count])
            window.consume(count)
            searched = 0
        return LostElement(*window.close_span(), "too_large", "element", digest.hexdigest())

    def _lose(self, error: UnitErrorClass, detail: str, count: int) -> LostElement:
        """Give up the record: `count` bytes of the buffer, and a gap right behind them."""
        window, digest = self.window, hashlib.sha256()
        digest.update(window.buffer[:count])
        window.consume(count)
        if error == "truncated" and window.gap and not window.buffer:
            digest.update(window.take_gap().content)
        return LostElement(*window.close_span(), error, detail, digest.hexdigest())

    def _gap(self) -> Skipped | LostElement:
        gap = self.window.take_gap()
        offset, raw_bytes = self.window.close_span()
        if gap.kind == "padding":
            return Skipped("padding", raw_bytes)
        return LostElement(offset, raw_bytes, gap.kind, "region", hashlib.sha256(gap.content).hexdigest())
