"""The fast shuffle is numpy's: the same order, and the same state afterwards."""

from typing import Any

import numpy as np
import pytest

from curation.shards import permutation
from curation.shards.permutation import shuffle


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
def test_order_and_state_are_numpys(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(permutation, "FROM_ELEMENTS", 0)
    ours, theirs = np.random.RandomState(1234), np.random.RandomState(1234)
    for size in [0, 1, 2, 3, 4, 5, 255, 256, 257, 258, 511, 512, 513, 4096, 4097, 100_003, *range(600, 640)]:
        expected, found = np.arange(size, dtype=dtype), np.arange(size, dtype=dtype)
        theirs.shuffle(expected)
        shuffle(found, ours)
        np.testing.assert_array_equal(found, expected)
        assert ours.randint(2**31) == theirs.randint(2**31)


def test_without_numba_it_is_numpy_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "FROM_ELEMENTS", 0)
    monkeypatch.setattr(permutation, "find_spec", lambda name: None)
    expected, found = np.arange(1000), np.arange(1000)
    np.random.RandomState(5).shuffle(expected)
    shuffle(found, np.random.RandomState(5))
    np.testing.assert_array_equal(found, expected)
