"""The law that every byte is accounted for, on files that somebody or something has harmed."""

import bz2
import gzip
import io
import lzma
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backports import zstd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curation.limits import Limits
from curation.sources.registry import READERS, read_file
from curation.sources.units import Event

Check = Callable[[list[Event], int], None]

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body>%d words of a page</body></html>"


def make_jsonl() -> list[bytes]:
    return [orjson.dumps({"text": f"document {n} " * n, "meta": {"pile_set_name": "ArXiv"}}) + b"\n" for n in range(30)]


def make_warc() -> list[bytes]:
    head = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n"
    return [head % (len(PAGE % number), PAGE % number) for number in range(10, 30)]


def make_tar() -> list[bytes]:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for number in range(12):
            info = tarfile.TarInfo(f"{'long/' * number * 8}é{number}.txt")
            info.size = number * 300
            tar.addfile(info, io.BytesIO(bytes([97 + number]) * info.size))
    return [stream.getvalue()]


def make_parquet() -> list[bytes]:
    stream = io.BytesIO()
    table = pa.table({"text": [f"row {number} " * 9 for number in range(90)], "stars": list(range(90))})
    pq.write_table(table, stream, row_group_size=30, write_page_checksum=True)
    return [stream.getvalue()]


PARTS = {
    "jsonl": make_jsonl(),
    "pile": make_jsonl(),
    "warc": make_warc(),
    "tar_text": make_tar(),
    "text": [b"a text\n" * 300],
    "parquet": make_parquet(),
}


def harm(data: bytes, random_state: random.Random) -> bytes:
    harmed = bytearray(data)
    for _ in range(random_state.choice([1, 1, 2, 5, 20])):
        if not harmed:
            break
        at = random_state.randrange(len(harmed))
        kind = random_state.choice(["flip", "delete", "insert", "copy", "cut"])
        if kind == "flip":
            harmed[at] ^= 1 << random_state.randrange(8)
        elif kind == "delete":
            del harmed[at : at + random_state.choice([1, 10, 1000])]
        elif kind == "insert":
            harmed[at:at] = random_state.randbytes(random_state.choice([1, 20, 600]))
        elif kind == "copy":
            start = random_state.randrange(len(harmed))
            harmed[at:at] = harmed[start : start + random_state.choice([50, 5000])]
        elif random_state.random() < 0.3:
            del harmed[at:]
    return bytes(harmed)


def read(reader: str, uri: str, data: bytes) -> list[Event]:
    return list(read_file(reader, uri, lambda _: io.BytesIO(data), Limits(max_document_mib=1)))


@pytest.mark.parametrize("reader", sorted(READERS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(COMPRESSIONS)), st.booleans(), st.integers(0, 1 << 32))
def test_every_byte_of_a_harmed_file_is_accounted_for(
    conservation: Check, reader: str, name: str, by_part: bool, seed: int
) -> None:
    compress = COMPRESSIONS["plain" if reader == "parquet" else name]
    parts = PARTS[reader]
    whole = b"".join(map(compress, parts)) if by_part else compress(b"".join(parts))
    harmed = harm(whole, random.Random(seed))
    conservation(read(reader, f"file.{name}", harmed), len(harmed))


@pytest.mark.parametrize("reader", sorted(READERS))
@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=2000))
def test_no_bytes_at_all_make_a_reader_fail(conservation: Check, reader: str, data: bytes) -> None:
    conservation(read(reader, "file.gz", data), len(data))


def test_every_byte_of_harmed_real_files_is_accounted_for(conservation: Check, real_data: Path) -> None:
    random_state = random.Random(2021)
    files = {
        "warc": [
            path for path in sorted(real_data.glob("warc/*/*")) if path.is_file() and path.stat().st_size < 300_000
        ],
        "jsonl": sorted(real_data.glob("sources/realnews/*.jsonl")) + sorted(real_data.glob("quality/*.jsonl.gz")),
        "tar_text": sorted(real_data.glob("encoding/blns/*.tar*")),
    }
    for reader, paths in files.items():
        for path in paths:
            whole = path.read_bytes()
            for data in (whole, *(harm(whole, random_state) for _ in range(5))):
                conservation(read(reader, path.name, data), len(data))
