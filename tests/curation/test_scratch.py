"""Scratch: rows go through the store and come back, and nothing is left when the stage is done."""

import pyarrow as pa

from curation import storage
from curation.scratch import delete_scratch, read_scratch, write_scratch

BATCH = pa.RecordBatch.from_pydict({"doc_id": [1, 2, 3], "key": pa.array([b"a", None, b""], pa.binary())})


def test_rows_come_back_as_they_were_written(root):
    name = write_scratch(root, "dedup", "0000-bands", [BATCH.slice(0, 1), BATCH.slice(1, 0), BATCH.slice(1)])
    assert name is not None
    assert name.startswith("dedup/parts/0000-bands-scratch-")
    assert read_scratch(root, name).equals(pa.Table.from_batches([BATCH]))


def test_no_rows_are_no_file(root):
    assert write_scratch(root, "dedup", "0000", []) is None
    assert write_scratch(root, "dedup", "0000", [BATCH.slice(0, 0)]) is None
    assert storage.list_names(storage.join(root, "dedup/parts")) == []


def test_deleting_takes_what_is_there_and_minds_nothing_else(root):
    names = [write_scratch(root, "dedup", "0000", [BATCH]), None]
    delete_scratch(root, names)
    delete_scratch(root, names)
    assert storage.list_names(storage.join(root, "dedup/parts")) == []
