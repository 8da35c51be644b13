"""Compiled and plain kernels give the same bytes, and one place chooses between them."""

import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from dedup_texts import as_slice, batches
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.dedup import kernels
from curation.dedup.kernels import PADDING, compiled, plain
from curation.dedup.minhash import affine32
from curation.dedup.normalise import lower

WITHOUT_NUMBA = Path(__file__).with_name("dedup_digest.py")


def same(one, other):
    return all(np.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(one, other, strict=True))


@settings(deadline=None)
@given(batches)
def test_text_kernels_agree(texts):
    data, offsets = lower(as_slice(texts, True))
    assert same(compiled.word_items(data, offsets), plain.word_items(data, offsets))
    collapsed = compiled.collapse(data, offsets)
    assert same(collapsed, plain.collapse(data, offsets))
    assert collapsed[0].size == collapsed[1][-1] + PADDING
    assert same(compiled.character_items(*collapsed), plain.character_items(*collapsed))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 12), max_size=6), st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32))
def test_ngrams_and_signatures_agree(sizes, length, permutations, seed):
    offsets = np.cumsum([0, *sizes]).astype(np.int64)
    items = np.random.default_rng(seed).integers(0, 2**64, offsets[-1], np.uint64)
    counts = np.array([max(size - length + 1, min(size, 1)) for size in sizes], np.int64)
    out_offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    hashes = compiled.ngrams(items, offsets, length, out_offsets)
    assert np.array_equal(hashes, plain.ngrams(items, offsets, length, out_offsets))
    a, b = affine32(permutations, 1)
    assert np.array_equal(compiled.minhash(hashes, out_offsets, a, b), plain.minhash(hashes, out_offsets, a, b))


def run_everything(*options):
    command = [sys.executable, str(WITHOUT_NUMBA), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout.split()


def test_without_numba_everything_has_the_same_digest():
    with_numba, without = run_everything(), run_everything("--without-numba")
    assert (with_numba[0], without[0]) == ("compiled", "plain")
    assert with_numba[1:] == without[1:]


def test_numba_is_not_imported_before_a_kernel_is_wanted():
    modules = "bands buffers components exact greedy minhash normalise shingles"
    code = f"import sys\nfrom curation.dedup import {modules.replace(' ', ', ')}\nprint('numba' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "False"


def test_loops_are_compiled_where_no_cache_can_be_written(monkeypatch):
    tried = []

    def refuse_the_cache(**options):
        tried.append(options.get("cache", False))
        if tried[-1]:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(numba, "njit", refuse_the_cache)
    assert kernels.loop(len) is len
    assert tried == [True, False]


@pytest.mark.parametrize("module", ["compiled", "links", "walks"])
def test_compiled_files_stand_alone(module):
    """A change in a file of constants or helpers would leave stale machine code in numba's cache."""
    text = Path(kernels.__file__).with_name(f"{module}.py").read_text()
    lines = [line for line in text.splitlines() if line.startswith("from curation")]
    allowed = {"Bytes", "Hashes", "Integers", "Nodes", "Signatures", "inner_loop", "loop"}
    layouts = {"Batch", "Buckets", "Members", "State"}
    entries = {"flatten", "link", "place", "close_component", "component_walk", "greedy_walk", "rehash"}
    for line in lines:
        names = {name.strip() for name in line.split(" import ")[1].split(",")}
        assert names <= (entries if module == "compiled" and "kernels." in line else allowed | layouts), line
