"""WARC and WET: honest files, lying headers, damage, and agreement with two other readers file by file."""

import contextlib
import gzip
import io
import logging
import zlib
from collections import Counter
from pathlib import Path

import brotli
import pytest
from backports import zstd
from fastwarc.warc import ArchiveIterator as FastWarc
from warcio.archiveiterator import ArchiveIterator as WarcIo
from warcio.exceptions import ArchiveLoadFailed

from curation.limits import Limits
from curation.sources.units import BadUnit, Event, FileEnd, Record, Skipped

PAGE = b"<html><body><p>A page of some length, to be found again.</p></body></html>"


def warc_record(block: bytes, kind: str = "response", length: int | None = None, **fields: str) -> bytes:
    named = {"content-type": "application/http; msgtype=response", "warc-target-uri": "http://example.org/"}
    named |= {name.replace("_", "-"): value for name, value in fields.items()}
    head = [b"WARC/1.0", b"WARC-Type: " + kind.encode(), b"WARC-Date: 2020-11-29T01:02:03Z"]
    head += [f"{name}: {value}".encode() for name, value in named.items() if value]
    head.append(b"Content-Length: %d" % (len(block) if length is None else length))
    return b"\r\n".join(head) + b"\r\n\r\n" + block + b"\r\n\r\n"


def response(body: bytes = PAGE, content_type: str = "text/html", status: str = "200 OK", **http: str) -> bytes:
    lines = [f"HTTP/1.1 {status}"] + [f"{name.replace('_', '-')}: {value}" for name, value in http.items()]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def pages(count: int) -> list[bytes]:
    return [warc_record(response(PAGE.replace(b"page", b"page %d" % number))) for number in range(count)]


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events if isinstance(event, Skipped)]


def test_a_page_stays_bytes_with_its_facts(read_bytes, records) -> None:
    block = response(content_type='text/html; charset="ISO-8859-1"', content_language="en")
    [record] = records(read_bytes("warc", warc_record(block, warc_record_id="<urn:uuid:1>")))
    assert (record.content, record.form, record.charset) == (PAGE, "html", "ISO-8859-1")
    assert (record.url, record.timestamp) == ("http://example.org/", "2020-11-29T01:02:03Z")
    assert record.metadata["http_status"] == 200
    assert record.metadata["content_language"] == "en"
    assert record.metadata["warc_record_id"] == "<urn:uuid:1>"


def test_a_wet_record_is_text_in_utf8(read_bytes, records) -> None:
    wet = warc_record(b"text", "conversion", content_type="text/plain", warc_identified_content_language="eng,deu")
    [record] = records(read_bytes("warc", wet))
    assert (record.content, record.form, record.charset) == (b"text", "text", "utf-8")
    assert record.metadata["warc_identified_language"] == "eng,deu"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (warc_record(b"x", "warcinfo"), "warc_warcinfo"),
        (warc_record(b"x", "revisit"), "warc_revisit"),
        (warc_record(b"x", "made-up"), "warc_other"),
        (warc_record(response(status="404 Not Found")), "http_4xx"),
        (warc_record(response(status="301 Moved")), "http_3xx"),
        (warc_record(response(content_type="image/png")), "type:image/png"),
        (warc_record(response(content_type="secret/thing")), "type:other"),
        (warc_record(response(b"%PDF-1.4 ...", "text/html")), "type:mislabelled"),
        (warc_record(response(b"\0\1\2\3" * 99, "text/html")), "type:mislabelled"),
        (warc_record(response(b"a", "")), "type:unknown"),
        (
            warc_record(b"--verbose", "resource", content_type="text/plain", warc_target_uri="<metadata://gnu.org>"),
            "crawler_note",
        ),
        (warc_record(b"{}", "resource", content_type="text/plain", warc_target_uri="urn:pageinfo:x"), "crawler_note"),
    ],
)
def test_what_is_no_page_is_skipped_and_counted_by_kind(read_bytes, data, kind) -> None:
    events = read_bytes("warc", data)
    assert kinds(events) == [kind]
    assert len(events) == 2


def test_a_page_without_a_type_is_known_by_its_first_bytes(read_bytes, records) -> None:
    [record] = records(read_bytes("warc", warc_record(response(content_type=""))))
    assert record.form == "html"


def test_html_that_calls_itself_something_else_is_believed_to_the_crawler(read_bytes, records) -> None:
    data = warc_record(response(content_type="application/octet-stream"), warc_identified_payload_type="text/html")
    assert len(records(read_bytes("warc", data))) == 1


