"""Sample indices: cut and shuffled as a walk over the tokens says, and kept under a name without a path."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.shards import sample_cache, samples
from curation.shards.sample_cache import cache_key, cached
from curation.shards.samples import build, epochs_needed

length_lists = st.lists(st.integers(1, 60), min_size=1, max_size=40)
ARRAYS = ("documents", "samples", "shuffle")


def rows_by_walking(lengths: list[int], documents: list[int], sequence_tokens: int) -> list[list[int]]:
    """Where each sample begins, found a token at a time."""
    stream = [(place, token) for place, document in enumerate(documents) for token in range(lengths[document])]
    return [list(stream[at]) for at in range(0, len(stream), sequence_tokens)][
        : (len(stream) - 1) // sequence_tokens + 1
    ]


@given(length_lists, st.integers(1, 50), st.integers(1, 200), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_samples_begin_where_a_walk_over_the_tokens_says(lengths: list[int], step: int, wanted: int, seed: int) -> None:
    found = build(np.array(lengths, np.int32), wanted, step, seed)
    assert found.samples.tolist() == rows_by_walking(lengths, found.documents.tolist(), step)
    assert len(found.shuffle) >= wanted
    assert sorted(found.shuffle.tolist()) == list(range(len(found.shuffle)))
    epochs = len(found.documents) // len(lengths)
    assert sorted(found.documents.tolist()) == sorted(list(range(len(lengths))) * epochs)
    assert (epochs - 1) * sum(lengths) < wanted * step + 1 <= epochs * sum(lengths)


def test_a_short_last_epoch_is_met_last() -> None:
    lengths = np.full(100, 10, np.int32)
    found = build(lengths, 130, 10, 1)  # 99 samples of one epoch and 31 of the second, less than 80 % of it
    assert set(found.documents[:100].tolist()) == set(range(100))
    assert set(found.shuffle[:99].tolist()) == set(range(99))
    together = build(lengths, 190, 10, 1)
    assert set(together.documents[:100].tolist()) != set(range(100))


def test_a_pair_without_tokens_has_no_samples() -> None:
    with pytest.raises(ValueError, match="without tokens"):
        epochs_needed(0, 3, 8)
    with pytest.raises(ValueError, match="a sample of 0 tokens"):
        build(np.array([3], np.int32), 3, 0, 1)


def test_positions_beyond_2_31_take_int64(monkeypatch: pytest.MonkeyPatch) -> None:
    """AT-24."""
    lengths = np.array([5, 9, 30], np.int32)
    narrow = build(lengths, 40, 4, 3)
    monkeypatch.setattr(samples, "_INT32", 2)
    monkeypatch.setattr(samples, "_UINT32", 2)
    wide = build(lengths, 40, 4, 3)
    for name in ARRAYS:
        assert getattr(wide, name).dtype == np.int64
        np.testing.assert_array_equal(getattr(wide, name), getattr(narrow, name))


def test_a_stream_of_more_than_2_31_tokens_is_counted_right() -> None:
    lengths = np.full(5, 2**30, np.int32)
    found = build(lengths, None, 2**20, 1)
    assert found.samples[-1].tolist() == [4, 2**30 - 2**20]
    assert len(found.shuffle) == 5 * 2**10 - 1


def test_indices_are_found_again_wherever_the_pair_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = np.random.default_rng(0).integers(1, 90, 300).astype(np.int32)
    first = cached(tmp_path / "cache", lengths, 500, 16, 7)
    (tmp_path / "cache").rename(tmp_path / "moved")
    monkeypatch.setattr(sample_cache, "build", None)
    second = cached(tmp_path / "moved", lengths, 500, 16, 7)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
        assert getattr(first, name).dtype == getattr(second, name).dtype
    assert len(list((tmp_path / "moved").iterdir())) == 3


def test_indices_that_were_cut_short_are_built_again(tmp_path: Path) -> None:
    lengths = np.array([5, 9, 30], np.int32)
    first = cached(tmp_path, lengths, 40, 4, 3)
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:40])
    np.testing.assert_array_equal(cached(tmp_path, lengths, 40, 4, 3).samples, first.samples)


def test_whatever_changes_the_order_changes_the_name() -> None:
    lengths = np.array([5, 9, 30], np.int32)
    base = (lengths, 40, 4, 3)
    others = [
        (lengths[:2], 40, 4, 3),
        (lengths, 41, 4, 3),
        (lengths, None, 4, 3),
        (lengths, 40, 5, 3),
        (lengths, 40, 4, 4),
    ]
    assert len({cache_key(*base), *(cache_key(*other) for other in others)}) == 6
