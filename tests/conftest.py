"""What every test may ask for: a place to keep files, on a disk or in a store of objects."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.stores import fresh_prefix, s3_server

# A machine that is busy makes a right answer late, not wrong; pytest's own limit stops what never ends.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# Tests run many short jobs: the first compiler tier and the plain collector halve the JVM's CPU time.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def s3_bucket() -> Iterator[str]:
    """Lend a bucket of an S3 server that runs until the last test."""
    with s3_server() as bucket:
        yield bucket


@pytest.fixture
def s3_root(s3_bucket: str) -> str:
    """Return an empty place in the bucket."""
    return fresh_prefix(s3_bucket)


@pytest.fixture(params=["local", "s3"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return an empty place, once on the disk and once in the bucket."""
    return str(tmp_path / "store") if request.param == "local" else str(request.getfixturevalue("s3_root"))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of real files; tests that ask for it are skipped without one."""
    folder = os.environ.get("CURATION_REAL_DATA")
    if not folder:
        pytest.skip("CURATION_REAL_DATA is not set")
    return Path(folder)
