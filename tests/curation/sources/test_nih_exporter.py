"""Zipped CSV of abstracts, in bytes of any kind."""

import pytest
from built_files import zip_of

from curation.sources.nih_exporter import without_form_phrases

HEADER = b"APPLICATION_ID,ABSTRACT_TEXT\r\n"


def test_fields_may_hold_quotes_commas_and_line_ends(read_bytes, records) -> None:
    data = zip_of(("a.csv", HEADER + b'7,"We study ""bees"",\r\nand wasps."\r\n8,Short.\r\n'))
    found = [(record.metadata, record.content) for record in records(read_bytes("nih_exporter", data))]
    assert found == [
        ({"application_id": "7"}, 'We study "bees",\r\nand wasps.'),
        ({"application_id": "8"}, "Short."),
    ]


def test_each_row_is_decoded_on_its_own(read_bytes, records) -> None:
    rows = HEADER + b"1,caf\xe9 in Latin-1\r\n2,caf\xc3\xa9 in UTF-8\r\n"
    found = [record.content[:4] for record in records(read_bytes("nih_exporter", zip_of(("a.csv", rows))))]
    assert found == ["café", "café"]


def test_a_row_of_other_length_costs_itself(read_bytes, records, bad) -> None:
    events = read_bytes("nih_exporter", HEADER + b"1,a,b\r\n2,fine\r\n")
    assert bad(events) == [("parse", "csv_fields")]
    assert [record.content for record in records(events)] == ["fine"]


def test_quotes_that_never_close_end_as_one_unit(read_bytes, bad) -> None:
    events = read_bytes("nih_exporter", HEADER + b'1,"open\r\n' + b"2,more\r\n" * 5)
    assert bad(events) == [("parse", "csv_quotes")]


@pytest.mark.parametrize(
    "phrase",
    [
        "DESCRIPTION (provided by applicant): ",
        "DESCRIPTION (Verbatim from the Applicant's Abstract): ",
        "PROJECT SUMMARY/ABSTRACT: ",
        "Project Summary\n",
        "Abstract. ",
        "(Adapted from the investigator's abstract): ",
        "DESCRIPTION (provided by applicant): PROJECT SUMMARY: ",
    ],
)
def test_phrases_of_the_form_are_taken_off(phrase: str) -> None:
    assert without_form_phrases(phrase + "Bees abstract nectar.") == "Bees abstract nectar."


def test_words_of_the_abstract_itself_stay() -> None:
    for text in ("Abstract reasoning declines with age.", "Summary statistics are not enough."):
        assert without_form_phrases(text) == text
