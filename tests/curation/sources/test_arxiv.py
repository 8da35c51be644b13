"""Papers from source archives: which file is the paper, and what belongs into it."""

import gzip

import pytest
from built_files import tar_of

from curation.limits import Limits
from curation.sources.arxiv import decode_latex
from curation.sources.units import Skipped
from curation.text.pipeline import document_text

MAIN = rb"\documentclass{article}" + b"\n" + rb"\begin{document}%s\end{document}"


def bulk(*papers: tuple[str, bytes]) -> bytes:
    return tar_of(*((f"2101/{name}", content) for name, content in papers))


def test_one_file_and_many_files_and_pdf_are_told_by_their_bytes(read_bytes, records) -> None:
    many = gzip.compress(
        tar_of(
            ("sub/intro.tex", b"Hello \\input{b}"), ("sub/b.tex", b"world"), ("main.tex", MAIN % rb"\input{sub/intro}")
        )
    )
    data = bulk(
        ("2101.00001.gz", gzip.compress(MAIN % b"One.")), ("2101.00002.gz", many), ("2101.00003.pdf", b"%PDF-1")
    )
    found = records(read_bytes("arxiv", data))
    assert [document_text(record).text for record in found] == ["One.", "Hello world"]
    assert [record.url for record in found] == ["https://arxiv.org/abs/2101.00001", "https://arxiv.org/abs/2101.00002"]


def test_old_identifiers_keep_their_archive(read_bytes, records) -> None:
    [record] = records(read_bytes("arxiv", tar_of(("0001/hep-th0001001.gz", gzip.compress(MAIN % b"One.")))))
    assert record.metadata == {"arxiv_id": "hep-th0001001"}


@pytest.mark.parametrize("charset", ["utf-8", "latin-1"])
def test_latin_1_and_utf_8_are_both_read(charset: str) -> None:
    assert decode_latex("Poincaré, Gödel".encode(charset)) == "Poincaré, Gödel"


def test_a_declared_encoding_is_believed() -> None:
    assert "Łódź" in decode_latex(rb"\usepackage[latin2]{inputenc} " + "Łódź".encode("iso8859-2"))


def test_inputs_that_multiply_are_a_bomb(read_bytes, bad) -> None:
    files = [(f"{n}.tex", b"text " * 9 + rb"\input{%d}" % (n + 1) * 20) for n in range(9)]
    paper = gzip.compress(tar_of(("main.tex", MAIN % rb"\input{0}"), *files))
    events = read_bytes("arxiv", paper, limits=Limits(max_document_mib=1))
    assert bad(events) == [("bomb", "input")]


def test_files_that_input_themselves_end(read_bytes, records) -> None:
    paper = gzip.compress(
        tar_of(("main.tex", MAIN % rb"a \input{b}"), ("b.tex", rb"b \input{main} \input{../../etc/passwd}"))
    )
    assert len(records(read_bytes("arxiv", paper))) == 1


def test_a_paper_without_latex_is_skipped_and_counted(read_bytes, records) -> None:
    events = read_bytes("arxiv", bulk(("2101.00001.gz", gzip.compress(tar_of(("a.ps", b"%!PS"), ("b.html", b"<p>"))))))
    assert not records(events)
    assert "no_latex" in [event.kind for event in events if isinstance(event, Skipped)]


def test_a_paper_cut_short_costs_itself(read_bytes, records, bad) -> None:
    whole = gzip.compress(MAIN % b"One. " * 50)
    events = read_bytes("arxiv", bulk(("1.gz", whole[: len(whole) // 2]), ("2.gz", whole)))
    assert bad(events) == [("truncated", "paper")]
    assert len(records(events)) == 1
