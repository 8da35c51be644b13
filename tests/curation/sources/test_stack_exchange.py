"""Questions and their answers, joined whatever lies between them."""

import io
from collections import Counter
from xml.etree import ElementTree

import py7zr
import pytest

from curation.sources.external_sort import ExternalSort
from curation.sources.units import Dropped
from curation.text.pipeline import document_text


def question(number: int, accepted: int | str = "") -> str:
    body = f"&lt;p&gt;Body {number}&lt;/p&gt;"
    return f'<row Id="{number}" PostTypeId="1" Title="Why {number}?" Body="{body}" AcceptedAnswerId="{accepted}" />\n'


def answer(number: int, parent: int, score: int) -> str:
    return f'<row Id="{number}" PostTypeId="2" ParentId="{parent}" Score="{score}" Body="answer {number}" />\n'


def dump(*rows: str) -> bytes:
    return ('<?xml version="1.0"?>\n<posts>\n' + "".join(rows) + "</posts>").encode()


def seven_zip(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with py7zr.SevenZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(content, name.replace("_", "."))
    return stream.getvalue()


def test_the_accepted_answer_comes_first_then_the_best(read_bytes, records) -> None:
    rows = [
        answer(2, 1, 9),
        question(1, accepted=3),
        answer(3, 1, 0),
        answer(4, 1, 5),
        answer(5, 1, 7),
        answer(6, 1, 2),
    ]
    data = dump(*rows)
    [record] = records(read_bytes("stack_exchange", data))
    assert document_text(record).text.split() == [
        "Q:",
        "Why",
        "1?",
        "Body",
        "1",
        "A:",
        "answer",
        "3",
        "A:",
        "answer",
        "2",
        "A:",
        "answer",
        "5",
    ]
    assert record.raw_bytes == sum(len(row.strip()) for row in rows)
    assert record.metadata["answers"] == 3


def test_parts_without_their_counterpart_are_dropped(read_bytes) -> None:
    events = read_bytes("stack_exchange", dump(question(1), answer(2, 1, 2), answer(3, 99, 50), question(4)))
    assert [event.reason for event in events if isinstance(event, Dropped)] == ["orphan_part"] * 3


@pytest.mark.parametrize("run_bytes", [1, 1000, 1 << 30])
def test_the_sort_gives_the_same_rows_however_much_memory_it_has(run_bytes: int) -> None:
    rows = [[number * 7 % 50, number % 2, number, {"text": "x" * number}] for number in range(100)]
    with ExternalSort(3, run_bytes) as ordered:
        for row in rows:
            ordered.add(row, row[2])
        assert list(ordered) == sorted(rows, key=lambda row: row[:3])


def test_a_7z_gives_what_its_posts_give(read_bytes, records) -> None:
    data = dump(*(question(n, n + 50) + answer(n + 50, n, 1) for n in range(1, 40)))
    packed = read_bytes("stack_exchange", seven_zip(Badges_xml=b"<badges/>", Posts_xml=data))
    assert records(packed) == records(read_bytes("stack_exchange", data))


def test_a_7z_that_cannot_be_opened_is_one_bad_unit(read_bytes, bad) -> None:
    packed = seven_zip(Posts_xml=dump(question(1)))
    assert bad(read_bytes("stack_exchange", packed[: len(packed) // 2])) == [("parse", "archive")]


def test_a_whole_site_ends_in_threads_and_orphans(read_bytes, records, real_data) -> None:
    path = real_data / "sources/stackexchange/Posts.xml"
    events = read_bytes("stack_exchange", path.read_bytes())
    posts = [row.attrib for row in ElementTree.parse(path).iter("row")]
    kinds = Counter(post["PostTypeId"] for post in posts)
    questions = {post["Id"]: post for post in posts if post["PostTypeId"] == "1"}
    answers = [post for post in posts if post["PostTypeId"] == "2"]
    good = {
        post["ParentId"]
        for post in answers
        if int(post["Score"]) >= 3 or questions.get(post["ParentId"], {}).get("AcceptedAnswerId") == post["Id"]
    }
    assert {str(record.metadata["question_id"]) for record in records(events)} == good & set(questions)
    orphans = sum(post["ParentId"] not in questions for post in answers)
    dropped = sum(isinstance(event, Dropped) for event in events)
    assert dropped == orphans + kinds["1"] - len(records(events))
