"""ARC files, compared with what warcio reads."""

from warcio.archiveiterator import ArchiveIterator

from curation.text.pipeline import document_text

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=latin-1\r\n\r\n<p>caf\xe9</p>"
LINE = b"http://a.example/%d 192.0.2.1 20080102030405 text/html %d\n%s\n"


def test_a_record_becomes_a_page_with_its_facts(read_bytes, records) -> None:
    [record] = records(read_bytes("arc", LINE % (1, len(PAGE), PAGE)))
    assert (record.url, record.timestamp, record.form) == ("http://a.example/1", "2008-01-02T03:04:05Z", "html")
    assert document_text(record).text == "<p>café</p>"


def test_a_wrong_length_costs_a_region_and_no_more(read_bytes, records, bad) -> None:
    data = LINE % (1, len(PAGE), PAGE) + LINE % (2, 10**9, PAGE) + LINE % (3, len(PAGE), PAGE)
    events = read_bytes("arc", data)
    assert [record.url[-1] for record in records(events)] == ["1", "3"]
    assert [error for error, _ in bad(events)] == ["too_large"]


def test_pages_are_those_that_warcio_finds(read_bytes, records, real_data) -> None:
    for path in (real_data / "warc/warcio/example.arc", real_data / "warc/warcio/example.arc.gz"):
        with path.open("rb") as stream:
            expected = [
                (record.rec_headers.get_header("uri"), record.content_stream().read())
                for record in ArchiveIterator(stream)
                if record.rec_type == "response"
            ]
        found = [(record.url, record.content) for record in records(read_bytes("arc", path.read_bytes()))]
        assert found == expected
        assert found


def test_an_archive_of_nonsense_has_its_one_whole_record(read_bytes, records, bad, real_data) -> None:
    events = read_bytes("arc", (real_data / "warc/warcio/bad.arc").read_bytes())
    assert [record.timestamp for record in records(events)] == ["2014-01-02T00:00:00Z"]
    assert bad(events) == [("parse", "no_record")] * 2


def test_a_last_record_shorter_than_it_says_is_truncated(read_bytes, bad, real_data) -> None:
    """warcio hands this page out as if it were whole."""
    assert bad(read_bytes("arc", (real_data / "warc/warcio/example-space-in-url.arc").read_bytes())) == [
        ("truncated", "record")
    ]
