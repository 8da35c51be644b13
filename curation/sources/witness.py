"""Whether the bytes that were read are the bytes that were registered.

A file may change between the planning that took its fingerprint and the task that reads it. What is committed under
its name must be what the register says of it, so the stream is watched while it is read: on a local file its sha256
is taken on the way, on an object store the etag is asked for again afterwards.
"""

import hashlib
import io
from typing import BinaryIO

from curation import s3, storage
from curation.errors import IntegrityError
from curation.registry import InputFile

_BLOCK_BYTES = 1 << 20


class Watched(io.RawIOBase):
    """A stream that passes bytes on and hashes them for as long as they are read in order."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self._sha256, self.in_order = raw, hashlib.sha256(), True

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether the stream below can seek."""
        return self._raw.seekable()

    def readinto(self, buffer: object) -> int:
        """Read bytes into a buffer; return how many."""
        data = self.read(len(memoryview(buffer)))  # type: ignore[arg-type]
        memoryview(buffer)[: len(data)] = data  # type: ignore[arg-type]
        return len(data)

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes, all that are left if it is negative."""
        data = self._raw.read(size)
        if self.in_order:
            self._sha256.update(data)
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to another place, after which the hash says nothing."""
        self.in_order = False
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        """Return the place in the stream."""
        return self._raw.tell()

    def close(self) -> None:
        """Close the stream below too."""
        self._raw.close()
        super().close()

    def sha256(self) -> str:
        """Return the sha256 of the whole stream, reading what is left of it."""
        while self.read(_BLOCK_BYTES):
            pass
        return self._sha256.hexdigest()


class Witness:
    """Opens one registered file, and afterwards tells whether it was still the registered one."""

    def __init__(self, file: InputFile, url: str) -> None:
        self._file, self._url = file, url
        self._stream: Watched | None = None

    def open(self, url: str) -> BinaryIO:
        """Return the watched stream."""
        self._stream = Watched(storage.open_raw(url))
        return self._stream  # type: ignore[return-value]

    def check(self) -> None:
        """Compare what was read with the register; call it while the stream is still open.

        Raises:
            IntegrityError: the file is another one than was registered.
        """
        found = self._fingerprint()
        if found != self._file.fingerprint:
            raise IntegrityError(
                f"{self._file.uri} changed while it was read: registered as {self._file.fingerprint}, now {found}. "
                "Nothing of it was committed; let nobody write to inputs, then run again: the new bytes need a new name"
            )

    def _fingerprint(self) -> str:
        if s3.is_s3(self._url):
            return f"etag:{s3.etag(self._url)}"
        in_order = self._stream is not None and self._stream.in_order
        return f"sha256:{self._stream.sha256() if in_order and self._stream else storage.sha256(self._url)}"
