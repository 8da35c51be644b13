"""Text trees: one file is one document, or none."""

import gzip

from curation.limits import Limits
from curation.text.pipeline import document_text


def test_a_file_is_one_record_in_bytes(read_bytes, records) -> None:
    [record] = records(read_bytes("text", b"caf\xe9\n"))
    assert (record.content, record.form, record.raw_bytes) == (b"caf\xe9\n", "text", 5)


def test_an_empty_file_is_an_empty_record(read_bytes, records) -> None:
    [record] = records(read_bytes("text", b""))
    assert record.content == b""


def test_a_file_of_which_only_the_beginning_is_left_is_no_document(read_bytes, records, bad) -> None:
    events = read_bytes("text", gzip.compress(b"word " * 5000)[:-30])
    assert not records(events)
    assert bad(events) == [("truncated", "file")]


def test_a_file_beyond_the_limit_is_not_held(read_bytes, bad) -> None:
    assert bad(read_bytes("text", bytes(2 << 20), limits=Limits(max_document_mib=1))) == [("too_large", "file")]


def test_real_novels_lose_their_byte_order_mark_and_windows_line_ends(read_bytes, records, real_data) -> None:
    for path in sorted(real_data.glob("sources/novels/*.txt")):
        [record] = records(read_bytes("text", path.read_bytes(), path.name))
        assert record.content.startswith(b"\xef\xbb\xbf"), "every one of these files begins with a mark"
        result = document_text(record)
        assert result.charset == "utf-8"
        assert "\ufeff" not in result.text
        assert "\r" not in result.text
        assert "line_break" in result.repairs
