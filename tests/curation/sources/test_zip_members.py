"""Zips: what is read, what is refused, what survives damage; nothing is ever written."""

import io
import stat
import zipfile

import pytest
from built_files import zip_of

from curation.limits import Limits

BOOKS = [(f"{number}.txt", b"a book, " * (number * 400 + 1)) for number in range(8)]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_members_come_in_order_with_their_bytes(read_bytes, records, method) -> None:
    found = records(read_bytes("texts", zip_of(*BOOKS, method=method)))
    assert [(record.member, record.content) for record in found] == BOOKS


@pytest.mark.parametrize("name", ["../a.txt", "/a.txt", "a/../../b.txt", "C:\\a.txt"])
def test_names_that_leave_their_folder_are_refused(read_bytes, records, bad, name) -> None:
    events = read_bytes("texts", zip_of((name, b"text"), ("b.txt", b"kept")))
    assert bad(events) == [("unsafe_member", "name")]
    assert [record.member for record in records(events)] == ["b.txt"]


def test_links_are_refused(read_bytes, bad) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        info = zipfile.ZipInfo("a.txt")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    assert bad(read_bytes("texts", stream.getvalue())) == [("unsafe_member", "link")]


def test_compressions_that_are_not_read_are_named(read_bytes, bad) -> None:
    assert bad(read_bytes("texts", zip_of(("a.txt", b"text"), method=zipfile.ZIP_LZMA))) == [("parse", "zip_method")]


def test_a_damaged_member_is_no_document(read_bytes, records, bad) -> None:
    data = bytearray(zip_of(*BOOKS, method=zipfile.ZIP_STORED))
    data[data.index(b"a book, ", data.index(b"5.txt"))] ^= 1
    events = read_bytes("texts", bytes(data))
    assert bad(events) == [("truncated", "member")]
    assert len(records(events)) == 7


def test_a_bomb_costs_itself(read_bytes, records, bad) -> None:
    data = zip_of(("a.txt", bytes(8 << 20)), ("b.txt", b"kept"))
    events = read_bytes("texts", data, limits=Limits(max_document_mib=1, ratio_after_mib=2))
    assert ("bomb", "member") in bad(events)
    assert [record.member for record in records(events)] == ["b.txt"]


def test_members_that_overlap_make_the_archive_bad(read_bytes, bad) -> None:
    """One kernel of zeros under many names: 40 kB that claim terabytes."""
    data = zip_of(("a.txt", b"text"), ("b.txt", b"text"))
    second = data.rindex(b"PK\x01\x02")
    overlapping = data[: second + 42] + bytes(4) + data[second + 46 :]
    assert bad(read_bytes("texts", overlapping)) == [("parse", "zip_directory")]


def test_an_archive_without_its_directory_is_one_bad_unit(read_bytes, bad) -> None:
    data = zip_of(*BOOKS)
    assert bad(read_bytes("texts", data[: len(data) // 2])) == [("parse", "zip_directory")]


def test_members_are_those_of_the_standard_library(read_bytes, records, real_data) -> None:
    for path in (real_data / "sources/nltk/webtext.zip", real_data / "sources/nltk/state_union.zip"):
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if info.filename.endswith(".txt")]
            expected = [(info.filename, archive.read(info)) for info in infos]
        found = [(record.member, record.content) for record in records(read_bytes("texts", path.read_bytes()))]
        assert sorted(found) == sorted(expected)
        assert found
