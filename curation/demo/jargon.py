"""The Jargon File as texts: its entries, its chapters, its folklore."""

import html
import json
import re
from collections.abc import Iterator

from curation.demo.packages import JARGON
from curation.demo.wheels import Wheels

_START = re.compile(r"<(?:part|chapter|appendix|sect1)\b")
_PARAGRAPH_END = re.compile(r"</(?:para|title|member|listitem|programlisting|screen|literallayout)>")
_TAG = re.compile(r"<[^>]*>")
_FOLKLORE = ("magic-story", "koans", "os-and-jedgar", "story-of-mel", "tv-typewriters", "meaning-of-hack")


def entries(wheels: Wheels) -> Iterator[str]:
    """Yield one text an entry: the term, then its senses. The terminal colours that the package left in stay in."""
    for entry in json.loads(wheels.read(JARGON, "data/jargon.json")):
        senses = [sense["definition"] for sense in entry["senses"] if sense["definition"]]
        if senses:
            yield "\n\n".join([entry["term"], *senses])


def chapters(wheels: Wheels) -> dict[str, str]:
    """Return the texts around the lexicon by name: the introduction's chapters and the appendices."""
    book = wheels.read(JARGON, "data/jargon.xml").decode()
    lexicon = book.index("<part id='lexicon'>")
    around = book[:lexicon] + book[book.index("<part><title>Appendices") :]
    starts = [found.start() for found in _START.finditer(around)]
    found = {}
    for start, end in zip(starts, [*starts[1:], len(around)], strict=True):
        name = re.match(r"<\w+ id=['\"]([^'\"]+)", around[start:end])
        if name:
            found[name[1]] = _plain(around[start:end])
    return found


def folklore(wheels: Wheels) -> Iterator[str]:
    """Yield the stories of the appendix on hacker folklore."""
    texts = chapters(wheels)
    for name in _FOLKLORE:
        yield texts[name]


def _plain(markup: str) -> str:
    paragraphs = (_TAG.sub("", part) for part in _PARAGRAPH_END.split(markup))
    joined = (" ".join(html.unescape(paragraph).split()) for paragraph in paragraphs)
    return "\n\n".join(paragraph for paragraph in joined if paragraph)
