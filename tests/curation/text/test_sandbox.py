"""The child process that parsers run in: same results, and a page that kills it costs itself."""

import sys

import pytest

from curation.sources.units import Record
from curation.text.pipeline import DocumentText, document_text
from curation.text.sandbox import Sandbox

PAGE = Record(
    0, "", 0, 9, "<html><body><p>" + "words of a page, and more of them. " * 20 + "</p></body></html>", "html"
)
# A child whose parser obeys the page: it loops, sleeps, dies of a signal, or leaves.
HOSTILE = """
import os, signal, sys, time
from curation.text import sandbox
from curation.text.pipeline import DocumentText

def obey(record, **settings):
    if record.content == "loop":
        while True: pass
    if record.content == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    if record.content == "leave":
        os._exit(3)
    if record.content == "raise":
        raise KeyError("content of the page")
    print("noise on standard output")
    return DocumentText(f"{os.getpid()}")

answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
sandbox.serve(sys.stdin.buffer, answers, int(sys.argv[1]), obey)
"""


def page(content: str) -> Record:
    return Record(0, "", 0, len(content), content, "html")


def texts(sandbox: Sandbox, *contents: str) -> list[str]:
    """What became of each page: its text (the child's process id), or its error and detail."""
    made = sandbox.document_texts([(page(content), {}) for content in contents])
    return [item.text if isinstance(item, DocumentText) else f"{item.error}/{item.detail}" for item in made]


@pytest.mark.parametrize("extractor", ["justext", "resiliparse", "trafilatura"])
def test_texts_are_those_made_without_a_sandbox(extractor: str) -> None:
    with Sandbox(30) as sandbox:
        made = sandbox.document_texts([(PAGE, {"extract": extractor}), (PAGE, {"extract": "none"})])
    assert made == [document_text(PAGE, extract=extractor), document_text(PAGE, extract="none")]


def test_no_pages_start_no_child() -> None:
    with Sandbox(30) as sandbox:
        assert sandbox.document_texts([]) == []
        assert sandbox._child is None


def test_errors_come_back_as_codes_of_the_record_they_belong_to() -> None:
    binary = Record(7, "member", 5, 9, bytes(99), "html")
    with Sandbox(30) as sandbox:
        made = sandbox.document_texts([(PAGE, {"extract": "none"}), (binary, {})])
    assert made[1] == binary.as_bad("decode", "binary")
    assert isinstance(made[0], DocumentText)


@pytest.mark.parametrize(
    ("content", "problem"),
    [("loop", "timeout/cpu"), ("die", "crash/SIGSEGV"), ("leave", "crash/exit"), ("raise", "crash/KeyError")],
)
def test_a_page_that_kills_the_parser_costs_that_page_only(content: str, problem: str) -> None:
    """AT-12."""
    with Sandbox(1, (sys.executable, "-c", HOSTILE)) as sandbox:
        assert len(set(texts(sandbox, "fine", "fine") + texts(sandbox, "fine"))) == 1
        found = texts(sandbox, "fine", content, "fine", "fine")
        assert found[1] == problem
        assert all(text.isdigit() for place, text in enumerate(found) if place != 1)
        assert texts(sandbox, content) == [problem]
        assert texts(sandbox, "fine")[0].isdigit()


def test_cpu_time_is_counted_page_by_page() -> None:
    busy = "import time\n" + HOSTILE.replace(
        'if record.content == "loop":',
        'end = time.process_time() + 0.7\n    while time.process_time() < end: pass\n    if record.content == "loop":',
    )
    with Sandbox(1, (sys.executable, "-c", busy)) as sandbox:
        assert len(set(texts(sandbox, *["fine"] * 5))) == 1


def test_the_child_ends_with_the_sandbox() -> None:
    with Sandbox(1) as sandbox:
        sandbox.document_texts([(PAGE, {"extract": "resiliparse"})])
        child = sandbox._child
    assert child is not None
    assert child.returncode == 0
