"""A file of the store as a local path, for libraries that open paths only."""

import hashlib
import os
import shutil
import tempfile
import uuid
from pathlib import Path

from curation import storage
from curation.s3 import is_s3


def local_copy(url: str) -> Path:
    """Return a path with the bytes of `url`: itself if it is local, else a copy made once per user and machine.

    The name of a committed file never stands for other bytes, so a copy never goes stale.
    """
    if not is_s3(url):
        return Path(url)
    folder = Path(tempfile.gettempdir()) / f"curate-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / hashlib.sha256(url.encode()).hexdigest()
    if not path.exists():
        temporary = folder / uuid.uuid4().hex
        with storage.open_raw(url) as source, temporary.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        temporary.rename(path)
    return path
