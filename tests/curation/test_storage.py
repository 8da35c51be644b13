"""One suite for both kinds of store: a folder of this machine, and an S3 server. What differs is said by name."""

import itertools
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from curation import s3, storage
from curation.errors import InfrastructureError
from tests.stores import forget_clients

MIB = 1 << 20


def put(root: str, *paths: str) -> None:
    for path in paths:
        storage.put_if_absent(storage.join(root, path), path.encode())


def found(root: str, pattern: str) -> list[str]:
    return [entry.path for entry in storage.find(root, pattern)]


def everything(root: str) -> list[str]:
    """Name what stands, unfinished files included; an upload that nobody finished counts as one."""
    if not storage.is_s3(root):
        return sorted(str(path.relative_to(root)) for path in Path(root).rglob("*") if path.is_file())
    bucket, prefix = root.removeprefix("s3://").split("/", 1)
    listed = s3.client().list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
    uploads = s3.client().list_multipart_uploads(Bucket=bucket).get("Uploads", [])
    return sorted(item["Key"].removeprefix(f"{prefix}/") for item in [*listed, *uploads])


def test_what_is_put_is_what_is_read(root):
    url = storage.join(root, "a/b.json")
    assert storage.put_if_absent(url, b"first") == b"first"
    assert storage.read_bytes(url) == b"first"
    assert (storage.exists(url), storage.size(url)) == (True, 5)


def test_the_second_to_put_learns_what_stands(root):
    url = storage.join(root, "commits/one.json")
    storage.put_if_absent(url, b"first")
    assert storage.put_if_absent(url, b"second") == b"first"
    assert storage.put_if_absent(url, b"first") == b"first"
    assert everything(root) == ["commits/one.json"]


def test_sixteen_threads_that_put_one_name_all_learn_the_same_bytes(root):
    url, ready = storage.join(root, "commits/race.json"), threading.Barrier(16)
    if storage.is_s3(root):
        forget_clients()  # so that they also race for the client

    def race(number: int) -> bytes:
        ready.wait()
        return storage.put_if_absent(url, b"%d" % number)

    with ThreadPoolExecutor(16) as pool:
        learned = set(pool.map(race, range(16)))
    assert learned == {storage.read_bytes(url)}
    assert everything(root) == ["commits/race.json"]


RACER = """
import sys
from curation import storage
sys.stdin.read(1)
print(storage.put_if_absent(sys.argv[1], sys.argv[2].encode()).decode())
"""


def test_processes_that_put_one_name_all_learn_the_same_bytes(root):
    url = storage.join(root, "commits/race.json")
    command = [sys.executable, "-c", RACER, url]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    racers = [subprocess.Popen([*command, f"process {number}"], **pipes) for number in range(4)]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go")
        racer.stdin.close()
    learned = {racer.stdout.read().strip() for racer in racers}
    assert [racer.wait() for racer in racers] == [0] * 4
    assert learned == {storage.read_bytes(url).decode()}


def test_a_file_stands_once_its_block_has_ended_and_not_before(root):
    url = storage.join(root, "parts/a.bin")
    with storage.create(url) as stream:
        stream.write(b"one ")
        stream.write(memoryview(b"two"))
        assert not storage.exists(url)
        assert storage.list_names(storage.join(root, "parts")) == []
        assert found(root, "**") == []
    assert storage.read_bytes(url) == b"one two"
    assert everything(root) == ["parts/a.bin"]


@pytest.mark.parametrize("size", [0, 1, 6 * MIB])
def test_nothing_stands_after_a_block_that_failed(root, size):
    url = storage.join(root, "parts/a.bin")
    with pytest.raises(ZeroDivisionError), storage.create(url) as stream:  # noqa: PT012
        stream.write(b"x" * size)
        raise ZeroDivisionError
    assert not storage.exists(url)
    assert everything(root) == []


@pytest.mark.parametrize("first", [b"", b"first"])
def test_the_first_to_create_a_name_stays(root, first):
    url = storage.join(root, "parts/a.bin")
    for data in (first, b"second"):
        with storage.create(url) as stream:
            stream.write(data)
    assert storage.read_bytes(url) == first
    with storage.create(url):
        pass
    assert storage.read_bytes(url) == first
    assert everything(root) == ["parts/a.bin"]


