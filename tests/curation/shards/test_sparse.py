"""Pairs beyond 2^31 tokens and bytes, as files with holes: nothing in reading or cutting them counts in 32 bits."""

import os
from pathlib import Path

import numpy as np
import pytest

from curation.shards.layout import index_chunks
from curation.shards.reader import PairReader
from curation.shards.training import PairSamples

EOD = 50_256


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A uint16 pair of 3 × 2^30 + 2,000 tokens, over 6 GiB: holes of zeros, and marks at the ends of documents."""
    prefix = tmp_path_factory.mktemp("sparse") / "p"
    lengths = np.array([*[2**28] * 12, *[2] * 1_000], np.int32)
    (prefix.parent / "p.idx").write_bytes(b"".join(index_chunks(np.dtype("<u2"), lengths)))
    ends = np.cumsum(lengths, dtype=np.int64)
    with open(f"{prefix}.bin", "wb") as file:
        os.truncate(f"{prefix}.bin", int(ends[-1]) * 2)
        for number, end in enumerate(ends.tolist()):
            file.seek((end - 2) * 2)
            file.write(np.array([number + 1, EOD], "<u2").tobytes())
    return prefix


def test_every_sequence_is_read_at_its_place(large: Path) -> None:
    reader = PairReader(large)
    assert reader.lengths.sum(dtype=np.int64) == 3 * 2**30 + 2_000
    assert int(reader.pointers[-1]) > 2 * 2**31
    assert len(reader.tokens) == 3 * 2**30 + 2_000
    for number in (0, 7, 8, 11, 12, 500, 1_011):
        assert reader[number][-2:].tolist() == [number + 1, EOD]


def test_samples_are_cut_beyond_2_31_tokens(large: Path) -> None:
    reader = PairReader(large)
    samples = PairSamples(reader, None, 2**20, 1)
    stream = np.cumsum(reader.lengths[samples.indices.documents], dtype=np.int64)
    assert len(samples) == (3 * 2**30 + 1_999) // 2**20
    rows = samples.indices.samples.astype(np.int64)
    starts = np.r_[0, stream[:-1]][rows[:, 0]] + rows[:, 1]
    np.testing.assert_array_equal(starts, np.arange(len(rows)) * 2**20)
    last = int(np.flatnonzero(samples.indices.shuffle == len(samples) - 1)[0])
    assert len(samples[last]) == 2**20 + 1


def test_megatron_reads_them_as_we_do(large: Path) -> None:
    pytest.importorskip("torch")
    indexed = pytest.importorskip("megatron.core.datasets.indexed_dataset")
    theirs, ours = indexed.IndexedDataset(str(large)), PairReader(large)
    for number in (8, 11, 12, 1_011):
        assert theirs.get(number, offset=int(ours.lengths[number]) - 2, length=2).tolist() == [number + 1, EOD]
