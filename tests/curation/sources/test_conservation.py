"""The law that every byte is accounted for, on files that somebody or something has harmed."""

import bz2
import gzip
import io
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from built_files import PARTS, UNCOMPRESSED
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curation.limits import Limits
from curation.sources.registry import READERS, read_file
from curation.sources.units import Event

Check = Callable[..., None]

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
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
    compress = COMPRESSIONS["plain" if reader in UNCOMPRESSED else name]
    parts = PARTS[reader]
    whole = b"".join(map(compress, parts)) if by_part else compress(b"".join(parts))
    harmed = harm(whole, random.Random(seed))
    conservation(read(reader, f"file.{name}", harmed), len(harmed), reader != "stack_exchange")


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
        "texts": sorted(real_data.glob("encoding/blns/*.zip")),
        "wikipedia": [real_data / "sources/wikipedia/enwiki-table-markup.xml.bz2"],
        "stack_exchange": [real_data / "sources/stackexchange/Posts.xml"],
        "pubmed": sorted(real_data.glob("sources/pubmed/*.xml")),
        "nih_exporter": sorted(real_data.glob("bench/anli/*.csv")),  # no abstracts, but CSV of many quotes
    }
    for reader, paths in files.items():
        for path in paths:
            whole = path.read_bytes()
            for data in (whole, *(harm(whole, random_state) for _ in range(5))):
                conservation(read(reader, path.name, data), len(data), reader != "stack_exchange")