def test_a_truncated_capture_is_flagged(read_bytes, records) -> None:
    [record] = records(read_bytes("warc", warc_record(response(), warc_truncated="length")))
    assert record.damage == "truncated"
    assert record.metadata["warc_truncated"] == "length"


def chunked(body: bytes, size: int = 10) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x;ext=1\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def deflate(body: bytes) -> bytes:
    return zlib.compress(body)[2:-4]


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (chunked(PAGE), {"transfer_encoding": "chunked"}),
        (PAGE, {"transfer_encoding": "chunked"}),
        (gzip.compress(PAGE), {"content_encoding": "gzip"}),
        (gzip.compress(PAGE), {}),
        (PAGE, {"content_encoding": "gzip"}),
        (gzip.compress(PAGE), {"content_encoding": "br"}),
        (zlib.compress(PAGE), {"content_encoding": "deflate"}),
        (deflate(PAGE), {"content_encoding": "deflate"}),
        (brotli.compress(PAGE), {"content_encoding": "br"}),
        (PAGE, {"content_encoding": "br"}),
        (zstd.compress(PAGE), {"content_encoding": "zstd"}),
        (chunked(gzip.compress(PAGE)), {"content_encoding": "gzip", "transfer_encoding": "chunked"}),
        (gzip.compress(PAGE), {"content_encoding": "gzip", "x_crawler_transfer_encoding": "chunked"}),
        (gzip.compress(zlib.compress(PAGE)), {"content_encoding": "deflate, gzip"}),
        (PAGE, {"content_encoding": "none, whatever"}),
    ],
)
def test_codings_are_undone_where_the_bytes_show_them(read_bytes, records, body, headers) -> None:
    [record] = records(read_bytes("warc", warc_record(response(body, **headers))))
    assert record.content == PAGE
    assert record.damage is None


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (chunked(PAGE)[:40], {"transfer_encoding": "chunked"}),
        (chunked(PAGE).replace(b"\na;ext=1", b"\nzz", 1), {"transfer_encoding": "chunked"}),
        (gzip.compress(PAGE * 50)[:-12], {"content_encoding": "gzip"}),
    ],
)
def test_a_broken_coding_keeps_what_it_gave_and_says_so(read_bytes, records, body, headers) -> None:
    [record] = records(read_bytes("warc", warc_record(response(body, **headers))))
    assert record.damage == "payload"
    assert PAGE.startswith(record.content[:10])


def test_a_payload_that_explodes_is_refused(read_bytes, records, bad) -> None:
    limits = Limits(max_document_mib=1)
    bomb = warc_record(response(gzip.compress(bytes(2 << 20), 9), content_encoding="gzip"))
    large = warc_record(response(gzip.compress(PAGE * 20_000, 0), content_encoding="gzip"))
    assert bad(read_bytes("warc", bomb, limits=limits)) == [("bomb", "content_encoding")]
    assert bad(read_bytes("warc", large, limits=limits)) == [("too_large", "record")]
    assert len(records(read_bytes("warc", bomb + pages(1)[0], limits=limits))) == 1


@pytest.mark.parametrize("whole", [b"".join, lambda parts: b"".join(parts).replace(b"\r\n", b"\n")])
def test_plain_files_may_end_lines_either_way(read_bytes, records, whole) -> None:
    parts = pages(3)
    if whole is not b"".join:  # the block's length counts its own line ends
        parts = [warc_record(response(PAGE).replace(b"\r\n", b"\n")).replace(b"\r\n", b"\n") for _ in range(3)]
    assert len(records(read_bytes("warc", b"".join(parts)))) == 3


def test_offsets_are_file_bytes_where_each_record_is_a_member(read_bytes, records) -> None:
    members = [gzip.compress(page) for page in pages(3)]
    events = read_bytes("warc", b"".join(members))
    assert [(record.offset, record.raw_bytes) for record in records(events)] == [
        (0, len(members[0])),
        (len(members[0]), len(members[1])),
        (len(members[0]) + len(members[1]), len(members[2])),
    ]
    assert isinstance(events[-1], FileEnd)
    assert events[-1].coordinates == "file"


def test_offsets_are_stream_bytes_where_the_file_is_compressed_as_a_whole(read_bytes, records) -> None:
    for compress in (gzip.compress, zstd.compress):
        events = read_bytes("warc", compress(b"".join(pages(3))))
        assert [record.offset for record in records(events)] == [0, len(pages(1)[0]), 2 * len(pages(1)[0])]
        assert events[-1].coordinates == "stream"


