"""Megatron itself reads our pairs, we read its, and its blend is ours. Needs megatron-core 0.16.1 and torch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.shards.blend import greedy, normalised
from curation.shards.reader import PairReader
from curation.shards.tokenizer import Tokenizer
from curation.shards.writer import PairCounts

WritePair = Callable[..., tuple[bytes, bytes, PairCounts]]


@pytest.fixture(scope="module")
def indexed_dataset() -> Any:
    """Megatron's module for these files; its import warns of Apex and Transformer Engine."""
    pytest.importorskip("torch")
    return pytest.importorskip("megatron.core.datasets.indexed_dataset")


@pytest.fixture(scope="module")
def helpers() -> Any:
    """Megatron's compiled blending."""
    pytest.importorskip("torch")
    return pytest.importorskip("megatron.core.datasets.helpers")


@pytest.mark.parametrize(("largest_id", "dtype"), [(50_256, np.uint16), (65_520, np.uint16), (128_000, np.int32)])
def test_megatron_reads_every_token_of_our_pairs(
    indexed_dataset: Any, write_pair: WritePair, tmp_path: Path, largest_id: int, dtype: type
) -> None:
    rng = np.random.default_rng(largest_id)
    documents = [rng.integers(0, largest_id, rng.integers(0, 60)).tolist() for _ in range(300)]
    data, index, counts = write_pair(documents[:100], documents[100:], largest_id=largest_id, eod=largest_id)
    (tmp_path / "p.bin").write_bytes(data)
    (tmp_path / "p.idx").write_bytes(index)
    dataset = indexed_dataset.IndexedDataset(str(tmp_path / "p"))
    assert (len(dataset), len(dataset.document_indices), dataset.index.dtype) == (300, 301, dtype)
    assert int(dataset.sequence_lengths.sum(dtype=np.int64)) == counts.tokens
    for number, ids in enumerate(documents):
        assert dataset[number].tolist() == [*ids, largest_id]
    reader = PairReader(tmp_path / "p")
    np.testing.assert_array_equal(reader.lengths, dataset.sequence_lengths)
    np.testing.assert_array_equal(reader.pointers, dataset.index.sequence_pointers)
    np.testing.assert_array_equal(reader.document_index, dataset.document_indices)


def test_megatron_loads_the_dtype_it_infers_from_the_vocabulary(
    indexed_dataset: Any, write_pair: WritePair, tmp_path: Path
) -> None:
    """Its fast loader skips the header: uint16 (code 8) up to 65,536 tokens, else int32 (code 4)."""
    for largest_id, code in ((50_256, 8), (65_520, 8), (65_535, 8), (65_536, 4)):
        data, index, _ = write_pair([[1, 2], [3]], largest_id=largest_id, eod=largest_id)
        (tmp_path / "p.bin").write_bytes(data)
        (tmp_path / "p.idx").write_bytes(index)
        fast = indexed_dataset._IndexReader(str(tmp_path / "p.idx"), False, (2, 3), code)
        assert fast.dtype == indexed_dataset._IndexReader(str(tmp_path / "p.idx"), False).dtype
        assert fast.sequence_pointers.tolist() == [0, 3 * np.dtype(fast.dtype).itemsize]


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64])
def test_we_read_every_token_of_pairs_that_megatron_built(indexed_dataset: Any, tmp_path: Path, dtype: type) -> None:
    import torch

    rng = np.random.default_rng(0)
    sequences = [rng.integers(0, 40_000, rng.integers(1, 60)) for _ in range(200)]
    builder = indexed_dataset.IndexedDatasetBuilder(str(tmp_path / "p.bin"), dtype=dtype)
    for number, ids in enumerate(sequences):
        builder.add_item(torch.from_numpy(ids))
        if number % 2:  # two sequences per document, which ours never have
            builder.end_document()
    builder.finalize(str(tmp_path / "p.idx"))
    reader = PairReader(tmp_path / "p")
    assert (len(reader), reader.documents, reader.dtype) == (200, 100, np.dtype(dtype))
    for number, ids in enumerate(sequences):
        np.testing.assert_array_equal(reader[number], ids)


def test_our_bytes_are_those_of_megatrons_builder(
    indexed_dataset: Any, write_pair: WritePair, tiny: Tokenizer, tmp_path: Path
) -> None:
    import torch

    encoded = tiny.encode_batch(["In 1911, people", "", "wrote <|endoftext|> letters"])
    documents = [encoded[number].tolist() for number in range(3)]
    data, index, _ = write_pair(documents, largest_id=tiny.largest_id, eod=tiny.eod)
    builder = indexed_dataset.IndexedDatasetBuilder(str(tmp_path / "p.bin"), dtype=np.uint16)
    for ids in documents:
        builder.add_item(torch.tensor([*ids, tiny.eod]))
        builder.end_document()
    builder.finalize(str(tmp_path / "p.idx"))
    assert (tmp_path / "p.bin").read_bytes() == data
    assert (tmp_path / "p.idx").read_bytes() == index


@pytest.mark.parametrize("seed", range(10))
def test_megatron_blends_in_our_order(helpers: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    members, samples = int(rng.integers(1, 40)), int(rng.integers(1, 50_000))
    weights = rng.dirichlet(np.full(members, 0.3)) + 1e-9
    member, number = np.zeros(samples, np.int16), np.zeros(samples, np.int64)
    helpers.build_blending_indices(member, number, normalised(weights), members, samples, False)
    ours = greedy(weights, samples)
    np.testing.assert_array_equal(ours[0], member)
    np.testing.assert_array_equal(ours[1], number)