def test_a_big_file_is_streamed_in_and_out(root):
    url, block = storage.join(root, "big.bin"), bytes(range(256)) * 4096
    with storage.create(url) as stream:
        for _ in range(20):
            stream.write(block)
    assert storage.size(url) == 20 * MIB
    with storage.open_raw(url) as stream:
        assert all(piece == block for piece in iter(lambda: read_exactly(stream, MIB), b""))
    with storage.open_read(url) as file:
        file.seek(7 * MIB + 3)
        assert bytes(file.read(4)) == b"\x03\x04\x05\x06"


def read_exactly(stream, size: int) -> bytes:
    pieces = []
    while size and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def test_a_stored_gzip_comes_out_as_it_is_stored(root):
    url = storage.join(root, "a.jsonl.gz")
    storage.put_if_absent(url, b"\x1f\x8b not really")
    with storage.open_raw(url) as stream:
        assert stream.read() == b"\x1f\x8b not really"


def test_the_sha256_is_that_of_the_bytes(root):
    url = storage.join(root, "a")
    storage.put_if_absent(url, b"abc")
    assert storage.sha256(url) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize(
    "read", [storage.open_read, storage.open_raw, storage.read_bytes, storage.size, storage.sha256]
)
def test_a_missing_file_is_file_not_found_by_its_url(root, read):
    url = storage.join(root, "none/such")
    with pytest.raises(FileNotFoundError) as caught:
        read(url)
    assert caught.value.filename == url
    assert not storage.exists(url)


def test_a_missing_file_cannot_be_copied(root):
    with pytest.raises(FileNotFoundError):
        storage.copy(storage.join(root, "none"), storage.join(root, "copy"))


def test_a_folder_is_no_file(root):
    put(root, "folder/a")
    assert not storage.exists(storage.join(root, "folder"))
    with pytest.raises(FileNotFoundError):
        storage.size(storage.join(root, "folder"))


def test_a_file_can_be_replaced(root):
    url = storage.join(root, "deep/latest.json")
    storage.replace(url, b"old, and longer")
    storage.replace(url, b"new")
    assert storage.read_bytes(url) == b"new"
    assert everything(root) == ["deep/latest.json"]


def test_a_copy_has_the_bytes_and_outlives_the_original(root):
    put(root, "a/b")
    storage.copy(storage.join(root, "a/b"), storage.join(root, "c/d"))
    storage.copy(storage.join(root, "a/b"), storage.join(root, "c/d"))
    storage.delete(storage.join(root, "a/b"))
    assert storage.read_bytes(storage.join(root, "c/d")) == b"a/b"


def test_deleting_twice_is_no_error_and_leaves_nothing_behind(root):
    put(root, "a/b")
    storage.delete(storage.join(root, "a/b"))
    storage.delete(storage.join(root, "a/b"))
    assert everything(root) == []


def test_a_listing_is_sorted_and_names_files_of_that_folder_only(root):
    put(root, "f/b", "f/a", "f/c/d", "g")
    assert storage.list_names(storage.join(root, "f")) == ["a", "b"]
    assert storage.list_names(storage.join(root, "none")) == []


FILES = ("a.txt", "b.txt", "b.txt.gz", "x/a.txt", "x/y/a.txt", "x/y/b.gz", "x[1]/a.txt", "é/ü.txt")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a.txt", ["a.txt"]),
        ("*.txt", ["a.txt", "b.txt"]),
        ("*/a.txt", ["x/a.txt", "x[1]/a.txt"]),
        ("**/a.txt", ["a.txt", "x/a.txt", "x/y/a.txt", "x[1]/a.txt"]),
        ("x/**", ["x/a.txt", "x/y/a.txt", "x/y/b.gz"]),
        ("x/**/*.gz", ["x/y/b.gz"]),
        ("[ab].txt", ["a.txt", "b.txt"]),
        ("[!a].txt", ["b.txt"]),
        ("x[!a]y/a.txt", []),
        ("?/?.txt", ["x/a.txt", "é/ü.txt"]),
        ("none/*", []),
        ("x", []),
    ],
)
def test_globs_find_what_they_say_in_order_of_path(root, pattern, expected):
    put(root, *FILES)
    assert found(root, pattern) == expected


