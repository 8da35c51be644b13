"""One record to one text: the order of the steps, and what is said about them."""

from dataclasses import replace

import pytest

from curation.sources.units import Record, UnitError
from curation.text.pipeline import document_text

PARAGRAPH = "It is said that the people of the town were not at all pleased with what they had been told by the mayor. "
PAGE = f"<html><body><nav><a href=/>Home</a></nav><p>{PARAGRAPH * 3}caf\xe9</p></body></html>"
RECORD = Record(0, "", 0, 1, "text")


def html(content: str | bytes, charset: str | None = None) -> Record:
    return replace(RECORD, content=content, form="html", charset=charset)


def test_text_is_repaired_and_then_cleaned() -> None:
    result = document_text(replace(RECORD, content="it’s\r\nme"), clean=["realnews_paragraphs"])
    assert (result.text, result.repairs, result.charset) == ("it's\n\nme", ("line_break", "quote"), "")


def test_repair_can_be_left_out() -> None:
    result = document_text(replace(RECORD, content="it’s"), repair=False)
    assert (result.text, result.repairs) == ("it’s", ())


def test_a_page_is_decoded_and_extracted() -> None:
    result = document_text(html(PAGE.encode("latin-1"), "iso-8859-1"), extract="resiliparse")
    assert result.charset == "cp1252"
    assert result.text.endswith("café")
    assert "Home" not in result.text
    assert result.language_hint == ""


def test_a_page_of_another_language_becomes_a_row_without_text() -> None:
    result = document_text(html(PAGE), extract="resiliparse", languages=["de"])
    assert (result.text, result.language_hint, result.unwanted_language) == ("", "en", True)
    assert document_text(html(PAGE), extract="resiliparse", languages=["en"]).text


def test_plain_text_is_never_asked_for_its_language() -> None:
    result = document_text(replace(RECORD, content="Das ist ein deutscher Text."), languages=["en"])
    assert (result.text, result.language_hint) == ("Das ist ein deutscher Text.", "")


def test_bytes_in_an_old_charset_are_told_by_detection() -> None:
    text = "Les élèves de l'école où ça coûte déjà très cher sont allés à la fête de Noël. " * 5
    result = document_text(replace(RECORD, content=text.encode("cp1252")))
    assert result.text == text


def test_replaced_sequences_are_named_among_the_repairs() -> None:
    result = document_text(replace(RECORD, content="Les élèves où ça coûte déjà été".encode()[:-1]))
    assert "charset" in result.repairs


@pytest.mark.parametrize("content", [bytes(1000), b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4 + bytes(200)])
def test_what_is_no_text_is_refused(content: bytes) -> None:
    with pytest.raises(UnitError) as caught:
        document_text(replace(RECORD, content=content))
    assert (caught.value.error, caught.value.detail) == ("decode", "binary")


def test_a_refused_record_becomes_a_bad_unit_without_content() -> None:
    record = replace(RECORD, content=b"secret", ordinal=7, offset=5)
    unit = record.as_bad("decode", "binary")
    assert (unit.ordinal, unit.offset, unit.error, unit.detail) == (7, 5, "decode", "binary")
    assert "secret" not in repr(unit)