def test_a_record_can_be_read_again_at_its_offset(read_bytes, records, real_data) -> None:
    data = (real_data / "warc/dolma/sample-0000.warc.gz").read_bytes()
    found = records(read_bytes("warc", data))
    for record in found:
        [again] = records(read_bytes("warc", data[record.offset : record.offset + record.raw_bytes]))
        assert again.content == record.content


@pytest.mark.parametrize("harm", ["flip", "cut_out", "garbage"])
@pytest.mark.parametrize("victim", [0, 3, 9])
def test_a_damaged_member_costs_itself_only(read_bytes, records, bad, victim, harm) -> None:
    members = [gzip.compress(page) for page in pages(10)]
    middle = len(members[victim]) // 2
    harmed = {
        "flip": members[victim][:middle] + bytes(255 - byte for byte in members[victim][middle : middle + 9]),
        "cut_out": members[victim][:middle],
        "garbage": b"\x1f\x8b\x08 this is no member at all",
    }[harm]
    tail = members[victim][middle + 9 :] if harm == "flip" else b""
    data = b"".join([*members[:victim], harmed + tail, *members[victim + 1 :]])
    events = read_bytes("warc", data, "a.warc.gz")
    assert len(records(events)) == 9
    assert len(bad(events)) == 1
    [region] = [event for event in events if isinstance(event, BadUnit)]
    assert (region.error, region.ordinal) == ("truncated", victim)
    assert region.raw_bytes == len(harmed + tail)
    assert [record.damage for record in records(events)] == [None] * victim + ["recovered"] * (9 - victim)


def test_a_header_that_is_none_costs_its_record_only(read_bytes, records, bad) -> None:
    parts = pages(5)
    for broken in (
        parts[2].replace(b"Content-Length: ", b"Content-Length: x"),
        parts[2].replace(b"Content-Length: ", b"Content-Len: "),
        parts[2].replace(b"WARC/1.0", b"WARK/1.0"),
        parts[2][:100],
    ):
        events = read_bytes("warc", b"".join([*parts[:2], broken, *parts[3:]]))
        assert len(records(events)) == 4, broken[:40]
        assert len(bad(events)) == 1


def test_a_length_that_is_too_long_does_not_swallow_the_next_record(read_bytes, records) -> None:
    lying = warc_record(response(), length=len(response()) + 150)
    for data in (pages(1)[0] + lying + pages(1)[0], b"".join(map(gzip.compress, (pages(1)[0], lying, pages(1)[0])))):
        found = records(read_bytes("warc", data))
        assert len(found) == 3
        assert [record.damage for record in found] == [None, "length", None]
        assert found[1].content == PAGE


def test_an_absurd_length_does_not_swallow_the_file(read_bytes, records, bad) -> None:
    lying = warc_record(response(), length=99_999_999_999)
    events = read_bytes("warc", lying + b"".join(pages(3)))
    assert len(records(events)) == 3
    assert bad(events) == [("too_large", "record")]


def test_a_length_that_is_too_short_leaves_the_rest_as_a_bad_unit(read_bytes, records, bad) -> None:
    events = read_bytes("warc", warc_record(response(), length=len(response()) - 5) + pages(1)[0])
    assert len(records(events)) == 2
    assert bad(events) == [("parse", "no_record")]


def test_a_page_about_warc_is_one_page(read_bytes, records) -> None:
    quoting = PAGE + b"\r\n\r\nWARC/1.0\r\nWARC-Type: response\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n"
    found = records(read_bytes("warc", warc_record(response(quoting)) + pages(1)[0]))
    assert found[0].content == quoting
    assert len(found) == 2


def test_a_record_beyond_the_limit_is_passed_over(read_bytes, records, bad) -> None:
    limits = Limits(max_document_mib=1)
    data = warc_record(response(b"x" * (3 << 20))) + warc_record(b"x" * (3 << 20), "request") + pages(1)[0]
    events = read_bytes("warc", data, limits=limits)
    assert bad(events) == [("too_large", "record")]
    assert kinds(events) == ["warc_request"]
    assert len(records(events)) == 1


