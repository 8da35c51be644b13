"""The registry: names, descriptions, and one way in."""

import io

import pytest

from curation.errors import RecipeError
from curation.sources.registry import READERS, read_file


def test_every_reader_says_what_a_user_must_know() -> None:
    plain = {"jsonl", "pile", "parquet", "text", "tar_text", "warc", "arc", "archive", "texts"}
    own = {"stack_exchange", "wikipedia", "pubmed", "nih_exporter", "pg19", "arxiv", "github", "realnews", "cc_stories"}
    assert set(READERS) == plain | own
    for reader in READERS.values():
        assert all((reader.forms, reader.metadata, reader.quirks, reader.licence))


def test_an_unknown_reader_is_refused_before_anything_is_opened() -> None:
    def never(uri: str) -> io.BytesIO:
        raise AssertionError("opened")

    with pytest.raises(RecipeError, match=r"no reader named 'word'.*jsonl, nih_exporter, parquet"):
        read_file("word", "a.doc", never)


def test_the_stream_is_closed_when_the_caller_stops_early() -> None:
    stream = io.BytesIO(b'{"text": "a"}\n' * 10)
    events = read_file("jsonl", "a", lambda _: stream)
    next(events)
    events.close()
    assert stream.closed
