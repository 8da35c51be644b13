"""Where bytes live: open, list, copy and put-if-absent, the same for local or shared paths and `s3://`.

Nothing here renames, and nothing that stands is ever overwritten except by `replace`. A file under a fresh name
is durable once `create` has ended; whoever puts a name first with `put_if_absent` wins, and everybody learns
which bytes stand. Tables go through pyarrow's file systems, raw inputs through smart_open, conditional puts on
S3 through boto3.

What is not there is FileNotFoundError; whatever else a store refuses is InfrastructureError, since it says nothing
about the data.
"""

import contextlib
import hashlib
import os
import re
import shutil
import stat
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from pyarrow import fs

from curation import s3
from curation.errors import InfrastructureError
from curation.failures import missing, told
from curation.globs import fixed_folder, matcher
from curation.s3 import is_s3 as is_s3

_BUFFER_BYTES = 1 << 20
_UNFINISHED = re.compile(r".*\.[0-9a-f]{32}\.part", re.S)  # the names that `_temporary` gives
_MAX_DEPTH = 255  # folders below one another


@dataclass(frozen=True, slots=True)
class Entry:
    """A file found by `find`: its path relative to the root, its size, and what tells one version from another."""

    path: str
    bytes: int
    version: str  # etag on S3, modification time in ns elsewhere


@dataclass(frozen=True, slots=True)
class Found:
    """A file found in a folder: its name, its size, and when it was last written, in seconds since 1970."""

    name: str
    bytes: int
    modified: float


def join(root: str, *parts: str) -> str:
    """Return the url of a name below a root."""
    return "/".join([root.rstrip("/"), *parts])


def absolute(url: str) -> str:
    """Return the url such that a process with another working folder finds the same place."""
    return url.rstrip("/") if is_s3(url) else os.path.abspath(url)


def resolve(root: str, path: str) -> str:
    """Return where a file that a recipe names stands: itself if absolute, else below `root`."""
    return path if is_s3(path) or os.path.isabs(path) else join(root, path)


def open_read(url: str) -> Any:
    """Return a seekable pyarrow file. Raises FileNotFoundError."""
    with told(url):
        return s3.open_read(url) if is_s3(url) else fs.LocalFileSystem().open_input_file(url)


def open_raw(url: str) -> BinaryIO:
    """Return a forward stream of the file's bytes as they are stored, still compressed. Raises FileNotFoundError."""
    with told(url):
        return s3.open_raw(url) if is_s3(url) else open(url, "rb", buffering=_BUFFER_BYTES)


@contextlib.contextmanager
def create(url: str) -> Iterator[Any]:
    """Open a stream whose bytes stand at `url`, whole and durable, once the block ends without an error.

    After an error nothing stands there. Two writers of one name must write the same bytes: the first stays.
    """
    if is_s3(url):
        with s3.create(url) as stream:
            yield _Told(stream, url)
        return
    with _temporary(url) as temporary:
        with told(url):
            stream = fs.LocalFileSystem().open_output_stream(temporary)
        with stream:
            yield _Told(stream, url)
        with told(url):
            _fsync(temporary)
            with contextlib.suppress(FileExistsError):
                os.link(temporary, url)
            _fsync(_folder(url))


class _Told:
    """A stream whose failures to write name the file and how much of it was written."""

    def __init__(self, stream: Any, url: str) -> None:
        self._stream, self._url, self._written = stream, url, 0

    def write(self, data: Any) -> int:
        with told(self._url, self._written):
            self._stream.write(data)
        size = memoryview(data).nbytes
        self._written += size
        return size

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def read_bytes(url: str) -> bytes:
    """Return everything that stands at `url`. Raises FileNotFoundError."""
    with open_read(url) as file:
        return bytes(file.read())


def put_if_absent(url: str, data: bytes) -> bytes:
    """Put `data` at `url` unless something stands there, and return the bytes that then stand.

    A put whose answer was lost and that is tried again finds its own bytes: success.
    """
    with told(url):
        won = s3.put_if_absent(url, data) if is_s3(url) else _put_local(url, data)
        return data if won else read_bytes(url)


def replace(url: str, data: bytes) -> None:
    """Put `data` at `url` whatever stood there; readers see the old bytes or the new, never a mixture.

    For conveniences that can be derived again. Nothing that proves anything is written this way.
    """
    with told(url):
        if is_s3(url):
            s3.replace(url, data)
            return
        with _temporary(url) as temporary:
            _write(temporary, data)
            os.replace(temporary, url)
            _fsync(_folder(url))


def copy(source: str, target: str) -> None:
    """Make the bytes of `source` stand at `target` too: a hard link where that is possible, else a copy.

    A local target that is there already stays. Raises FileNotFoundError.
    """
    with told(source):
        if is_s3(target):
            s3.copy(source, target)
            return
        _make_folder(_folder(target))
        try:
            os.link(source, target)
        except FileExistsError:
            return
        except OSError:  # another device, or a file system without links
            with open(source, "rb") as original, create(target) as duplicate:
                shutil.copyfileobj(original, duplicate, _BUFFER_BYTES)


def delete(url: str) -> None:
    """Remove a file; a name that is not there is no error."""
    with contextlib.suppress(FileNotFoundError), told(url):
        s3.delete(url) if is_s3(url) else os.unlink(url)


