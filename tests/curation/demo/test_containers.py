import gzip
import io
import tarfile
import tempfile
import zipfile
from pathlib import Path

import py7zr
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from curation.demo.containers import (
    FRAME_BYTES,
    RAW_BLOCK_BYTES,
    STORED_BLOCK_BYTES,
    gzip_member,
    seven_zip,
    tar_archive,
    zip_archive,
)
from curation.demo.containers import zstd_frames as frames

EDGES = (0, 1, STORED_BLOCK_BYTES - 1, STORED_BLOCK_BYTES, STORED_BLOCK_BYTES + 1, RAW_BLOCK_BYTES, RAW_BLOCK_BYTES + 1)


def unzstd(data: bytes) -> bytes:
    return bytes(pa.CompressedInputStream(pa.BufferReader(data), "zstd").read())


@given(st.binary(max_size=300) | st.sampled_from(EDGES).map(lambda size: b"x" * size))
def test_gzip_members_are_read_back_by_zlib_and_may_stand_in_a_row(data: bytes) -> None:
    assert gzip.decompress(gzip_member(data)) == data
    assert gzip.decompress(gzip_member(data) + gzip_member(b"next")) == data + b"next"


@given(st.binary(max_size=300) | st.sampled_from(EDGES).map(lambda size: b"x" * size))
def test_zstd_frames_are_read_back_by_the_library(data: bytes) -> None:
    assert unzstd(frames([data, b"more"])) == data + b"more"


def test_zstd_frames_end_after_whole_lines() -> None:
    line = b"y" * (FRAME_BYTES // 2) + b"\n"
    data = frames([line, line, line])
    assert data.count(b"\x28\xb5\x2f\xfd") == 3
    assert unzstd(data) == line * 3


def test_a_line_longer_than_a_frame_has_a_frame_of_its_own() -> None:
    line = b"z" * (FRAME_BYTES + 1)
    assert unzstd(frames([b"a\n", line, b"b\n"])) == b"a\n" + line + b"b\n"


def test_tar_members_carry_nothing_of_the_machine() -> None:
    long_name = "books/" + "n" * 150 + ".txt"
    data = tar_archive([("b.txt", b"second"), (long_name, b"first")])
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = archive.getmembers()
        assert [member.name for member in members] == ["b.txt", long_name]
        assert {(member.mtime, member.uid, member.uname) for member in members} == {(0, 0, "")}
        stream = archive.extractfile(long_name)
        assert stream is not None
        assert stream.read() == b"first"


@given(st.binary(min_size=1, max_size=300) | st.sampled_from(EDGES[1:]).map(lambda size: b"x" * size))
def test_a_7z_is_read_back_by_the_library_and_its_checksums_hold(data: bytes) -> None:
    with (
        py7zr.SevenZipFile(io.BytesIO(seven_zip("Posts.xml", data))) as archive,
        tempfile.TemporaryDirectory() as folder,
    ):
        assert archive.getnames() == ["Posts.xml"]
        assert archive.test() is not False
        archive.extractall(folder)
        assert Path(folder, "Posts.xml").read_bytes() == data


def test_zip_members_are_read_back_and_carry_nothing_of_the_machine() -> None:
    members = [("b.txt", b"second"), ("a/ü.txt", b"first")]
    data = zip_archive(members)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert [(info.filename, archive.read(info)) for info in archive.infolist()] == members
        assert {(info.date_time, info.create_system) for info in archive.infolist()} == {((1980, 1, 1, 0, 0, 0), 0)}
