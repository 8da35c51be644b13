"""Sources whose archives hold many files of a simple kind: JSON lines, texts, CSV files.

Each reader here is a choice: which members of a tar or zip hold documents, and how one of them is read. The same
reader takes such a file outside an archive.
"""

from collections.abc import Iterator
from typing import BinaryIO

from curation.limits import Limits
from curation.sources import jsonl, text_tree
from curation.sources.archives import read_archive
from curation.sources.compression import Expanded
from curation.sources.members import ReadMember, read_members
from curation.sources.options import ReaderOptions
from curation.sources.tar_members import TarArchive
from curation.sources.units import Event
from curation.sources.window import Window

_JSONL_SUFFIXES = (".jsonl", ".json", ".ndjson")
_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")


def is_jsonl(name: str) -> bool:
    """Whether a name is that of JSON lines in any compression; lm_dataformat's `current_chunk_incomplete` is one.

    >>> is_jsonl("data_0_time1_default.jsonl.zst"), is_jsonl("a.txt")
    (True, False)
    """
    stem = name
    for suffix in _COMPRESSIONS:
        stem = stem.removesuffix(suffix)
    return stem.endswith(_JSONL_SUFFIXES) or name.rsplit("/")[-1] == "current_chunk_incomplete"


def read_jsonl_archive(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the records of JSON lines inside a tar or zip (OpenWebText2, lm_dataformat), or of one such file."""
    yield from read_archive(raw, uri, limits, options, lambda name: jsonl.read if is_jsonl(name) else None, jsonl.read)


def read_texts(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the texts and JSON lines inside a tar or zip (Stack Exchange, processed), or the one text of a file."""

    def choose(name: str) -> ReadMember | None:
        if is_jsonl(name):
            return jsonl.read
        return text_tree.read if name.endswith(options.member_suffixes) else None

    yield from read_archive(raw, uri, limits, options, choose, choose(uri) or text_tree.read)


def read_tar_texts(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the texts inside a tar in any compression; what is no tar is a bad unit, whatever it may hold.

    Unlike `read_texts` it takes a stream that cannot seek, and a damaged first header for what it is.
    """
    archive = TarArchive(Window(Expanded(raw, uri, limits), "stream"), limits)
    suffixes = options.member_suffixes
    yield from read_members(archive, lambda name: text_tree.read if name.endswith(suffixes) else None, limits, options)
