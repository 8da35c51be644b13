"""One member of a 7z archive as a stream, never on disk and never whole in memory.

The library pushes decompressed bytes and our readers pull them, so that it runs in a thread of its own behind a short
queue. 7z files need a seekable stream and are read by one task from their first byte to their last.
"""

import io
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from typing import Any, BinaryIO, cast

import py7zr
from py7zr.io import Py7zIO, WriterFactory

from curation.limits import GIB, Limits
from curation.sources.units import BadUnit, Dropped, Event, FileEnd, Record, Skipped, UnitErrorClass

MAGIC = b"7z\xbc\xaf\x27\x1c"
_QUEUED_CHUNKS = 16  # of the library's blocks, 1 MiB at most each
_POLL_SECONDS = 0.1

ReadMember = Callable[[BinaryIO, str, Limits], Iterator[Event]]


class Stopped(Exception):
    """The reader does not want any more of the archive."""


def begins(raw: BinaryIO) -> bool:
    """Whether a seekable stream is a 7z archive; a stream that cannot seek is none."""
    if not raw.seekable():
        return False
    found = raw.read(len(MAGIC)) == MAGIC
    raw.seek(0)
    return found


def read_member(raw: BinaryIO, name: str, limits: Limits, read: ReadMember) -> Iterator[Event]:
    """Yield what `read` makes of one member, counted in decompressed bytes; other members are skipped and counted.

    An archive that cannot be opened, and one that has no such member, is one bad unit or one skipped region.
    """
    size = raw.seek(0, io.SEEK_END)
    raw.seek(0)
    stream = _Pulled(raw, name, size, limits)
    ordinal, counted, inner = 0, 0, FileEnd(0, 0, "stream", "7z", 0)
    try:
        for event in read(cast(BinaryIO, stream), name, limits):
            if isinstance(event, FileEnd):
                inner = event
                continue
            ordinal += isinstance(event, Record | BadUnit | Dropped)
            yield event
    finally:
        stream.stop()
    counted = inner.bytes
    problem = stream.problem()
    if problem is not None:
        lost = max(size - counted, 0)
        yield BadUnit(ordinal, name, counted, lost, *problem, sha256(name.encode()).hexdigest())
        counted += lost
    elif not stream.found:
        yield Skipped("other_member", size)
        counted += size
    yield FileEnd(counted, size, "stream", "7z", inner.damaged_regions + (problem is not None))


class _Pulled(io.RawIOBase):
    """The bytes of one member, as the library's thread hands them over."""

    def __init__(self, raw: BinaryIO, name: str, size: int, limits: Limits) -> None:
        self._chunks: queue.Queue[bytes | None] = queue.Queue(_QUEUED_CHUNKS)
        self._stopped = threading.Event()
        self._rest = b""
        self._ended = False
        self.found = False
        self._pool = ThreadPoolExecutor(1, "7z")
        self._work: Future[None] = self._pool.submit(self._extract, raw, name, limits)
        self._received, self._size, self._limits, self._bomb = 0, size, limits, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and not self._ended:
            chunk = self._chunks.get()
            self._rest, self._ended = chunk or b"", chunk is None
            self._received += len(self._rest)
            if self._limits.is_bomb(self._received, self._size):
                self._bomb = True
                self.stop()
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count

    def problem(self) -> tuple[UnitErrorClass, str] | None:
        """Return what was wrong with the archive once it was read; storage errors are raised."""
        error = self._work.exception()
        if self._bomb:
            return ("bomb", "member")
        if isinstance(error, OSError) and error.errno:
            raise error
        return None if error is None or isinstance(error, Stopped) else ("parse", "archive")

    def stop(self) -> None:
        """End the thread, whether or not everything was read."""
        self._stopped.set()
        self._ended = True
        self._pool.shutdown(wait=True)

    def put(self, chunk: bytes | None) -> None:
        """Hand over one chunk; waits while the queue is full. Raises Stopped when nobody reads any more."""
        while True:
            if self._stopped.is_set():
                raise Stopped
            try:
                return self._chunks.put(chunk, timeout=_POLL_SECONDS)
            except queue.Full:
                continue

    def _extract(self, raw: BinaryIO, name: str, limits: Limits) -> None:
        try:
            with py7zr.SevenZipFile(raw, "r", max_extract_size=limits.max_expanded_gib * GIB) as archive:
                wanted = [member for member in archive.getnames() if member.rsplit("/")[-1] == name][:1]
                self.found = bool(wanted)
                if wanted:
                    archive.extract(targets=wanted, factory=_Factory(self))
        finally:
            if not self._stopped.is_set():
                self.put(None)


class _Factory(WriterFactory):
    def __init__(self, pulled: _Pulled) -> None:
        self._pulled = pulled

    def create(self, filename: str) -> Py7zIO:
        return _Writer(self._pulled)


class _Writer(Py7zIO):
    """Where the library writes a member; it reads nothing back."""

    def __init__(self, pulled: _Pulled) -> None:
        self._pulled, self._written = pulled, 0

    def write(self, data: bytes | bytearray) -> int:
        self._pulled.put(bytes(data))
        self._written += len(data)
        return len(data)

    def read(self, size: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        return 0

    def flush(self) -> None:
        return None

    def size(self) -> int:
        return self._written
