"""PubMed Abstracts and NIH ExPorter, from MEDLINE citations.

NIH's own files are not on the package index; the abstracts of papers that name an NIH grant stand for them. About one
in four is also drawn for PubMed Abstracts, there with its title above it: near-duplicates as the two real sources have.
"""

import gzip
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


@dataclass(frozen=True, slots=True)
class Citation:
    """One MEDLINE citation that has an abstract."""

    pmid: str
    title: str
    abstract: str
    is_nih_funded: bool


def pubmed_abstracts(citations: Mapping[str, Citation]) -> Iterator[str]:
    """Yield texts in the Pile's form: title, newline, abstract."""
    for pmid in pick(citations, PUBMED_DOCUMENTS, "pubmed"):
        yield f"{citations[pmid].title}\n{citations[pmid].abstract}"


def nih_abstracts(citations: Mapping[str, Citation]) -> Iterator[str]:
    """Yield the abstracts alone of papers that an NIH grant paid for."""
    funded = [pmid for pmid, citation in citations.items() if citation.is_nih_funded]
    for pmid in pick(funded, NIH_DOCUMENTS, "nih"):
        yield citations[pmid].abstract


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
            found |= {citation.pmid: citation for citation in _parse(stream)}
    return found


def _parse(stream: gzip.GzipFile) -> Iterator[Citation]:
    events = ElementTree.iterparse(stream, events=("end",))
    records = (element for _, element in events if element.tag == "PubmedArticle")
    for record in islice(records, CITATIONS_PER_FILE):
        abstract = " ".join(_plain(part) for part in record.iter("AbstractText"))
        agencies = [agency.text or "" for agency in record.iter("Agency")]
        if abstract:
            title = _plain(next(record.iter("ArticleTitle")))
            is_nih_funded = any("NIH" in agency for agency in agencies)
            yield Citation(record.findtext(".//PMID") or "", title, abstract, is_nih_funded)
        record.clear()


def _plain(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())
