"""The damage-tolerant stream: every codec, many members, and what is left after each kind of harm."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable

import pytest
from backports import zstd

from curation.limits import Limits
from curation.sources.compression import Boundary, Data, Expanded, Gap, Segment

Compress = Callable[[bytes], bytes]
CODECS = [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zstd", zstd.compress)]
TEXT = b"".join(b"line %d of a text that compresses\n" % number for number in range(5000))


def expand(data: bytes, uri: str = "file", limits: Limits | None = None) -> tuple[Expanded, list[Segment]]:
    expanded = Expanded(io.BytesIO(data), uri, limits or Limits())
    return expanded, list(expanded.segments())


def text_of(segments: list[Segment]) -> bytes:
    return b"".join(segment.content for segment in segments if isinstance(segment, Data))


def gap_of(segments: list[Segment], kind: str) -> bytes:
    return b"".join(segment.content for segment in segments if isinstance(segment, Gap) and segment.kind == kind)


@pytest.mark.parametrize(("name", "compress"), CODECS)
def test_all_members_of_a_file_are_read_whatever_its_name(name: str, compress: Compress) -> None:
    expanded, segments = expand(compress(TEXT) + compress(b"") + compress(TEXT), "looks-plain.jsonl")
    assert text_of(segments) == TEXT * 2
    assert expanded.compression == name
    assert expanded.damaged_regions == 0


@pytest.mark.parametrize(("name", "compress"), CODECS)
def test_the_member_after_a_damaged_one_is_found(name: str, compress: Compress) -> None:
    first, second = compress(TEXT), compress(b"the second member\n")
    broken = bytearray(first)
    for at in range(len(first) // 2, len(first) // 2 + 8):
        broken[at] ^= 0x5A
    expanded, segments = expand(bytes(broken) + second)
    assert text_of(segments).endswith(b"the second member\n")
    assert expanded.damaged_regions == 1
    assert expanded.file_bytes == len(first) + len(second)


@pytest.mark.parametrize(("name", "compress"), CODECS)
def test_a_file_cut_short_keeps_what_lies_before_the_cut(name: str, compress: Compress) -> None:
    expanded, segments = expand((compress(TEXT) * 2)[: len(compress(TEXT)) + 60])
    assert text_of(segments).startswith(TEXT)
    assert expanded.damaged_regions == 1


def test_gzip_gives_all_bytes_before_an_error_but_the_last() -> None:
    stored = zlib.compressobj(0, wbits=31)
    whole = stored.compress(TEXT) + stored.flush()
    expanded, segments = expand(whole[:-8] + b"\0" * 8)  # wrong checksum, right data
    assert text_of(segments) == TEXT[:-1]
    assert expanded.damaged_regions == 1


def test_a_damaged_first_byte_does_not_make_an_archive_plain_text() -> None:
    data = b"\x00" + gzip.compress(TEXT)[1:] + gzip.compress(b"second")
    assert text_of(expand(data, "a.jsonl.gz")[1]) == b"second"
    assert expand(data, "a.jsonl")[0].compression == "plain"


def test_zero_padding_is_no_damage() -> None:
    expanded, segments = expand(gzip.compress(TEXT) + b"\0" * 1000)
    assert gap_of(segments, "padding") == b"\0" * 1000
    assert expanded.damaged_regions == 0


def test_a_bomb_is_left_alone_and_its_neighbour_read() -> None:
    bomb = gzip.compress(bytes(3 << 20), 9)
    limits = Limits(max_expanded_ratio=100, ratio_after_mib=1)
    expanded, segments = expand(bomb + gzip.compress(b"harmless"), limits=limits)
    assert len(text_of(segments)) < 2 << 20
    assert text_of(segments).endswith(b"harmless")
    assert expanded.damaged_regions == 1


def test_a_file_may_not_grow_beyond_its_absolute_limit() -> None:
    _, segments = expand(gzip.compress(TEXT), limits=Limits(max_expanded_gib=0))
    assert len(text_of(segments)) <= 1 << 18
    assert any(isinstance(segment, Gap) and segment.kind == "bomb" for segment in segments)


def test_zstd_skippable_frames_are_passed_over() -> None:
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    assert text_of(expand(skippable + zstd.compress(TEXT) + skippable)[1]) == TEXT


def test_boundaries_lie_where_members_begin() -> None:
    first, second = gzip.compress(b"a"), gzip.compress(b"b")
    boundaries = [s.file_offset for s in expand(first + second)[1] if isinstance(s, Boundary)]
    assert boundaries == [0, len(first), len(first) + len(second)]


def test_reading_stops_with_the_error_of_the_storage() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("connection reset")

    with pytest.raises(OSError, match="connection reset"):
        Expanded(Broken(), "a", Limits())
