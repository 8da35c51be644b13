"""Wikipedia's dumps: articles only, all streams, no entity of one's own."""

import bz2
import hashlib
from xml.etree import ElementTree

import pytest

from curation.limits import Limits
from curation.sources.units import BadUnit, Skipped
from curation.text.pipeline import document_text

PAGE = "<page><title>{0}</title><ns>{1}</ns><id>7</id>{2}<revision><id>9</id><text>{3}</text></revision></page>\n"


def dump(*pages: str) -> bytes:
    return b"<mediawiki>\n" + "".join(pages).encode() + b"</mediawiki>\n"


def test_only_articles_that_redirect_nowhere_are_records(read_bytes, records) -> None:
    pages = (
        PAGE.format("Bee", 0, "", "A '''bee'''."),
        PAGE.format("Talk:Bee", 1, "", "Hm."),
        PAGE.format("Bees", 0, '<redirect title="Bee" />', "#REDIRECT [[Bee]]"),
    )
    events = read_bytes("wikipedia", dump(*pages))
    [record] = records(events)
    assert (record.title, record.url) == ("Bee", "https://en.wikipedia.org/wiki/Bee")
    assert document_text(record).text == "A bee."
    kinds = [event.kind for event in events if isinstance(event, Skipped)]
    assert (kinds.count("redirect"), kinds.count("other_namespace")) == (1, 1)


def test_all_streams_of_a_multistream_dump_are_read(read_bytes, records) -> None:
    pages = [PAGE.format(f"T{number}", 0, "", "text") for number in range(6)]
    streams = [b"<mediawiki>", *(page.encode() for page in pages), b"</mediawiki>"]
    found = records(read_bytes("wikipedia", b"".join(map(bz2.compress, streams))))
    assert [record.title for record in found] == [f"T{number}" for number in range(6)]


def test_entities_are_never_expanded(read_bytes, records, bad) -> None:
    bomb = b'<!DOCTYPE m [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    pages = [PAGE.format("A", 0, "", "&b;"), PAGE.format("B", 0, "", "&f;"), PAGE.format("C", 0, "", "fine")]
    events = read_bytes("wikipedia", bomb + dump(*pages))
    assert bad(events) == [("parse", "xml"), ("parse", "xml")]
    assert [record.content for record in records(events)] == ["fine"]


def test_a_page_without_its_end_costs_itself(read_bytes, records, bad) -> None:
    cut = PAGE.format("A", 0, "", "one")[:60]
    events = read_bytes("wikipedia", dump(cut, PAGE.format("B", 0, "", "two")))
    assert bad(events) == [("parse", "no_end")]
    assert [(record.title, record.damage) for record in records(events)] == [("B", "recovered")]


@pytest.mark.parametrize("mib", [1, 3, 20])
@pytest.mark.parametrize("end", ["</page>", ""])
def test_a_page_beyond_the_limit_is_one_unit_with_all_its_bytes(read_bytes, records, bad, mib, end) -> None:
    large = PAGE.format("A", 0, "", "x" * (mib << 20)).rstrip().removesuffix("</page>") + end
    events = read_bytes("wikipedia", dump(large, PAGE.format("B", 0, "", "two")), limits=Limits(max_document_mib=1))
    assert [record.title for record in records(events)] == ["B"]
    assert bad(events) == [("too_large" if mib > 1 or end else "parse", "element" if mib > 1 or end else "no_end")]
    lost = next(event for event in events if isinstance(event, BadUnit))
    assert lost.sha256 == hashlib.sha256(large.encode()).hexdigest()
    assert lost.raw_bytes == len(large.encode())


def test_a_page_that_never_ends_is_one_unit(read_bytes, bad) -> None:
    events = read_bytes("wikipedia", b"<mediawiki><page>" + b"x" * (5 << 20), limits=Limits(max_document_mib=1))
    assert bad(events) == [("too_large", "element")]
    assert [event.kind for event in events if isinstance(event, Skipped)] == ["framing"]


def test_articles_are_those_that_an_xml_parser_finds(read_bytes, records, real_data) -> None:
    for path in sorted(real_data.glob("sources/wikipedia/*.bz2")):
        data = path.read_bytes()
        text = bz2.decompress(data).rstrip()
        root = ElementTree.fromstring(text if text.endswith(b"</mediawiki>") else text + b"</mediawiki>")
        space = "{http://www.mediawiki.org/xml/export-0.10/}"
        pages = [page for page in root.iter(f"{space}page") if page.find(f"{space}redirect") is None]
        expected = [
            (page.findtext(f"{space}title"), page.findtext(f"{space}revision/{space}text"))
            for page in pages
            if page.findtext(f"{space}ns") == "0"
        ]
        found = [(record.title, record.content) for record in records(read_bytes("wikipedia", data))]
        assert found == expected
        assert len(found) > 4
