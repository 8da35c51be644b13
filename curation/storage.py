"""Where bytes live: open, list, copy and put-if-absent, the same for local or shared paths and `s3://`.

Nothing here renames, and nothing that stands is ever overwritten except by `replace`. A file under a fresh name
is durable once `create` has ended; whoever puts a name first with `put_if_absent` wins, and everybody learns
which bytes stand. Tables go through pyarrow's file systems, raw inputs through smart_open, conditional puts on
S3 through boto3.
"""

import contextlib
import fnmatch
import functools
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from pyarrow import fs

from curation.errors import InfrastructureError

_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A file found by `find`: its path relative to the root, its size, and what tells one version from another."""

    path: str
    bytes: int
    version: str  # etag on S3, modification time in ns elsewhere


def join(root: str, *parts: str) -> str:
    """Return the url of a name below a root."""
    return "/".join([root.rstrip("/"), *parts])


def is_s3(url: str) -> bool:
    """Return whether a url is an object's and not a path."""
    return url.startswith("s3://")


def absolute(url: str) -> str:
    """Return the url such that a process with another working folder finds the same place."""
    return url.rstrip("/") if is_s3(url) else os.path.abspath(url)


def resolve(root: str, path: str) -> str:
    """Return where a file that a recipe names stands: itself if absolute, else below `root`."""
    return path if is_s3(path) or os.path.isabs(path) else join(root, path)


def open_read(url: str) -> Any:
    """Return a seekable pyarrow file. Raises FileNotFoundError."""
    store, path = _store(url)
    return store.open_input_file(path)


def open_raw(url: str) -> BinaryIO:
    """Return a forward stream of the file's bytes as they are stored, still compressed."""
    if not is_s3(url):
        return open(url, "rb", buffering=_BUFFER_BYTES)
    import smart_open

    return smart_open.open(url, "rb", compression="disable", transport_params={"client": _s3()})


@contextlib.contextmanager
def create(url: str) -> Iterator[Any]:
    """Open a stream whose bytes stand at `url`, whole and durable, once the block ends without an error.

    After an error nothing stands there. Two writers of one name must write the same bytes: the first stays.
    """
    if is_s3(url):
        yield from _create_s3(url)
        return
    folder, temporary = os.path.dirname(url), f"{url}.{uuid.uuid4().hex}.part"
    os.makedirs(folder, exist_ok=True)
    try:
        with fs.LocalFileSystem().open_output_stream(temporary) as stream:
            yield stream
        _fsync(temporary)
        with contextlib.suppress(FileExistsError):
            os.link(temporary, url)
        _fsync(folder)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def read_bytes(url: str) -> bytes:
    """Return everything that stands at `url`. Raises FileNotFoundError."""
    with open_read(url) as file:
        return bytes(file.read())


def put_if_absent(url: str, data: bytes) -> bytes:
    """Put `data` at `url` unless something stands there, and return the bytes that then stand.

    A put whose answer was lost and that is tried again finds its own bytes: success.
    """
    return _put_s3(url, data) if is_s3(url) else _put_local(url, data)


def replace(url: str, data: bytes) -> None:
    """Put `data` at `url` whatever stood there; readers see the old bytes or the new, never a mixture.

    For conveniences that can be derived again. Nothing that proves anything is written this way.
    """
    if is_s3(url):
        bucket, key = _bucket_and_key(url)
        _s3().put_object(Bucket=bucket, Key=key, Body=data)
        return
    os.makedirs(os.path.dirname(url), exist_ok=True)
    temporary = f"{url}.{uuid.uuid4().hex}.part"
    with open(temporary, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, url)


def copy(source: str, target: str) -> None:
    """Make the bytes of `source` stand at `target` too: a hard link where that is possible, else a copy."""
    if is_s3(target):
        bucket, key = _bucket_and_key(target)
        from_bucket, from_key = _bucket_and_key(source)
        _s3().copy({"Bucket": from_bucket, "Key": from_key}, bucket, key)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.exists(target):
        return
    try:
        os.link(source, target)
    except OSError:  # another device, or a file system without links
        with open(source, "rb") as original, create(target) as duplicate:
            shutil.copyfileobj(original, duplicate, _BUFFER_BYTES)


def delete(url: str) -> None:
    """Remove a file; a name that is not there is no error."""
    store, path = _store(url)
    with contextlib.suppress(FileNotFoundError):
        store.delete_file(path)


def exists(url: str) -> bool:
    """Return whether a file stands at `url`."""
    store, path = _store(url)
    return bool(store.get_file_info(path).type == fs.FileType.File)


