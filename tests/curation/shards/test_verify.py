"""Verification: a sound pair has no problems, and every damage is found at the byte where it was done."""

import io
import struct
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.shards import verify as module
from curation.shards.sidecar import PairSidecar
from curation.shards.verify import Problem, verify_pair
from curation.shards.writer import PairCounts

WritePair = Callable[..., tuple[bytes, bytes, PairCounts]]
SidecarOf = Callable[..., PairSidecar]
DOCUMENTS = [[10, 11, 12], [], [13], [14, 15]]  # the .bin: ends at tokens 3, 4, 6 and 9, bytes 6, 8, 12 and 18
POINTERS, INDEX_END = 34 + 4 * 4, 34 + 12 * 4 + 8 * 5


class Dribble(io.BytesIO):
    """A stream that gives less than it is asked for, as remote ones do."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 0, 5) if size and size > 0 else size)


def problems(data: bytes, index: bytes, expected: PairSidecar) -> list[Problem]:
    return verify_pair(lambda: io.BytesIO(data), lambda: io.BytesIO(index), expected)


def found(data: bytes, index: bytes, expected: PairSidecar) -> set[tuple[str, int | None]]:
    return {(problem.file, problem.offset) for problem in problems(data, index, expected)}


def patched(data: bytes, offset: int, new: bytes) -> bytes:
    return data[:offset] + new + data[offset + len(new) :]


@pytest.fixture(scope="module")
def pair(write_pair: WritePair, sidecar_of: SidecarOf) -> tuple[bytes, bytes, PairSidecar]:
    """A sound pair of DOCUMENTS."""
    data, index, counts = write_pair(DOCUMENTS)
    return data, index, sidecar_of(counts)


@given(st.lists(st.lists(st.integers(0, 50255), max_size=6), min_size=1, max_size=12))
def test_what_the_writer_wrote_has_no_problems(
    write_pair: WritePair, sidecar_of: SidecarOf, documents: list[list[int]]
) -> None:
    data, index, counts = write_pair(documents)
    assert problems(data, index, sidecar_of(counts)) == []


def test_an_int32_pair_has_no_problems(write_pair: WritePair, sidecar_of: SidecarOf) -> None:
    data, index, counts = write_pair([[70_000], [3]], largest_id=70_001, eod=70_001)
    vocabulary = {"dtype": "int32", "largest_id": 70_001, "vocabulary_size": 70_002, "eod": 70_001}
    assert problems(data, index, sidecar_of(counts, **vocabulary)) == []
    negative = patched(data, 8, struct.pack("<i", -5))
    assert ("bin", 8) in found(negative, index, sidecar_of(counts, **vocabulary))


@pytest.mark.parametrize("chunk_bytes", [4, 6, 8])
def test_chunks_and_short_reads_change_nothing(
    pair: tuple[bytes, bytes, PairSidecar], monkeypatch: pytest.MonkeyPatch, chunk_bytes: int
) -> None:
    data, index, expected = pair
    monkeypatch.setattr(module, "_CHUNK_BYTES", chunk_bytes)
    assert verify_pair(lambda: Dribble(data), lambda: Dribble(index), expected) == []
    worse = patched(data, 12, b"\xff\xff")
    problem = Problem(expected.name, "bin", 12, "a token id outside the vocabulary")
    assert problem in verify_pair(lambda: Dribble(worse), lambda: Dribble(index), expected)


@given(byte=st.integers(0, INDEX_END - 1), change=st.integers(1, 255))
def test_any_changed_byte_of_the_index_is_found(pair: tuple[bytes, bytes, PairSidecar], byte: int, change: int) -> None:
    data, index, expected = pair
    worse = patched(index, byte, bytes([index[byte] ^ change]))
    assert found(data, worse, expected) == {("idx", byte), ("idx", None)}


@given(byte=st.integers(0, 19), change=st.integers(1, 255))
def test_any_changed_byte_of_the_tokens_is_found(
    pair: tuple[bytes, bytes, PairSidecar], byte: int, change: int
) -> None:
    data, index, expected = pair
    places = found(patched(data, byte, bytes([data[byte] ^ change])), index, expected)
    assert ("bin", None) in places
    assert {offset for file, offset in places if file == "bin"} <= {None, byte // 2 * 2}
    assert "idx" not in {file for file, _ in places}


@pytest.mark.parametrize(
    ("offset", "token", "what"),
    [
        (6, 9, "document 0 does not end with end-of-document"),
        (8, 9, "document 1 does not end with end-of-document"),
        (18, 9, "the last token is not end-of-document"),
        (2, 50256, "end-of-document, where none is due"),
        (16, 50256, "end-of-document, where none is due"),
        (4, 50257, "a token id outside the vocabulary"),
    ],
)
def test_a_wrong_token_is_named_even_if_the_checksum_was_mended(
    pair: tuple[bytes, bytes, PairSidecar], offset: int, token: int, what: str
) -> None:
    data, index, expected = pair
    worse = patched(data, offset, struct.pack("<H", token))
    mended = expected.model_copy(update={"sha256_bin": sha256(worse).hexdigest()})
    assert Problem(expected.name, "bin", offset, what) in problems(worse, index, mended)


def test_lengths_and_pointers_that_lie_together_are_found(pair: tuple[bytes, bytes, PairSidecar]) -> None:
    data, _, expected = pair
    index = b"".join(module.index_chunks(np.dtype("<u2"), np.array([3, 2, 2, 3], np.int32)))
    mended = expected.model_copy(update={"sha256_idx": sha256(index).hexdigest()})
    assert found(data, index, mended) == {("bin", 4)}


def test_an_index_with_a_sequence_of_no_tokens_is_to_blame(pair: tuple[bytes, bytes, PairSidecar]) -> None:
    data, _, expected = pair
    index = b"".join(module.index_chunks(np.dtype("<u2"), np.array([5, 0, 2, 3], np.int32)))
    assert ("idx", 34) in found(data, index, expected)


@pytest.mark.parametrize("cut", [1, 2, 7])
def test_a_truncated_bin_is_found_where_it_ends(pair: tuple[bytes, bytes, PairSidecar], cut: int) -> None:
    data, index, expected = pair
    assert ("bin", len(data) - cut) in found(data[:-cut], index, expected)
    assert found(b"", index, expected) >= {("bin", 0)}


@pytest.mark.parametrize("length", [0, 20, 40, INDEX_END - 1])
def test_a_truncated_index_is_found_where_it_ends(pair: tuple[bytes, bytes, PairSidecar], length: int) -> None:
    data, index, expected = pair
    assert found(data, index[:length], expected) == {("idx", length), ("idx", None)}


def test_bytes_too_many_are_found(pair: tuple[bytes, bytes, PairSidecar]) -> None:
    data, index, expected = pair
    assert ("idx", len(index)) in found(data, index + b"\0", expected)
    assert ("bin", len(data)) in found(data + b"\0\0", index, expected)


def test_a_row_that_was_taken_out_of_both_files_is_found(
    pair: tuple[bytes, bytes, PairSidecar], write_pair: WritePair
) -> None:
    _, _, expected = pair
    data, index, counts = write_pair(DOCUMENTS[1:])
    mended = expected.model_copy(update={"sha256_bin": counts.sha256_bin, "sha256_idx": counts.sha256_idx})
    assert {problem.what for problem in problems(data, index, mended)} >= {"4 documents, the .bin has 3"}


@pytest.mark.parametrize("field", ["sequences", "documents", "tokens", "bytes"])
def test_counts_that_the_files_do_not_have_are_found(pair: tuple[bytes, bytes, PairSidecar], field: str) -> None:
    data, index, expected = pair
    wrong = expected.model_copy(update={field: getattr(expected, field) + 1})
    assert any(field in problem.what for problem in problems(data, index, wrong))


def test_a_problem_is_one_line_that_names_the_byte() -> None:
    problem = Problem("wiki-train-00000", "bin", 12, "a token id outside the vocabulary")
    assert str(problem) == "wiki-train-00000.bin, byte 12: a token id outside the vocabulary"
    assert str(replace(problem, offset=None)) == "wiki-train-00000.bin: a token id outside the vocabulary"