def exists(url: str) -> bool:
    """Return whether a file stands at `url`."""
    return bool(_info(url).type == fs.FileType.File)


def size(url: str) -> int:
    """Return the bytes of a file. Raises FileNotFoundError."""
    info = _info(url)
    if info.type != fs.FileType.File:
        raise missing(url)
    return int(info.size)


def list_names(folder: str) -> list[str]:
    """Return the sorted names of the files directly in a folder; a folder that is not there is empty."""
    return [found.name for found in list_files(folder)]


def list_files(folder: str) -> list[Found]:
    """Return the files directly in a folder, sorted by name; a folder that is not there is empty."""
    return [found for found in _files(folder) if not _unfinished(found.name)]


def list_unfinished(folder: str) -> list[Found]:
    """Return what `create` and `put_if_absent` were writing into a folder when they were killed, or still are."""
    return [found for found in _files(folder) if _unfinished(found.name)]


def modified(url: str) -> float:
    """Return when a file was last written, in seconds since 1970. Raises FileNotFoundError."""
    info = _info(url)
    if info.type != fs.FileType.File:
        raise missing(url)
    return float(info.mtime_ns) / 1e9


def delete_if_empty(folder: str) -> None:
    """Remove a folder that holds nothing; a store of objects has none."""
    if not is_s3(folder):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def find(root: str, pattern: str) -> list[Entry]:
    """Return the files below `root` that match a glob, sorted by path.

    `*`, `?` and sets stay within a folder, `**` crosses folders. A pattern without wildcards names one file.
    Links are followed, but not in circles; what `create` has not finished is invisible.

    Raises:
        InfrastructureError: a folder cannot be read, or a link that matches leads nowhere.
    """
    with told(root):
        found = _find_s3(root, pattern) if is_s3(root) else _find_local(root, pattern)
        return sorted(found, key=lambda entry: entry.path.encode(errors="surrogateescape"))


def is_folder(url: str) -> bool:
    """Return whether a local folder is there; a remote store has none that could be missing."""
    return is_s3(url) or os.path.isdir(url)


def sha256(url: str) -> str:
    """Return the hex sha256 of a file, read once in bounded memory."""
    digest = hashlib.sha256()
    with told(url), open_raw(url) as file:
        while block := file.read(_BUFFER_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _files(folder: str) -> list[Found]:
    with told(folder):
        store, path = _store(folder)
        infos = store.get_file_info(fs.FileSelector(path, allow_not_found=True))
    files = [info for info in infos if info.type == fs.FileType.File]
    return sorted((Found(info.base_name, info.size, info.mtime_ns / 1e9) for info in files), key=lambda f: f.name)


def _unfinished(name: str) -> bool:
    return _UNFINISHED.fullmatch(name) is not None


def _store(url: str) -> tuple[Any, str]:
    if not is_s3(url):
        return fs.LocalFileSystem(), url
    return s3.filesystem(), url.removeprefix("s3://")


def _info(url: str) -> Any:
    with told(url):
        store, path = _store(url)
        return store.get_file_info(path)


@contextlib.contextmanager
def _temporary(path: str) -> Iterator[str]:
    """Lend a name beside `path`, in a folder that exists; what then still stands under it is removed."""
    with told(path):
        _make_folder(_folder(path))
    temporary = f"{path}.{uuid.uuid4().hex}.part"
    try:
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _folder(path: str) -> str:
    return os.path.dirname(path) or "."


def _make_folder(folder: str) -> None:
    """Make a folder and those above it, each durable in the one above."""
    if os.path.isdir(folder):
        return
    _make_folder(_folder(folder))
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder)
    _fsync(_folder(folder))


def _write(path: str, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _put_local(path: str, data: bytes) -> bool:
    with _temporary(path) as temporary:
        _write(temporary, data)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        _fsync(_folder(path))
        return True


def _find_s3(root: str, pattern: str) -> Iterator[Entry]:
    matches = matcher(pattern)
    return (Entry(*about) for about in s3.find(root, fixed_folder(pattern)) if matches(about[0]))


def _find_local(root: str, pattern: str) -> Iterator[Entry]:
    prefix, matches = fixed_folder(pattern), matcher(pattern)
    start = os.path.join(root, prefix)
    depth = _MAX_DEPTH if "**" in pattern else pattern[len(prefix) :].count("/")
    for path in _walk(start, depth, ()) if os.path.isdir(start) else ():
        relative = os.path.relpath(path, root)
        if matches(relative) and not _unfinished(relative):
            status = _status(path)
            if stat.S_ISREG(status.st_mode):
                yield Entry(relative, status.st_size, str(status.st_mtime_ns))


def _walk(folder: str, depth: int, above: tuple[str, ...]) -> Iterator[str]:
    """Yield what is no folder, down to `depth` folders below this one; `above` are those on the way to it."""
    here = os.path.realpath(folder)
    if here in above:
        return
    with os.scandir(folder) as entries:
        found = list(entries)
    for entry in found:
        if not entry.is_dir():
            yield entry.path
        elif depth > 0:
            yield from _walk(entry.path, depth - 1, (*above, here))


def _status(path: str) -> os.stat_result:
    try:
        return os.stat(path)
    except FileNotFoundError:
        raise InfrastructureError(f"{path}: a link that leads nowhere; repair or remove it") from None


def _fsync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
