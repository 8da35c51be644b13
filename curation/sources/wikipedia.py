"""Wikipedia's XML dumps: one article is one record, its wikitext still to be turned into prose.

Articles are pages of namespace 0 that redirect nowhere; other pages are skipped and counted. Multistream dumps are
many bz2 streams in a row, and all of them are read.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import quote

from curation.limits import Limits
from curation.sources.compression import Expanded
from curation.sources.elements import Element, LostElement, Tag, parse_element, read_elements
from curation.sources.options import ReaderOptions
from curation.sources.units import BadUnit, Event, FileEnd, Record, Skipped, UnitError

_PAGE = Tag(b"<page>", b"</page>")
_ARTICLES = "0"


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the articles of one dump file.

    Raises:
        OSError: storage failed.
    """
    ordinal, damage = 0, None
    for item in read_elements(Expanded(raw, uri, limits), _PAGE, limits):
        if isinstance(item, Skipped | FileEnd):
            yield item
            continue
        event = item.as_bad(ordinal) if isinstance(item, LostElement) else _page(item, ordinal, damage)
        damage = "recovered" if isinstance(item, LostElement) else damage
        ordinal += not isinstance(event, Skipped)
        yield event


def _page(element: Element, ordinal: int, damage: str | None) -> Record | BadUnit | Skipped:
    try:
        page = parse_element(element.content)
        namespace = page.findtext("ns")
        if namespace != _ARTICLES:
            return Skipped("other_namespace" if namespace else "no_namespace", element.raw_bytes)
        if page.find("redirect") is not None:
            return Skipped("redirect", element.raw_bytes)
        return _article(page, element, ordinal, damage)
    except UnitError as problem:
        return element.as_bad(ordinal, problem.error, problem.detail)


def _article(page: Any, element: Element, ordinal: int, damage: str | None) -> Record | Skipped:
    title = page.findtext("title") or ""
    revision = page.findall("revision")[-1:]  # a dump with histories has the newest last
    text = revision[0].findtext("text") if revision else None
    if text is None:
        raise UnitError("parse", "no_text")
    model = revision[0].findtext("model") or "wikitext"
    if model != "wikitext":
        return Skipped("other_model", element.raw_bytes)
    return Record(
        ordinal,
        "",
        element.offset,
        element.raw_bytes,
        text,
        "wikitext",
        url=f"https://en.wikipedia.org/wiki/{quote(title.replace(' ', '_'), safe='/:,()!*')}",
        title=title,
        timestamp=revision[0].findtext("timestamp"),
        metadata={"page_id": page.findtext("id"), "revision_id": revision[0].findtext("id")},
        damage=damage,
        charset="utf-8",
    )
