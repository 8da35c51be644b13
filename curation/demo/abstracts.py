"""PubMed's baseline files and NIH ExPorter's, from MEDLINE citations.

PubMed's are cut from two real files, citation by citation as they stand. NIH's own are not on the package index; the
abstracts of papers that name an NIH grant stand for them, in the same form. About one in four is also drawn for PubMed,
there with its title above it: near-duplicates as the two real sources have.
"""

import csv
import gzip
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from xml.etree import ElementTree

from curation.demo.packages import PUBMED
from curation.demo.wheels import Wheels, pick

CITATIONS_PER_FILE = 12_000  # the first ones of each file; a whole file holds 30,000
PUBMED_DOCUMENTS = 4_000
NIH_DOCUMENTS = 1_200
_FILES = ("data/pubmed20n0014.xml.gz", "data/pubmed21n1298.xml.gz")
_RECORD = re.compile(rb"<PubmedArticle>.*?</PubmedArticle>", re.DOTALL)
_READ_BYTES = 1 << 20
_PROLOG = b"""<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2019//EN" \
"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_190101.dtd">
<PubmedArticleSet>
"""


@dataclass(frozen=True, slots=True)
class Citation:
    """One MEDLINE citation that has an abstract: its facts, its bytes, and the file that it stands in."""

    pmid: str
    abstract: str
    is_nih_funded: bool
    xml: bytes
    file: str


def pubmed_files(citations: Mapping[str, Citation]) -> Iterator[tuple[str, bytes]]:
    """Yield (name, XML) of each baseline file with the citations that were drawn, in their order."""
    drawn = set(pick(citations, PUBMED_DOCUMENTS, "pubmed"))
    for file in _FILES:
        kept = [c.xml for pmid, c in citations.items() if c.file == file and pmid in drawn]
        yield file.rsplit("/")[-1], b"".join([_PROLOG, *(b"  %b\n" % xml for xml in kept), b"</PubmedArticleSet>\n"])


def nih_table(citations: Mapping[str, Citation]) -> bytes:
    """Return a CSV of the abstracts alone of papers that an NIH grant paid for."""
    funded = [pmid for pmid, citation in citations.items() if citation.is_nih_funded]
    table = io.StringIO()
    rows = csv.writer(table, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    rows.writerow(["APPLICATION_ID", "ABSTRACT_TEXT"])
    rows.writerows([pmid, citations[pmid].abstract] for pmid in pick(funded, NIH_DOCUMENTS, "nih"))
    return table.getvalue().encode()


def articles(wheels: Wheels) -> Iterator[str]:
    """Yield the full text of PubMed Central articles: title, abstract and body paragraphs."""
    for name in wheels.names(PUBMED, lambda name: name.endswith(".nxml")):
        root = ElementTree.fromstring(wheels.read(PUBMED, name))
        parts = [next(root.iter("article-title")), *root.iter("p")]
        yield "\n\n".join(text for part in parts if (text := _plain(part)))


def read_citations(wheels: Wheels) -> dict[str, Citation]:
    """Return the citations that have an abstract, by PMID."""
    found: dict[str, Citation] = {}
    for name in _FILES:
        with wheels.open(PUBMED, name) as packed, gzip.open(packed) as stream:
            records = islice(_records(stream), CITATIONS_PER_FILE)
            found |= {citation.pmid: citation for xml in records if (citation := _citation(xml, name))}
    return found


def _records(stream: gzip.GzipFile) -> Iterator[bytes]:
    held = b""
    while piece := stream.read(_READ_BYTES):
        held += piece
        end = 0
        for match in _RECORD.finditer(held):
            yield match[0]
            end = match.end()
        held = held[end:]


def _citation(xml: bytes, file: str) -> Citation | None:
    record = ElementTree.fromstring(xml)
    abstract = " ".join(_plain(part) for part in record.iter("AbstractText"))
    is_nih_funded = any("NIH" in (agency.text or "") for agency in record.iter("Agency"))
    return Citation(record.findtext(".//PMID") or "", abstract, is_nih_funded, xml, file) if abstract else None


def _plain(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())
