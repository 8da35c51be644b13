"""S3, and whatever speaks like it: the half of `curation.storage` that talks to a store of objects.

Clients are made at first use, from the environment alone (the AWS variables and files). Conditional puts make the
first writer of a name the only one. Failures come as boto3 and smart_open raise them.
"""

import contextlib
import functools
import io
import os
import time
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from curation.errors import InfrastructureError
from curation.failures import code_of, told

_IF_ABSENT = {"IfNoneMatch": "*"}
_STANDS_ALREADY = "PreconditionFailed"
_CONFLICT_SECONDS = 0.05  # a put of a commit takes about as long
_ATTEMPTS = 10  # boto3's five and pyarrow's three lose a request in a thousand on a line that loses one in four


def is_s3(url: str) -> bool:
    """Return whether a url is an object's and not a path."""
    return url.startswith("s3://")


@functools.cache
def client() -> Any:
    """Return this process's client."""
    try:
        import boto3
    except ImportError as error:
        raise InfrastructureError("s3:// needs boto3: pip install 'megatron-corpus[s3]'") from error
    from botocore.config import Config

    # not "standard", which stops asking again after a hundred failures of all requests together
    patient = Config(retries={"mode": "legacy", "total_max_attempts": _attempts()})
    return boto3.session.Session().client("s3", config=patient)  # the default session is not made for two threads


@functools.cache
def filesystem() -> Any:
    """Return pyarrow's view of the store that `client` speaks to."""
    endpoint = urlsplit(client().meta.endpoint_url)
    return fs.S3FileSystem(
        endpoint_override=endpoint.netloc,
        scheme=endpoint.scheme,
        region=client().meta.region_name,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_attempts()),
    )


def _attempts() -> int:
    """Return how often a request is made before it has failed; the AWS variable for it is honoured."""
    return int(os.environ.get("AWS_MAX_ATTEMPTS") or _ATTEMPTS)


def open_read(url: str) -> pa.PythonFile:
    """Return a seekable file of an object's bytes.

    Not pyarrow's own: it takes a throttled store's answer to a small read for damage and does not ask again
    ("Failed to flush response stream", pyarrow 25).
    """
    return pa.PythonFile(_Object(url), mode="r")


class _Object(io.RawIOBase):
    """An object as a file: every read is one request, made again if the answer broke off."""

    def __init__(self, url: str) -> None:
        self._bucket, self._key = _bucket_and_key(url)
        self._url, self._at = url, 0
        self._size = int(client().head_object(Bucket=self._bucket, Key=self._key)["ContentLength"])

    def readable(self) -> bool:
        """Return True."""
        return True

    seekable = readable

    def tell(self) -> int:
        """Return the place of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place."""
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Return that many bytes, fewer only at the end."""
        end = self._size if size < 0 else min(self._at + size, self._size)
        if end <= self._at:
            return b""
        with told(self._url):
            data = self._range(f"bytes={self._at}-{end - 1}")
        self._at += len(data)
        return data

    def _range(self, named: str) -> bytes:
        from botocore.exceptions import HTTPClientError

        for attempt in range(1, _attempts() + 1):
            try:
                answer = client().get_object(Bucket=self._bucket, Key=self._key, Range=named)
                return bytes(answer["Body"].read())
            except HTTPClientError:  # the answer broke off; requests that failed were made again by the client
                if attempt == _attempts():
                    raise
            time.sleep(_CONFLICT_SECONDS * attempt)
        raise AssertionError


def open_raw(url: str) -> BinaryIO:
    """Return a forward stream of an object's bytes."""
    stream: BinaryIO = _smart_open(url, "rb", {})
    return stream


@contextlib.contextmanager
def create(url: str) -> Iterator[Any]:
    """Make an object by a multipart upload: completed at the end, aborted after an error, dropped if one stands."""
    calls = ("complete_multipart_upload", "put_object")  # the second is for no bytes at all
    with contextlib.ExitStack() as stack:
        stream = _smart_open(url, "wb", {"client_kwargs": {f"S3.Client.{call}": _IF_ABSENT for call in calls}})
        stack.enter_context(_ignored("NoSuchUpload"))
        stack.callback(stream.terminate)  # does nothing once the upload is complete
        yield stream
        with _ignored(_STANDS_ALREADY):
            stream.close()


def put_if_absent(url: str, data: bytes) -> bool:
    """Return whether this call made the object; False if one stands."""
    from botocore.exceptions import ClientError

    bucket, key = _bucket_and_key(url)
    while True:
        try:
            client().put_object(Bucket=bucket, Key=key, Body=data, **_IF_ABSENT)
            return True
        except ClientError as error:
            if code_of(error) == _STANDS_ALREADY:
                return False
            if code_of(error) != "ConditionalRequestConflict":
                raise
        time.sleep(_CONFLICT_SECONDS)  # another put of this name is under way: ask again


def replace(url: str, data: bytes) -> None:
    """Put an object whatever stood there."""
    bucket, key = _bucket_and_key(url)
    client().put_object(Bucket=bucket, Key=key, Body=data)


def copy(source: str, target: str) -> None:
    """Copy an object within the store."""
    bucket, key = _bucket_and_key(target)
    from_bucket, from_key = _bucket_and_key(source)
    client().copy({"Bucket": from_bucket, "Key": from_key}, bucket, key)


def delete(url: str) -> None:
    """Remove an object; not through pyarrow, which would leave an empty object in the name of the folder."""
    bucket, key = _bucket_and_key(url)
    client().delete_object(Bucket=bucket, Key=key)


def etag(url: str) -> str:
    """Return what tells an object's version from another."""
    bucket, key = _bucket_and_key(url)
    return str(client().head_object(Bucket=bucket, Key=key)["ETag"]).strip('"')


def find(root: str, prefix: str) -> Iterator[tuple[str, int, str]]:
    """Yield (path relative to the root, bytes, etag) of every object whose path begins with `prefix`."""
    bucket, base = _bucket_and_key(root.rstrip("/") + "/")
    for page in client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=base + prefix):
        for item in page.get("Contents", []):
            if not item["Key"].endswith("/"):  # an empty object that stands for a folder
                yield item["Key"][len(base) :], item["Size"], item["ETag"].strip('"')


def _smart_open(url: str, mode: str, parameters: dict[str, Any]) -> Any:
    import smart_open

    return smart_open.open(url, mode, compression="disable", transport_params={"client": client(), **parameters})


@contextlib.contextmanager
def _ignored(code: str) -> Iterator[None]:
    from botocore.exceptions import ClientError

    try:
        yield
    except ClientError as error:
        if code_of(error) != code:
            raise


def _bucket_and_key(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.netloc, url.removeprefix(f"s3://{parts.netloc}/")
