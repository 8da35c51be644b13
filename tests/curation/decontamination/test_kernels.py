"""Compiled and plain kernels give the same bytes, and one place chooses between them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_matcher import EXTENDED, INDEX, documents
from test_words import texts as awkward

from curation.decontamination import kernels
from curation.decontamination.kernels import compiled, plain
from curation.decontamination.words import fold_table, text_buffers

WITHOUT_NUMBA = Path(__file__).with_name("decontamination_digest.py")


def same(one, other):
    return all(np.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(one, other, strict=True))


def in_order(found):
    return found[:, np.lexsort(found[::-1])]


@settings(deadline=None)
@given(st.lists(awkward, max_size=6), st.sampled_from(["paper", "extended"]), st.booleans())
def test_words_agree(texts, mode, separates):
    data, offsets = text_buffers(pa.array(texts, pa.large_string()))
    fold = fold_table(mode, separates)
    one, other = compiled.split(data, offsets, fold), plain.split(data, offsets, fold)
    assert same(one[:4], other[:4])
    assert np.array_equal(one[4] & 1, other[4] & 1)
    fast = one[4] & 1 == 0  # of a slow text the compiled kernel sees only the beginning
    assert np.array_equal(one[4][fast], other[4][fast])


@settings(deadline=None)
@given(st.lists(documents, max_size=4), st.sampled_from([INDEX, EXTENDED]))
def test_hits_and_cuts_agree(texts, index):
    data, offsets = text_buffers(pa.array(texts, pa.large_string()))
    hashes, starts, ends, word_offsets, _ = compiled.split(data, offsets, fold_table(index.mode))
    one = in_order(compiled.search(hashes, word_offsets, compiled.lookup(index)))
    assert np.array_equal(one, in_order(plain.search(hashes, word_offsets, plain.lookup(index))))
    rows, firsts, positions = one
    where = rows, starts[firsts], ends[firsts + index.words[positions] - 1]
    assert same([compiled.cuts(data, offsets, *where)], [plain.cuts(data, offsets, *where)])
    assert same([compiled.resuming(*where)], [plain.resuming(*where)])


@settings(deadline=None)
@given(st.lists(st.integers(0, 30), max_size=6), st.integers(0, 2**32))
def test_ngrams_agree(sizes, seed):
    offsets = np.cumsum([0, *sizes]).astype(np.int64)
    hashes = np.random.default_rng(seed).integers(0, 2**64, offsets[-1], np.uint64)
    counts = np.array([0 if size < 8 else max(size - 12, 1) for size in sizes], np.int64)
    assert same(compiled.ngrams(hashes, offsets, counts), plain.ngrams(hashes, offsets, counts))


def run_everything(*options):
    command = [sys.executable, str(WITHOUT_NUMBA), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout.split()


def test_without_numba_everything_has_the_same_digest():
    with_numba, without = run_everything(), run_everything("--without-numba")
    assert (with_numba[0], without[0]) == ("compiled", "plain")
    assert with_numba[1:] == without[1:]


def test_numba_is_not_imported_before_a_kernel_is_wanted():
    modules = "cuts, frequency, index, matcher"
    code = f"import sys\nfrom curation.decontamination import {modules}\nprint('numba' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "False"


@pytest.mark.parametrize("name", ["SEPARATOR", "IGNORED", "DEPENDS", "EITHER", "EXPANSION"])
def test_the_copies_of_constants_are_equal(name):
    assert getattr(compiled, name) == getattr(kernels, name)
