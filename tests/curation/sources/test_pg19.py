"""Books with titles; the evaluation splits left out."""

from curation.sources.options import ReaderOptions
from curation.sources.pg19 import read_books
from curation.sources.units import Dropped, Skipped

BOOKS = read_books(b'10,"A Tale, with a comma",1859\n11,Another,1860,http://example.org/11\nbroken\n')


def test_a_book_has_the_title_and_year_of_the_table_beside(read_bytes, records) -> None:
    [record] = records(read_bytes("pg19", b"It was", "pg-19/train/10.txt", options=ReaderOptions(books=BOOKS)))
    assert (record.title, record.timestamp, record.metadata) == ("A Tale, with a comma", "1859", {"book_id": "10"})
    assert BOOKS["11"] == ("Another", "1860")


def test_a_book_that_the_table_does_not_name_is_still_a_book(read_bytes, records) -> None:
    [record] = records(read_bytes("pg19", b"It was", "train/12.txt"))
    assert (record.content, record.title) == (b"It was", None)


def test_evaluation_splits_are_left_out(read_bytes, records) -> None:
    for folder in ("validation", "test"):
        events = read_bytes("pg19", b"It was", f"pg-19/{folder}/10.txt")
        assert not records(events)
        assert [event.reason for event in events if isinstance(event, Dropped)] == ["not_selected"]


def test_the_table_itself_is_no_book(read_bytes, records) -> None:
    events = read_bytes("pg19", b"10,A,1859\n", "pg-19/metadata.csv")
    assert not records(events)
    assert [event.kind for event in events if isinstance(event, Skipped)] == ["metadata"]
