"""PubMed's baseline and update files: one citation with an abstract is one record, title and abstract its text.

The text has the Pile's form: title, line end, abstract, white space collapsed, copyright notice left out. Labels of
sections and the text of inline markup stay. Citations without an abstract are skipped and counted.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

from curation.limits import Limits
from curation.sources.compression import Expanded
from curation.sources.elements import Element, LostElement, Tag, parse_element, read_elements
from curation.sources.options import ReaderOptions
from curation.sources.units import BadUnit, Event, FileEnd, Record, Skipped, UnitError

_CITATION = Tag(b"<PubmedArticle>", b"</PubmedArticle>")
_MONTHS = {
    name: f"{number:02d}"
    for number, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], start=1
    )
}


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the citations of one file.

    Raises:
        OSError: storage failed.
    """
    ordinal, damage = 0, None
    for item in read_elements(Expanded(raw, uri, limits), _CITATION, limits):
        if isinstance(item, Skipped | FileEnd):
            yield item
            continue
        event = item.as_bad(ordinal) if isinstance(item, LostElement) else _citation(item, ordinal, damage)
        damage = "recovered" if isinstance(item, LostElement) else damage
        ordinal += not isinstance(event, Skipped)
        yield event


def _citation(element: Element, ordinal: int, damage: str | None) -> Record | BadUnit | Skipped:
    try:
        citation = parse_element(element.content)
    except UnitError as problem:
        return element.as_bad(ordinal, problem.error, problem.detail)
    article = citation.find("MedlineCitation/Article")
    sections = [] if article is None else [_section(part) for part in article.findall("Abstract/AbstractText")]
    abstract = " ".join(section for section in sections if section)
    if article is None or not abstract:
        return Skipped("no_abstract", element.raw_bytes)
    title = _text(article.find("ArticleTitle"))
    return Record(
        ordinal,
        "",
        element.offset,
        element.raw_bytes,
        f"{title}\n{abstract}",
        title=title or None,
        timestamp=_date(article.find("Journal/JournalIssue/PubDate")),
        metadata=_metadata(citation, article),
        damage=damage,
        charset="utf-8",
    )


def _section(part: Any) -> str:
    label, text = part.get("Label"), _text(part)
    return f"{label}: {text}" if label and text and label != "UNLABELLED" else text


def _text(part: Any) -> str:
    """Return all text of an element, that of inline markup included, on one line."""
    return "" if part is None else " ".join("".join(part.itertext()).split())


def _metadata(citation: Any, article: Any) -> dict[str, Any]:
    named = {
        "pmid": citation.findtext("MedlineCitation/PMID"),
        "language": [language.text for language in article.findall("Language") if language.text],
        "journal": _text(article.find("Journal/Title")),
        "pmc": next((_text(part) for part in citation.iter("ArticleId") if part.get("IdType") == "pmc"), None),
    }
    return {name: value for name, value in named.items() if value}


def _date(published: Any) -> str | None:
    if published is None or not published.findtext("Year"):
        return None
    month = published.findtext("Month") or ""
    return "-".join(filter(None, [published.findtext("Year"), _MONTHS.get(month, month)]))
