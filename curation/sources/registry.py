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
from curation.sources import (
    arc,
    archived,
    arxiv,
    cc_stories,
    github,
    jsonl,
    nih_exporter,
    parquet,
    pg19,
    pile,
    pubmed,
    realnews,
    stack_exchange,
    text_tree,
    warc,
    wikipedia,
)
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
        "arc": Reader(
            arc.read,
            f"ARC 1 and 2; {_ANY_COMPRESSION}",
            "url, timestamp; HTTP status, content type and language",
            "no record ids; lengths of -1 and dates that are none occur; types told as in warc",
            "pages belong to their authors",
        ),
        "archive": Reader(
            archived.read_jsonl_archive,
            f"JSON lines in a tar or zip (OpenWebText2, lm_dataformat), or alone; {_ANY_COMPRESSION}",
            "as jsonl; member name",
            "multi-frame zstd members; other members are skipped and counted; zip needs a seekable stream",
            "OpenWebText2: text of linked pages, by their authors; the collection is MIT",
        ),
        "texts": Reader(
            archived.read_texts,
            f"texts and JSON lines in a tar or zip (Stack Exchange, processed), or a text alone; {_ANY_COMPRESSION}",
            "member name",
            "members by suffix; encrypted members, links and names that leave their folder are refused",
            "Stack Exchange: CC BY-SA, attribution needed",
        ),
        "stack_exchange": Reader(
            stack_exchange.read,
            f"Posts.xml inside a site's .7z, or alone; {_ANY_COMPRESSION}",
            "question id, title, tags, score, number of answers, licence; timestamp of the question",
            "answers joined to questions through temporary files; .7z needs a seekable stream; rows in no order",
            "CC BY-SA 2.5 to 4.0 by date of the post, named in the record",
        ),
        "wikipedia": Reader(
            wikipedia.read,
            f"pages-articles XML, multistream or not; {_ANY_COMPRESSION}",
            "title, url, page and revision id, timestamp of the revision",
            "wikitext becomes prose; namespace 0 without redirects; the export version in the namespace changes",
            "CC BY-SA 4.0, attribution needed",
        ),
        "pubmed": Reader(
            pubmed.read,
            f"baseline and update XML; {_ANY_COMPRESSION}",
            "title, timestamp, PMID, PMC id, language, journal",
            "labelled sections, inline markup; copyright left out; citations without an abstract are skipped",
            "abstracts may be their publishers'; NLM's terms apply to the files",
        ),
        "nih_exporter": Reader(
            nih_exporter.read,
            "RePORTER and CRISP abstracts: CSV inside a zip, or alone",
            "application id",
            "bytes of several encodings in one file; phrases of the form are taken off; abstracts repeat over years",
            "works of the US government or of its grantees; published by NIH",
        ),
        "pg19": Reader(
            pg19.read,
            f"one book per file, folders train, validation, test; metadata.csv beside them; {_ANY_COMPRESSION}",
            "book id; title and year where the recipe names metadata.csv as `books`",
            "validation and test are dropped as not_selected; metadata.csv has no header line",
            "public domain in the USA (published before 1919)",
        ),
        "arxiv": Reader(
            arxiv.read,
            "bulk source tars of gzipped papers; a paper's .gz, .tar.gz or .tex",
            "arXiv id, url",
            "type told by bytes; often Latin-1; main file by documentclass, inputs followed; PDF-only papers skipped",
            "per paper; most grant arXiv a licence to distribute only",
        ),
        "github": Reader(
            github.read,
            f"the Pile's JSON lines; tars and zips of repositories; {_ANY_COMPRESSION}",
            "repository and path; of the Pile's records what can be trusted",
            "binary, generated and vendored files and those of the Pile's filters are skipped and counted by kind",
            "that of each repository",
        ),
        "realnews": Reader(
            realnews.read,
            f"realnews.jsonl, alone or in the release's tar; {_ANY_COMPRESSION}",
            "url, title, date as YYYY-MM-DD, authors, domain, status, crawl date, split",
            "one newline per paragraph (rule realnews_paragraphs); split is a random draw",
            "articles belong to their publishers; the release is for research",
        ),
        "cc_stories": Reader(
            cc_stories.read,
            f"text with one sentence per line, JSON lines, tar or zip; {_ANY_COMPRESSION}",
            "none",
            "spaces of a tokeniser (rule stories_detokenise); mirrors end stories differently: `document_boundary`",
            "pages belong to their authors",
        ),
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
            archived.read_tar_texts,
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
