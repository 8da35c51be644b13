"""Every reader on an object store: the stream is not a file, and what it gives is the same."""

import py7zr
import pytest
from built_files import PARTS

from curation import storage
from curation.sources.registry import READERS, read_file
from curation.sources.units import Event


def read(reader: str, url: str) -> list[Event]:
    return list(read_file(reader, url, storage.open_raw))


@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_file_on_s3_gives_what_it_gives_here(reader, s3_root, tmp_path, conservation) -> None:
    data, here = b"".join(PARTS[reader]), tmp_path / "file"
    here.write_bytes(data)
    with storage.create(f"{s3_root}/file") as stream:
        stream.write(data)
    remote = read(reader, f"{s3_root}/file")
    assert remote == read(reader, str(here))
    conservation(remote, len(data), reader != "stack_exchange")


def test_a_7z_on_s3_is_read_where_it_lies(s3_root, tmp_path) -> None:
    posts = tmp_path / "Posts.xml"
    posts.write_bytes(b"".join(PARTS["stack_exchange"]))
    with py7zr.SevenZipFile(tmp_path / "site.7z", "w") as archive:
        archive.write(posts, "Posts.xml")
    with storage.create(f"{s3_root}/site.7z") as stream:
        stream.write((tmp_path / "site.7z").read_bytes())
    assert read("stack_exchange", f"{s3_root}/site.7z") == read("stack_exchange", str(tmp_path / "site.7z"))
