"""Real texts for judging the classifier: prose of `sources/` against extracted pages of `webpages/`, in one layout.

One layout means: words that a tokeniser took apart are put together, paragraphs are one line each, a blank line between
them, and a text is a window of WINDOW_WORDS words. An origin is what one may know by heart: a book, an article, an
address, a file of the Brown corpus, a host.
"""

import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from xxhash import xxh3_64_intdigest

from curation.identity import coin
from curation.limits import Limits
from curation.sources.registry import read_file
from curation.sources.units import Record, UnitError
from curation.text.extract import decode_markup, extract, language_of_markup
from curation.text.language import detect_one

WINDOW_WORDS = 100
_SEED = 1234
_WINDOWS = {"novels": 40, "debian_docs": 6}  # of one document; 12 of others
_TAGGED = re.compile(r"brown/c[a-r]\d\d")
_HEADING = re.compile(r"\n(?= = [^=]+ = \n)")
_LINE_AND_RULES = re.compile(r"\s*\n\s*\n\s*")


@dataclass(frozen=True)
class Text:
    """A document or a window of one."""

    positive: bool
    source: str
    origin: str
    text: str


def balanced(data: Path) -> list[Text]:
    """Return windows of English documents, as many positive as negative ones, drawn and ordered by coin."""
    windows = [window for document in _documents(data) for window in _drawn(document)]
    sides = [sorted((w for w in windows if w.positive == side), key=_toss("balance")) for side in (True, False)]
    fewest = min(map(len, sides))
    return sorted((window for side in sides for window in side[:fewest]), key=_toss("order"))


def _toss(purpose: str) -> Callable[[Text], float]:
    return lambda text: coin(_SEED, xxh3_64_intdigest(text.text.encode()), purpose)


def _drawn(document: Text) -> list[Text]:
    if detect_one(document.text[:20_000])[0] != "en":
        return []
    origin = f"{document.source}:{document.origin}"
    windows = _windows(one_layout(document.text))
    found = [Text(document.positive, document.source, origin, window) for window in windows]
    return sorted(found, key=_toss("draw"))[: _WINDOWS.get(document.source, 12)]


def one_layout(text: str) -> str:
    """Return the text with one line a paragraph, one blank line between, and punctuation where people set it."""
    paragraphs = [" ".join(part.split()) for part in _LINE_AND_RULES.split(text.replace("\r\n", "\n"))]
    whole = "\n\n".join(part for part in paragraphs if part)
    return _detokenised(whole) if whole.count(" ,") * 2 > whole.count(",") else whole


def _detokenised(text: str) -> str:
    text = re.sub(r" @([-,.])@ ", r"\1", text)
    text = re.sub(r" ([,.;:?!)\]]|'s\b|n't\b)", r"\1", text)
    return re.sub(r"([(\[]) ", r"\1", re.sub(r" ?''", '"', re.sub(r"`` ?", '"', text)))


def _windows(text: str) -> Iterator[str]:
    words = [(word, number) for number, part in enumerate(text.split("\n\n")) for word in part.split()]
    for first in range(0, len(words) - WINDOW_WORDS + 1, WINDOW_WORDS):
        window, line = "", words[first][1]
        for word, number in words[first : first + WINDOW_WORDS]:
            window += (" " if number == line else "\n\n") + word
            line = number
        yield window.strip()


def _documents(data: Path) -> Iterator[Text]:
    sources = data / "sources"
    for path in sorted((sources / "novels").glob("*.txt")):
        yield Text(True, "novels", path.stem, path.read_text("utf-8", "replace"))
    for name in ("test", "valid"):
        for article in _HEADING.split((sources / f"wikitext2/{name}.txt").read_text("utf-8")):
            yield Text(True, "wikitext2", article.strip().split("\n")[0], article)
    yield from _nltk(sources / "nltk")
    for path in sorted((sources / "wikipedia").glob("*.bz2")):
        yield from _read("wikipedia", path)
    yield from _read("stack_exchange", sources / "stackexchange/Posts.xml")
    for path in sorted((sources / "realnews").glob("*.jsonl")):
        yield from _read("realnews", path)
    yield from _pages(data / "webpages")


def _nltk(folder: Path) -> Iterator[Text]:
    for name in ("brown", "state_union", "inaugural"):
        with zipfile.ZipFile(folder / f"{name}.zip") as archive:
            for member in sorted(archive.namelist()):
                text = archive.read(member).decode("latin-1")
                if name == "brown" and _TAGGED.fullmatch(member):
                    lines = (" ".join(word.rsplit("/", 1)[0] for word in line.split()) for line in text.split("\n"))
                    yield Text(True, name, member, "\n".join(lines))
                elif name != "brown" and re.search(r"\d{4}-.*\.txt$", member):
                    yield Text(True, "addresses", Path(member).stem.split("-")[-1], text)  # a president's


def _opened(uri: str) -> BinaryIO:
    return open(uri, "rb")


def _read(reader: str, path: Path) -> Iterator[Text]:
    for event in read_file(reader, str(path), _opened, Limits()):
        if isinstance(event, Record) and isinstance(event.content, str):
            yield Text(True, reader, event.url or f"{path.name}:{event.ordinal}", event.content)


def _pages(folder: Path) -> Iterator[Text]:
    pages = [
        *(("readability", path, path.parent.name) for path in sorted(folder.glob("readability/*/source.html"))),
        *(("trafilatura_eval", path, path.stem) for path in sorted(folder.glob("trafilatura_eval/html/*.html"))),
        *(("debian_docs", path, path.parent.name) for path in sorted(folder.glob("debian_docs/*/**/*.html"))),
    ]
    for source, path, name in pages:
        html = decode_markup(path.read_bytes()).text
        if language_of_markup(html) != "en":  # before extraction, as the paper
            continue
        try:
            text = extract(html, "justext")
        except UnitError:
            continue
        yield Text(False, source, re.sub(r"-\d+$", "", name), text)  # nytimes-1 and nytimes-2 are one site
