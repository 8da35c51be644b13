"""The readers by name: what each one reads, what it keeps, and what is odd about the format.

`read_file` is the one way to read an input file.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from types import MappingProxyType
from typing import BinaryIO

from curation.errors import RecipeError
from curation.limits import Limits
from curation.sources import jsonl, parquet, pile, tar_text, text_tree, warc
from curation.sources.options import ReaderOptions
from curation.sources.units import Event

Read = Callable[[BinaryIO, str, Limits, ReaderOptions], Iterator[Event]]

_ANY_COMPRESSION = "plain, gz (many members), bz2, xz, zstd (many frames); told by magic bytes"


@dataclass(frozen=True, slots=True)
class Reader:
    """One reader and what a user must know before pointing it at files.

    Attributes:
        read: the reader itself; takes an open binary stream, its name, limits and options.
        forms: on-disk forms it accepts.
        metadata: fields it fills beside the text.
        quirks: what real files of this kind do.
        licence: what to look at before using such files.
    """

    read: Read
    forms: str
    metadata: str
    quirks: str
    licence: str


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "jsonl": Reader(
            jsonl.read,
            f"one JSON object (or bare string) per LF-ended line; {_ANY_COMPRESSION}",
            "url, title, timestamp where they are strings; every other field; meta or metadata flattened in",
            "text may be a list of paragraphs; zstd archives have many frames; U+2028 and lone CR are text",
            "that of the archive; JSON lines say nothing about it",
        ),
        "pile": Reader(
            pile.read,
            f"the Pile's train, val and test files and their mirrors; {_ANY_COMPRESSION}",
            "set_name (one of 22, aliases known); meta flattened in",
            "meta may be a string that holds JSON; sets are upsampled one to three times in the release",
            "per set; Books3 is withdrawn, other sets carry their sources' terms",
        ),
        "parquet": Reader(
            parquet.read,
            "parquet; text in one string column, or a list of strings",
            "every other column that is not null",
            "needs a seekable stream; a row's bytes are its share of its row group",
            "that of the archive",
        ),
        "text": Reader(
            text_tree.read,
            f"one document per file; {_ANY_COMPRESSION}",
            "none; the path is the document's only name",
            "charset told by byte order mark, then UTF-8, then detection; Windows line ends are common",
            "that of the texts; file trees rarely say",
        ),
        "tar_text": Reader(
            tar_text.read,
            f"tar of text files (v7, GNU and pax headers); {_ANY_COMPRESSION}",
            "member name",
            "links, devices and names that leave their folder are refused; names need not be UTF-8",
            "that of the texts; Books3 and BookCorpus2 are not licensed for redistribution",
        ),
        "warc": Reader(
            warc.read,
            f"WARC 0.17 to 1.1 and WET, compressed by record or as a whole; {_ANY_COMPRESSION}",
            "url, timestamp; record id, HTTP status, content type and language, identified languages, truncation",
            "only 2xx responses, conversions and resources of HTML or plain text; headers lie about coding and type",
            "pages belong to their authors; Common Crawl's terms of use apply to its archives",
        ),
    }
)


def read_file(
    reader: str,
    uri: str,
    open_stream: Callable[[str], BinaryIO],
    limits: Limits | None = None,
    options: ReaderOptions | None = None,
) -> Iterator[Event]:
    """Yield everything one input file holds: units and skipped bytes in file order, its account (`FileEnd`) last.

    Args:
        reader: a name in `READERS`.
        uri: what `open_stream` opens; a suffix such as .gz helps only where the file's first bytes are damaged.
        open_stream: returns a binary stream of the file as it lies in storage, not decompressed.
        limits: what the file may cost.
        options: the file's shape.

    Raises:
        RecipeError: there is no such reader.
        OSError: storage failed. Bad data never raises.
    """
    if reader not in READERS:
        known = ", ".join(sorted(READERS))
        raise RecipeError(f"there is no reader named {reader!r}; the recipe may use one of: {known}")
    return _events(READERS[reader].read, uri, open_stream, limits or Limits(), options or ReaderOptions())


def _events(
    read: Read, uri: str, open_stream: Callable[[str], BinaryIO], limits: Limits, options: ReaderOptions
) -> Iterator[Event]:
    with closing(open_stream(uri)) as raw:
        yield from read(raw, uri, limits, options)
