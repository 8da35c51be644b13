"""Narrow intermediate rows that a stage hands from one of its tasks to another through the store.

Scratch files prove nothing: no commit names them, a run that is repeated makes them again, and the stage deletes
them when it has committed. A file that a killed run leaves behind is harmless.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa

from curation import storage
from curation.parts import fresh_file


def write_scratch(root: str, stage: str, label: str, batches: Iterable[pa.RecordBatch]) -> str | None:
    """Write rows to a fresh file as they come and return its name, or None if there are none."""
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return None
    name = fresh_file(stage, "scratch", label, ".arrow")
    with storage.create(storage.join(root, name)) as stream, pa.ipc.new_stream(stream, first.schema) as writer:
        for batch in chain([first], filled):
            writer.write_batch(batch)
    return name


def read_scratch(root: str, name: str) -> pa.Table:
    """Return the rows of a scratch file."""
    with storage.open_read(storage.join(root, name)) as stream, pa.ipc.open_stream(stream) as reader:
        return reader.read_all()


def stream_scratch(root: str, name: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a scratch file batch by batch, as they were written."""
    with storage.open_read(storage.join(root, name)) as stream, pa.ipc.open_stream(stream) as reader:
        yield from reader


def delete_scratch(root: str, names: Iterable[str | None]) -> None:
    """Delete scratch files that are not needed any more."""
    for name in names:
        if name is not None:
            storage.delete(storage.join(root, name))
