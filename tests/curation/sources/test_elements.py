"""Records cut out of XML: whatever the sizes of records, limit and reads, every byte has its place."""

import hashlib
import io
from types import SimpleNamespace
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from curation.limits import Limits
from curation.sources import elements
from curation.sources.compression import Expanded
from curation.sources.elements import Element, LostElement, Tag, read_elements
from curation.sources.units import FileEnd, Skipped

TAG = Tag(b"<page>", b"</page>")
PIECES = st.sampled_from(
    [b"<page>", b"</page>", b"<pa", b"ge>", b"</pag", b"e>", b"text", b"x" * 40, b"\n", b"<", b"&a;"]
)


def read(data: bytes, max_bytes: int, step: int) -> list[Element | LostElement | Skipped | FileEnd]:
    limits = SimpleNamespace(max_document_bytes=max_bytes)
    with patch.object(elements, "_STEP_BYTES", step), patch("curation.sources.compression.READ_BYTES", step):
        return list(read_elements(Expanded(io.BytesIO(data), "a.xml", Limits()), TAG, limits))  # type: ignore[arg-type]


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=60).map(b"".join), st.integers(20, 300), st.integers(20, 100))
def test_every_byte_belongs_to_one_event(data: bytes, max_bytes: int, step: int) -> None:
    *events, end = read(data, max_bytes, step)
    assert isinstance(end, FileEnd)
    position = 0
    for event in events:
        if isinstance(event, Skipped):
            position += event.bytes
            continue
        assert isinstance(event, Element | LostElement)
        assert event.offset == position
        content = data[position : position + event.raw_bytes]
        position += event.raw_bytes
        if isinstance(event, Element):
            assert event.content == content
            assert len(content) <= max_bytes
        else:
            assert event.sha256 == hashlib.sha256(content).hexdigest()
    assert position == end.bytes == len(data)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 400), max_size=12), st.integers(20, 100))
def test_whole_records_are_found_however_large_their_neighbours_are(sizes: list[int], step: int) -> None:
    pages = [b"<page>" + b"x" * size + b"</page>" for size in sizes]
    events = read(b"<all>\n" + b"\n".join(pages) + b"\n</all>", 200, step)
    found = [event for event in events if isinstance(event, Element | LostElement)]
    assert [event.raw_bytes for event in found] == [len(page) for page in pages]
    assert [isinstance(event, Element) for event in found] == [len(page) <= 200 for page in pages]
