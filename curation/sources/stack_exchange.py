"""Stack Exchange's dumps: `Posts.xml`, plain, compressed, or inside the site's .7z; a question and its best answers.

One unit is a question with all its answers; its raw bytes are those of all their rows. Its text has the Pile's form:
`Q:`, title, body, then up to three answers, each accepted or of score 3 at least, the accepted one first. A question
without such an answer and an answer without its question are dropped as `orphan_part`.

The answers to a question may stand anywhere behind it, so that the rows of a site are sorted by question, through
temporary files where they are more than memory should hold (the design's exception for documents put together from
several records). Units come in the order of question ids, which is the order of the file in every dump.
"""

import contextlib
import hashlib
import html
from collections.abc import Generator, Iterator
from itertools import groupby
from typing import Any, BinaryIO

from curation.limits import Limits
from curation.sources import seven_zip
from curation.sources.compression import Expanded
from curation.sources.elements import Element, LostElement, Tag, parse_element, read_elements
from curation.sources.external_sort import ExternalSort, Row
from curation.sources.options import ReaderOptions
from curation.sources.units import BadUnit, Dropped, Event, FileEnd, Record, Skipped, UnitError

MAX_ANSWERS = 3  # the Pile's stackexchange tool
MIN_SCORE = 3

_ROW = Tag(b"<row ", b"/>")
_QUESTION, _ANSWER, _BAD = 0, 1, 2  # second key of a row: a question comes before its answers
_KEYS = 3  # question id, what the row is, offset
_INT64 = 1 << 63


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the questions of one site, each with its best answers.

    Raises:
        OSError: storage failed, or there is no room for temporary files.
    """
    if seven_zip.begins(raw):
        yield from seven_zip.read_member(raw, "Posts.xml", limits, read_rows)
    else:
        yield from read_rows(raw, uri, limits)


def read_rows(raw: BinaryIO, uri: str, limits: Limits) -> Iterator[Event]:
    """Yield the units of one `Posts.xml`."""
    with ExternalSort(_KEYS) as rows:
        end = yield from _sort(read_elements(Expanded(raw, uri, limits), _ROW, limits), rows)
        ordinal = 0
        for _, members in groupby(rows, lambda row: row[0]):
            for unit in _units(list(members), ordinal):
                ordinal += 1
                yield unit
        yield end


def _sort(
    elements: Iterator[Element | LostElement | Skipped | FileEnd], rows: ExternalSort
) -> Generator[Event, None, FileEnd]:
    """Put all posts into `rows`, yield what is none, and return the file's account."""
    newest = 0
    for item in elements:
        if isinstance(item, Skipped):
            yield item
        elif isinstance(item, FileEnd):
            return item
        elif isinstance(item, LostElement):
            rows.add([newest, _BAD, item.offset, item.raw_bytes, item.error, item.detail, item.sha256], 0)
        else:
            row = _row(item, newest)
            if isinstance(row, Skipped):
                yield row
            else:
                newest = row[0] if row[1] == _QUESTION else newest
                rows.add(row, len(item.content))
    raise AssertionError("a file's account comes last")


def _row(element: Element, newest: int) -> Row | Skipped:
    place = [element.offset, element.raw_bytes]
    try:
        post = parse_element(element.content).attrib
        kind = post.get("PostTypeId", "")
        if kind == "1":
            return [_number(post, "Id"), _QUESTION, *place, _question(post)]
        if kind == "2":
            return [_number(post, "ParentId"), _ANSWER, *place, _answer(post)]
    except UnitError as problem:
        digest = hashlib.sha256(element.content).hexdigest()
        return [newest, _BAD, *place, problem.error, problem.detail, digest]
    return Skipped("other_post", element.raw_bytes)  # wikis of tags, moderators' elections


def _question(post: Any) -> dict[str, Any]:
    texts = {name: post.get(name) for name in ("Title", "Body", "CreationDate", "Tags", "ContentLicense")}
    return texts | {name: _integer(post, name) for name in ("Score", "AcceptedAnswerId")}


def _answer(post: Any) -> dict[str, Any]:
    return {"Id": _number(post, "Id"), "Score": _integer(post, "Score") or 0, "Body": post.get("Body")}


def _number(post: Any, name: str) -> int:
    number = _integer(post, name)
    if number is None or number < 0:
        raise UnitError("parse", "no_id")
    return number


def _integer(post: Any, name: str) -> int | None:
    with contextlib.suppress(TypeError, ValueError):
        number = int(post.get(name))
        return number if -_INT64 <= number < _INT64 else None
    return None


def _units(members: list[Row], ordinal: int) -> Iterator[Record | BadUnit | Dropped]:
    """Yield what the rows of one question make: a document or a dropped unit, and each bad row on its own."""
    question = next((row for row in members if row[1] == _QUESTION), None)
    answers = [row for row in members if row[1] == _ANSWER] if question else []
    for row in members:
        if row is question:
            yield _thread(question, answers, ordinal)
        elif row[1] == _BAD:
            yield BadUnit(ordinal, "", *row[2:])
        elif row[1] == _ANSWER and question:
            continue
        else:  # an answer without its question, or a second question of one id
            yield Dropped(ordinal, "", row[2], row[3], "orphan_part")
        ordinal += 1


def _thread(question: Row, answers: list[Row], ordinal: int) -> Record | Dropped:
    raw_bytes = sum(row[3] for row in (question, *answers))
    post = question[4]
    best = _best([row[4] for row in answers], post["AcceptedAnswerId"])
    if not best or not post["Body"]:
        return Dropped(ordinal, "", question[2], raw_bytes, "orphan_part")
    parts = [f"<p>Q:</p><p>{html.escape(post['Title'] or '')}</p>{post['Body']}"]
    parts += [f"<p>A:</p>{answer['Body']}" for answer in best]
    return Record(
        ordinal,
        "",
        question[2],
        raw_bytes,
        "\n".join(parts),
        "html_fragment",
        title=post["Title"],
        timestamp=post["CreationDate"],
        metadata={
            "question_id": question[0],
            "score": post["Score"],
            "answers": len(best),
            "tags": [tag for tag in (post["Tags"] or "").replace("><", "|").strip("<>|").split("|") if tag],
            "licence": post["ContentLicense"],
        },
        charset="utf-8",
    )


def _best(answers: list[dict[str, Any]], accepted: int | None) -> list[dict[str, Any]]:
    good = [
        answer for answer in answers if answer["Body"] and (answer["Id"] == accepted or answer["Score"] >= MIN_SCORE)
    ]
    return sorted(good, key=lambda answer: (answer["Id"] != accepted, -answer["Score"], answer["Id"]))[:MAX_ANSWERS]
