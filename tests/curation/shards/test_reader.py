"""Reading pairs: what was written comes back, in views, from any number of pairs, and from sizes beyond int32."""

import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.errors import IntegrityError
from curation.shards.layout import index_chunks
from curation.shards.reader import PairReader
from curation.shards.writer import PairCounts

WritePair = Callable[..., tuple[bytes, bytes, PairCounts]]
SavePair = Callable[..., Path]


@pytest.fixture
def save_pair(tmp_path: Path, write_pair: WritePair) -> SavePair:
    """A function that writes a pair into a folder and returns its prefix."""

    def save(documents: list[list[int]], name: str = "pair", **vocabulary: int) -> Path:
        prefix = tmp_path / name
        data, index, _ = write_pair(documents, **vocabulary)
        Path(f"{prefix}.bin").write_bytes(data)
        Path(f"{prefix}.idx").write_bytes(index)
        return prefix

    return save


@given(st.lists(st.lists(st.integers(0, 50255), max_size=6), min_size=1, max_size=12), st.sampled_from([50256, 70_000]))
def test_what_was_written_comes_back(
    tmp_path_factory: pytest.TempPathFactory, write_pair: WritePair, documents: list[list[int]], largest_id: int
) -> None:
    prefix = tmp_path_factory.mktemp("pair") / "p"
    data, index, _ = write_pair(documents, largest_id=largest_id, eod=50256)
    Path(f"{prefix}.bin").write_bytes(data)
    Path(f"{prefix}.idx").write_bytes(index)
    reader = PairReader(prefix)
    assert (len(reader), reader.documents) == (len(documents), len(documents))
    assert [reader[number].tolist() for number in range(len(reader))] == [[*ids, 50256] for ids in documents]
    assert reader.tokens.tolist() == [token for ids in documents for token in [*ids, 50256]]
    assert reader.document_index.tolist() == list(range(len(documents) + 1))


def test_a_part_of_a_sequence_can_be_read(save_pair: SavePair) -> None:
    reader = PairReader(save_pair([[1, 2, 3], [4]]))
    assert reader.get(0, 1, 2).tolist() == [2, 3]
    assert reader.get(1, 2, 0).tolist() == []
    assert reader[-1].tolist() == [4, 50256]
    for offset, length in ((0, 5), (-1, 2), (4, 1)):
        with pytest.raises(IndexError, match="of a sequence of 4"):
            reader.get(0, offset, length)
    with pytest.raises(IndexError):
        reader[2]


def test_arrays_are_read_only_views_of_the_files(save_pair: SavePair) -> None:
    reader = PairReader(save_pair([[1, 2, 3], [4]]))
    assert np.shares_memory(reader[0], reader.tokens)
    for array in (reader[0], reader.tokens, reader.lengths, reader.pointers, reader.document_index):
        assert not array.flags.writeable


def test_views_outlive_their_reader(save_pair: SavePair) -> None:
    tokens = PairReader(save_pair([[1, 2, 3]]))[0]
    assert tokens.tolist() == [1, 2, 3, 50256]


def test_open_pairs_hold_no_files(save_pair: SavePair) -> None:
    prefixes = [save_pair([[number]], f"pair-{number}") for number in range(100)]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = max(int(entry.name) for entry in Path("/dev/fd").iterdir() if entry.name.isdigit())
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, in_use + 20), hard))
    try:
        readers = [PairReader(prefix) for prefix in prefixes]
        assert [int(reader[0][0]) for reader in readers] == list(range(100))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_tokens_and_bytes_beyond_int32_are_read_from_where_they_are(tmp_path: Path) -> None:
    lengths = np.array([2**31 - 1, 2**30, 3], np.int32)  # 3.2 billion tokens, 12.9 GB in a sparse file of a few blocks
    prefix, dtype = tmp_path / "big", np.dtype("<i4")
    (tmp_path / "big.idx").write_bytes(b"".join(index_chunks(dtype, lengths)))
    with (tmp_path / "big.bin").open("wb") as file:
        file.truncate(int(lengths.sum(dtype=np.int64)) * 4 - 12)
        file.seek(0, 2)
        file.write(np.array([70_000, 5, 70_001], dtype).tobytes())
    reader = PairReader(prefix)
    assert reader.tokens.size == 2**31 - 1 + 2**30 + 3
    assert reader[2].tolist() == [70_000, 5, 70_001]
    assert reader[0].size == 2**31 - 1
    assert int(reader.get(0, 2**31 - 2, 1)[0]) == 0


@pytest.mark.parametrize(
    ("suffix", "damage", "message"),
    [
        ("bin", lambda data: data[:-1], "the .bin has 11 bytes, its index 12"),
        ("bin", lambda data: data + b"\0", "the .bin has 13 bytes, its index 12"),
        ("bin", lambda data: b"", "the .bin has 0 bytes, its index 12"),
        ("idx", lambda data: data[:20], "the .idx has 20 bytes, less than its header"),
        ("idx", lambda data: b"", "the .idx has 0 bytes, less than its header"),
        ("idx", lambda data: data[:-1], "the .idx has 81 bytes, which 2 sequences do not fill"),
        ("idx", lambda data: b"N" + data[1:], "does not begin as version 1"),
        ("idx", lambda data: data[:17] + b"\x63" + data[18:], "does not begin as version 1"),
        ("idx", lambda data: data[:-8] + b"\x07" + data[-7:], "its last document ends at sequence 7 of 2"),
    ],
)
def test_a_damaged_pair_is_refused(
    save_pair: SavePair, suffix: str, damage: Callable[[bytes], bytes], message: str
) -> None:
    prefix = save_pair([[1, 2, 3], [4]])
    path = Path(f"{prefix}.{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(IntegrityError, match=message):
        PairReader(prefix)
