"""What a store's failures become: FileNotFoundError for what is not there, InfrastructureError for all the rest.

A refusal says nothing about the data, so it must never look like damage (exit 4).
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import Any

from curation.errors import InfrastructureError

_FULL = {errno.ENOSPC, errno.EDQUOT}
_MISSING = {"NoSuchKey", "404"}


@contextlib.contextmanager
def told(url: str) -> Iterator[None]:
    """Say of a failure in the block which file it was about."""
    try:
        yield
    except _failures(url) as error:
        if isinstance(error, FileNotFoundError) or code_of(error) in _MISSING:
            raise missing(url) from None
        reason = getattr(error, "strerror", None) or code_of(error) or type(error).__name__
        if getattr(error, "errno", None) in _FULL:
            raise InfrastructureError(
                f"{url}: the disk is full ({reason}); what is committed stays: make room, or give --work on a larger "
                "disk, and run the same command again (`curate plan` says how much room it needs)"
            ) from error
        raise InfrastructureError(
            f"{url}: the store refused ({reason}); check permissions, credentials and the way to it"
        ) from error


def missing(url: str) -> FileNotFoundError:
    """Return the error that says that nothing stands at `url`; `filename` is the url."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url)


def code_of(error: Any) -> str:
    """Return what S3 calls an error, or nothing; smart_open keeps S3's inside the OSError that it raises instead."""
    response = getattr(getattr(error, "backend_error", error), "response", {})
    return str(response.get("Error", {}).get("Code", ""))


def _failures(url: str) -> tuple[type[Exception], ...]:
    if not url.startswith("s3://"):
        return (OSError,)
    from botocore.exceptions import BotoCoreError, ClientError

    return (OSError, BotoCoreError, ClientError)
