"""What a store's failures become: FileNotFoundError for what is not there, InfrastructureError for all the rest.

A refusal says nothing about the data, so it must never look like damage (exit 4).
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import Any

from curation.errors import InfrastructureError

_MISSING = {"NoSuchKey", "404"}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def told(url: str, written: int | None = None) -> Iterator[None]:
    """Say of a failure in the block which file it was about, and how many of its bytes were written before."""
    try:
        yield
    except _failures(url) as error:
        if isinstance(error, FileNotFoundError) or code_of(error) in _MISSING:
            raise missing(url) from None
        raise InfrastructureError(_advice(url, error, written)) from error


def _advice(url: str, error: Exception, written: int | None) -> str:
    number = getattr(error, "errno", None)
    after = "" if written is None else f" after {written:,} bytes"
    if number in _FULL:
        return (
            f"{url}: the disk is full{after}. What is committed stays; make room (`curate clean` removes what no run "
            "needs, `curate plan` says how much a run needs), then give the same command again"
        )
    if number == errno.EROFS:
        return f"{url}: this file system is mounted read-only; give --work another place, or mount it for writing"
    reason = getattr(error, "strerror", None) or code_of(error) or type(error).__name__
    return f"{url}: the store refused ({reason}){after}; check permissions, credentials and the way to it"


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
