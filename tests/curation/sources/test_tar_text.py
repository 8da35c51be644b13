"""Tars of text: every header dialect, everything unsafe, and what survives damage."""

import gzip
import io
import tarfile

import pytest
from backports import zstd

from curation.limits import Limits
from curation.sources.units import BadUnit, Skipped


def archive(*members: tuple[str, bytes], format: int = tarfile.GNU_FORMAT, encoding: str = "utf-8") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=format, encoding=encoding, errors="surrogateescape") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def special(kind: bytes, name: str = "a.txt", target: str = "") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, target
        tar.addfile(info)
    return stream.getvalue()


BOOKS = [(f"books/{number}.txt", b"a book, " * (number * 40 + 1)) for number in range(20)]


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd.compress])
def test_members_come_in_order_with_their_bytes(read_bytes, records, format, compress) -> None:
    found = records(read_bytes("tar_text", compress(archive(*BOOKS, format=format))))
    assert [(record.member, record.content) for record in found] == BOOKS


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_are_whole(read_bytes, records, format) -> None:
    name = "books/" + "é" * 200 + ".txt"
    [record] = records(read_bytes("tar_text", archive((name, b"text"), format=format)))
    assert record.member == name


def test_a_name_that_is_not_utf8_is_kept_readable(read_bytes, records) -> None:
    data = archive(("caf\udce9.txt", b"text"))
    [record] = records(read_bytes("tar_text", data))
    assert record.member == "caf\\xe9.txt"


def test_offsets_point_at_the_members_bytes(read_bytes, records) -> None:
    data = archive(*BOOKS)
    for record in records(read_bytes("tar_text", data)):
        assert data[record.offset : record.offset + record.raw_bytes] == record.content


@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        (tarfile.SYMTYPE, "link"),
        (tarfile.LNKTYPE, "link"),
        (tarfile.CHRTYPE, "device"),
        (tarfile.BLKTYPE, "device"),
        (tarfile.FIFOTYPE, "device"),
        (b"V", "device"),
    ],
)
def test_links_and_devices_are_refused(read_bytes, bad, kind, detail) -> None:
    assert bad(read_bytes("tar_text", special(kind, target="/etc/passwd"))) == [("unsafe_member", detail)]


@pytest.mark.parametrize("name", ["../a.txt", "/etc/a.txt", "a/../../b.txt", "C:\\a.txt"])
def test_names_that_leave_their_folder_are_refused(read_bytes, records, bad, name) -> None:
    events = read_bytes("tar_text", archive((name, b"text"), ("b.txt", b"kept")))
    assert bad(events) == [("unsafe_member", "name")]
    assert [record.member for record in records(events)] == ["b.txt"]


def test_folders_and_other_members_are_skipped_and_counted(read_bytes) -> None:
    data = special(tarfile.DIRTYPE, "books") + archive(("urls.csv", b"x"))
    kinds = [event.kind for event in read_bytes("tar_text", data) if isinstance(event, Skipped)]
    assert kinds.count("directory") == 1
    assert kinds.count("other_member") == 1


def test_concatenated_archives_are_read_to_the_end(read_bytes, records) -> None:
    assert len(records(read_bytes("tar_text", archive(*BOOKS) + archive(*BOOKS)))) == 40


def test_a_damaged_header_costs_one_region(read_bytes, records, bad) -> None:
    data = bytearray(archive(*BOOKS))
    at = data.index(b"books/7.txt")
    data[at + 150] ^= 0xFF  # its checksum field
    events = read_bytes("tar_text", bytes(data))
    assert bad(events) == [("parse", "no_header")]
    names = [record.member for record in records(events)]
    assert names == [name for name, _ in BOOKS if name != "books/7.txt"]
    assert [record.damage for record in records(events)][6:8] == [None, "recovered"]


def test_an_archive_cut_short_keeps_its_whole_members(read_bytes, records, bad) -> None:
    data = archive(*BOOKS)
    cut = data.index(b"books/12.txt") + 700
    events = read_bytes("tar_text", data[:cut])
    assert [record.member for record in records(events)] == [name for name, _ in BOOKS[:12]]
    assert bad(events) == [("truncated", "member")]


def test_a_member_beyond_the_limit_is_passed_over(read_bytes, records, bad) -> None:
    data = archive(("big.txt", bytes(3 << 20)), ("small.txt", b"text"))
    events = read_bytes("tar_text", data, limits=Limits(max_document_mib=1))
    assert bad(events) == [("too_large", "file")]
    assert [record.member for record in records(events)] == ["small.txt"]


def test_beyond_the_allowed_number_of_members_the_rest_is_one_unit(read_bytes, records, bad) -> None:
    events = read_bytes("tar_text", archive(*BOOKS), limits=Limits(max_members=5))
    assert len(records(events)) == 5
    assert bad(events) == [("bomb", "members")]


def test_what_is_no_archive_is_one_bad_unit(read_bytes, bad) -> None:
    assert bad(read_bytes("tar_text", b"no archive at all" * 100)) == [("parse", "no_header")]


def test_members_are_those_of_the_standard_library(read_bytes, records, real_data) -> None:
    path = real_data / "encoding/blns/blns.txt.tar.gz"
    with tarfile.open(path) as tar:
        expected = [(info.name, tar.extractfile(info).read()) for info in tar if info.isfile()]
    found = records(read_bytes("tar_text", path.read_bytes(), path.name))
    assert [(record.member, record.content) for record in found] == expected


def test_a_tar_of_archives_holds_no_text_for_this_reader(read_bytes, records, real_data) -> None:
    events = read_bytes("tar_text", (real_data / "encoding/blns/blns.jsonl.zst.tar").read_bytes())
    assert not records(events)
    assert not [event for event in events if isinstance(event, BadUnit)]