def test_a_file_cut_in_mid_record_keeps_what_is_whole(read_bytes, records, bad) -> None:
    plain = b"".join(pages(4))
    assert len(records(read_bytes("warc", plain[:-90]))) == 3
    assert bad(read_bytes("warc", plain[:-90])) == [("truncated", "record")]
    members = b"".join(gzip.compress(page) for page in pages(4))
    assert len(records(read_bytes("warc", members[:-20]))) == 3
    assert bad(read_bytes("warc", members[:-20])) == [("truncated", "region")]


def test_an_arc_file_is_one_bad_unit(read_bytes, bad, real_data) -> None:
    for name in ("example.arc", "example.arc.gz", "bad.arc"):
        assert bad(read_bytes("warc", (real_data / "warc/warcio" / name).read_bytes())) == [("parse", "no_record")]


def archives(folder: Path) -> list[Path]:
    found = [path for path in sorted(folder.glob("warc/*/*")) if path.is_file() and ".arc" not in path.name]
    assert len(found) > 35
    return found


def count_records(events: list[Event]) -> int:
    framing = ("padding", "framing")
    return sum(
        isinstance(event, Record) or (isinstance(event, Skipped) and event.kind not in framing) for event in events
    )


def count_with_fastwarc(path: Path) -> int:
    count = 0
    with path.open("rb") as stream, contextlib.suppress(OSError):
        for record in FastWarc(stream):
            record.reader.read()
            count += 1
    return count


def count_with_warcio(path: Path) -> int:
    count = 0
    with path.open("rb") as stream, contextlib.suppress(ArchiveLoadFailed, AttributeError):
        for record in WarcIo(stream):
            record.content_stream().read()
            count += 1
    return count


def test_no_other_reader_finds_more_records_in_a_real_file(read_bytes, real_data, caplog) -> None:
    caplog.set_level(logging.CRITICAL)
    more = {}
    for path in archives(real_data):
        ours = count_records(read_bytes("warc", path.read_bytes(), path.name))
        fast, other = count_with_fastwarc(path), count_with_warcio(path)
        assert ours >= max(fast, other), path.name
        if ours > max(fast, other):
            more[path.name] = (ours, fast, other)
    assert not more or set(more) <= {"example-trunc.warc"}


def test_damaged_real_files_lose_their_damage_only(read_bytes, records, bad, real_data) -> None:
    folder = real_data / "warc"
    expected = {
        "gowarc/corrupted-mid-record.warc.gz.open": (12, [("truncated", "region")]),
        "gowarc/corrupted-trailing-bytes.warc.gz.open": (30, [("truncated", "region")]),
        "gowarc/empty.warc.gz.open": (0, []),
        "gowarc/good.warc.gz.open": (50, []),
        "warcio/example-trunc.warc": (1, []),  # its one page ends early, and the request behind it is found
        "warcio/example-wrong-chunks.warc.gz": (1, []),  # one record over two gzip members
    }
    for name, (count, errors) in expected.items():
        events = read_bytes("warc", (folder / name).read_bytes(), name)
        assert (len(records(events)), bad(events)) == (count, errors), name


def test_a_brotli_page_that_warcio_cannot_decode_is_read(read_bytes, records, real_data) -> None:
    path = real_data / "warc/warc2zim/single-page-test.warc"  # gzip under a plain name
    events = read_bytes("warc", path.read_bytes(), path.name)
    found = records(events)
    assert events[-1].compression == "gz"
    assert len(found) == 4
    assert sum(b"<html" in record.content.lower() for record in found) >= 2


def test_real_payloads_equal_those_of_fastwarc(read_bytes, records, real_data) -> None:
    for name in ("dolma/sample-0000.warc.gz", "dolma/sample-0001.warc.gz", "whirlwind-python/whirlwind.warc.wet"):
        path = real_data / "warc" / name
        ours = Counter(record.content for record in records(read_bytes("warc", path.read_bytes(), path.name)))
        with path.open("rb") as stream:
            theirs = {
                record.reader.read()
                for record in FastWarc(stream, parse_http=True)
                if not record.is_http or "chunked" not in (record.http_headers.get("Transfer-Encoding") or "")
            }
        assert sum(content in theirs for content in ours) >= 1
        missing = [content for content in ours if content not in theirs]
        for content in missing:  # FastWARC leaves chunk sizes in
            assert b"<html" in content.lower()


def test_the_stream_is_closed_when_reading_ends() -> None:
    from curation.sources.registry import read_file

    stream = io.BytesIO(b"".join(pages(2)))
    list(read_file("warc", "a", lambda _: stream))
    assert stream.closed