def test_a_found_file_has_its_size_and_a_version_that_changes_with_its_bytes(root):
    url = storage.join(root, "a")
    storage.replace(url, b"one")
    (before,) = storage.find(root, "*")
    storage.replace(url, b"three")
    (after,) = storage.find(root, "*")
    assert (before.bytes, after.bytes) == (3, 5)
    assert before.version != after.version


def test_a_root_that_is_not_there_holds_nothing(tmp_path):
    assert found(str(tmp_path / "none"), "**") == []


def test_a_users_own_part_files_are_found(tmp_path):
    (tmp_path / "corpus.part").write_bytes(b"1")
    assert found(str(tmp_path), "*") == ["corpus.part"]


def test_links_are_followed_once_and_circles_not_at_all(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.txt").write_text("1")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "a/up").symlink_to(tmp_path)
    assert found(str(tmp_path), "**/x.txt") == ["a/x.txt", "b/x.txt"]


def test_a_link_that_leads_nowhere_is_named_if_it_matches(tmp_path):
    (tmp_path / "gone.txt").symlink_to("nowhere")
    assert found(str(tmp_path), "*.gz") == []
    with pytest.raises(InfrastructureError, match=r"gone\.txt: a link that leads nowhere"):
        storage.find(str(tmp_path), "*.txt")


def test_a_glob_without_two_stars_does_not_look_into_deeper_folders(tmp_path, monkeypatch):
    (tmp_path / "deep/deeper").mkdir(parents=True)
    (tmp_path / "a.txt").write_text("1")
    opened, scandir = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: opened.append(path) or scandir(path))
    assert found(str(tmp_path), "*.txt") == ["a.txt"]
    assert [Path(folder) for folder in opened] == [tmp_path]


def test_a_folder_that_cannot_be_read_is_not_taken_for_an_empty_one(tmp_path, monkeypatch):
    (tmp_path / "locked").mkdir()
    scandir = os.scandir

    def refuse(path: str):
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InfrastructureError, match="Permission denied"):
        storage.find(str(tmp_path), "**")


def test_a_copy_across_devices_is_a_copy(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"bytes")
    link, calls = os.link, itertools.count()

    def other_device_first(source: str, target: str) -> None:
        if next(calls) == 0:
            raise OSError(18, "Invalid cross-device link")
        link(source, target)

    monkeypatch.setattr(os, "link", other_device_first)
    storage.copy(str(tmp_path / "a"), str(tmp_path / "new/b"))
    assert (tmp_path / "new/b").read_bytes() == b"bytes"


def test_a_bucket_that_is_not_there_is_an_error_of_the_infrastructure(s3_bucket):
    with pytest.raises(InfrastructureError, match="NoSuchBucket"):
        storage.put_if_absent("s3://not-there/a", b"")
    with pytest.raises(InfrastructureError, match="NoSuchBucket"):
        storage.find("s3://not-there", "**")


def test_a_store_that_does_not_answer_is_an_error_of_the_infrastructure(s3_bucket, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    forget_clients()
    try:
        for touch in (storage.size, storage.open_raw, lambda url: storage.put_if_absent(url, b"")):
            with pytest.raises(InfrastructureError, match="the store refused"):
                touch(f"{s3_bucket}/a")
    finally:
        forget_clients()


@pytest.mark.parametrize(
    ("root", "path", "expected"),
    [
        ("/work", "a/b", "/work/a/b"),
        ("/work/", "a", "/work/a"),
        ("/work", "/other", "/other"),
        ("/work", "s3://bucket/a", "s3://bucket/a"),
        ("s3://bucket/prefix", "a", "s3://bucket/prefix/a"),
    ],
)
def test_a_path_stands_below_the_root_unless_it_is_absolute(root, path, expected):
    assert storage.resolve(root, path) == expected


def test_absolute_urls_do_not_depend_on_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert storage.absolute("work/../w/") == str(tmp_path / "w")
    assert storage.absolute("s3://bucket/w/") == "s3://bucket/w"
