"""Reading bytes as if they lay in a file, with the law of conservation checked each time."""

import io
from collections.abc import Callable

import pytest

from curation.limits import Limits
from curation.sources.options import ReaderOptions
from curation.sources.registry import read_file
from curation.sources.units import BadUnit, Dropped, Event, FileEnd, Record, Skipped

ReadBytes = Callable[..., list[Event]]


def check_conservation(events: list[Event], file_bytes: int, in_file_order: bool = True) -> None:
    *before, end = events
    assert isinstance(end, FileEnd)
    assert not any(isinstance(event, FileEnd) for event in before)
    sizes = [event.bytes if isinstance(event, Skipped) else event.raw_bytes for event in before]
    assert min(sizes, default=0) >= 0
    assert sum(sizes) == end.bytes
    assert end.file_bytes == file_bytes
    units = [event for event in before if isinstance(event, Record | BadUnit | Dropped)]
    assert [unit.ordinal for unit in units] == list(range(len(units)))
    if in_file_order:
        assert [unit.offset for unit in units] == sorted(unit.offset for unit in units)


@pytest.fixture(scope="session")
def conservation() -> Callable[..., None]:
    """Return the check that a file's events account for its every byte."""
    return check_conservation


@pytest.fixture
def read_bytes() -> ReadBytes:
    """Return a function that reads bytes with a named reader and returns all events."""

    def read(
        reader: str, data: bytes, uri: str = "file", limits: Limits | None = None, options: ReaderOptions | None = None
    ) -> list[Event]:
        events = list(read_file(reader, uri, lambda _: io.BytesIO(data), limits, options))
        check_conservation(events, len(data), reader != "stack_exchange")
        return events

    return read


@pytest.fixture
def records() -> Callable[[list[Event]], list[Record]]:
    return lambda events: [event for event in events if isinstance(event, Record)]


@pytest.fixture
def bad() -> Callable[[list[Event]], list[tuple[str, str]]]:
    return lambda events: [(event.error, event.detail) for event in events if isinstance(event, BadUnit)]