def size(url: str) -> int:
    """Return the bytes of a file. Raises FileNotFoundError."""
    store, path = _store(url)
    info = store.get_file_info(path)
    if info.type != fs.FileType.File:
        raise FileNotFoundError(url)
    return int(info.size)


def list_names(folder: str) -> list[str]:
    """Return the sorted names of the files directly in a folder; a folder that is not there is empty."""
    store, path = _store(folder)
    infos = store.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return sorted(info.base_name for info in infos if info.type == fs.FileType.File and not _unfinished(info.base_name))


def find(root: str, pattern: str) -> list[Entry]:
    """Return the files below `root` that match a glob, sorted by path.

    `*` stays within a folder, `**` crosses folders. A pattern without wildcards names one file.
    """
    prefix = _fixed_folder(pattern)
    matches = re.compile(_glob_to_regex(pattern)).fullmatch
    found = _walk_s3(root, prefix) if is_s3(root) else _walk_local(root, prefix)
    return sorted(
        (entry for entry in found if matches(entry.path)), key=lambda entry: entry.path.encode(errors="surrogateescape")
    )


def sha256(url: str) -> str:
    """Return the hex sha256 of a file, read once in bounded memory."""
    digest = hashlib.sha256()
    with open_raw(url) as file:
        while block := file.read(_BUFFER_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _unfinished(name: str) -> bool:
    return name.endswith(".part")


def _store(url: str) -> tuple[Any, str]:
    if not is_s3(url):
        return fs.LocalFileSystem(), url
    return _s3_filesystem(), url.removeprefix("s3://")


def _create_s3(url: str) -> Iterator[Any]:
    """A multipart upload: completed at the end, aborted after an error (pyarrow's stream would complete it)."""
    import smart_open

    with smart_open.open(url, "wb", compression="disable", transport_params={"client": _s3()}) as stream:
        yield stream


def _put_local(path: str, data: bytes) -> bytes:
    folder, temporary = os.path.dirname(path), f"{path}.{uuid.uuid4().hex}.part"
    os.makedirs(folder, exist_ok=True)
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
        _fsync(folder)
        return data
    except FileExistsError:
        return read_bytes(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _put_s3(url: str, data: bytes) -> bytes:
    from botocore.exceptions import ClientError

    bucket, key = _bucket_and_key(url)
    while True:
        try:
            _s3().put_object(Bucket=bucket, Key=key, Body=data, IfNoneMatch="*")
            return data
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code == "PreconditionFailed":
                return read_bytes(url)
            if code != "ConditionalRequestConflict":  # another put of this name is under way: ask again
                raise InfrastructureError(
                    f"{url}: the store refused a put ({code}); check credentials and bucket"
                ) from error


def _walk_local(root: str, prefix: str) -> Iterator[Entry]:
    start = os.path.join(root, prefix)
    for folder, folders, names in os.walk(start, followlinks=True):
        folders.sort()
        for name in names:
            path = os.path.join(folder, name)
            status = os.stat(path)
            relative = os.path.relpath(path, root).replace(os.sep, "/")
            yield Entry(relative, status.st_size, str(status.st_mtime_ns))


def _walk_s3(root: str, prefix: str) -> Iterator[Entry]:
    bucket, base = _bucket_and_key(root.rstrip("/") + "/")
    pages = _s3().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=base + prefix)
    for page in pages:
        for item in page.get("Contents", []):
            yield Entry(item["Key"][len(base) :], item["Size"], item["ETag"].strip('"'))


def _fixed_folder(pattern: str) -> str:
    """Return the folders before the first wildcard, with their slash."""
    literal = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    return literal[: literal.rfind("/") + 1]


def _glob_to_regex(pattern: str) -> str:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", pattern)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "(?s)" + "".join(known.get(piece) or _literal_or_set(piece) for piece in pieces)


def _literal_or_set(piece: str) -> str:
    return fnmatch.translate(piece)[4:-3] if piece.startswith("[") and piece.endswith("]") else re.escape(piece)


def _bucket_and_key(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.netloc, url.removeprefix(f"s3://{parts.netloc}/")


@functools.cache
def _s3() -> Any:
    try:
        import boto3
    except ImportError as error:
        raise InfrastructureError("s3:// needs boto3: pip install 'megatron-corpus[s3]'") from error
    return boto3.client("s3")


@functools.cache
def _s3_filesystem() -> Any:
    endpoint = urlsplit(_s3().meta.endpoint_url)
    return fs.S3FileSystem(endpoint_override=endpoint.netloc, scheme=endpoint.scheme, region=_s3().meta.region_name)


def _fsync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
