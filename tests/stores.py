"""A store of objects for tests: S3 as a server on this machine, that this process and its children speak to."""

import contextlib
import logging
import uuid
from collections.abc import Iterator

import pytest

from curation import s3

BUCKET = "corpus"


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """Run the server while the block runs, with the environment pointing at it; lend the url of its bucket."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        environment.setenv("AWS_EC2_METADATA_DISABLED", "true")
        environment.delenv("AWS_PROFILE", raising=False)
        forget_clients()
        s3.client().create_bucket(Bucket=BUCKET)
        try:
            yield f"s3://{BUCKET}"
        finally:
            forget_clients()
            server.stop()


def forget_clients() -> None:
    """Make the next use of the store read the environment again."""
    s3.client.cache_clear()
    s3.filesystem.cache_clear()


def fresh_prefix(bucket: str) -> str:
    """Return a place in a bucket where nothing stands."""
    return f"{bucket}/{uuid.uuid4().hex}"
