"""Extraction: one call for each extractor, languages by markup, and pages that nobody should parse."""

import json
import os
from pathlib import Path

import pytest

from curation.text.extract import EXTRACTORS, extract, language_of_markup

PARAGRAPH = (
    "The committee that was asked to look into the matter has said in its report that there is no reason to think "
    "that the rules were broken by any of those who had been named in the letter to the newspaper. "
)
PAGE = (
    "<html><head><title>News</title><script>var hidden = 1;</script></head><body>"
    "<nav><a href=/a>Home</a> <a href=/b>About</a> <a href=/c>Contact</a></nav>"
    f"<article><h1>Report</h1><p>{PARAGRAPH * 3}</p><p>{PARAGRAPH * 2}</p></article>"
    "<footer><a href=/d>Imprint</a></footer></body></html>"
)
MAIN = ["justext", "resiliparse", "trafilatura"]


@pytest.mark.parametrize("extractor", MAIN)
def test_the_article_stays_and_the_page_goes(extractor: str) -> None:
    text = extract(PAGE, extractor)
    assert PARAGRAPH.strip() in text
    assert "hidden" not in text
    assert "Imprint" not in text


def test_none_returns_the_page_as_it_is() -> None:
    assert extract(PAGE, "none") == PAGE


@pytest.mark.parametrize("extractor", sorted(EXTRACTORS))
@pytest.mark.parametrize(
    "page",
    [
        "",
        " ",
        "<!-- only a comment -->",
        "<?xml version='1.0' encoding='utf-8'?><html><body><p>x</p></body></html>",
        "<html><body>\x00\x01\x0b</body></html>",
        "<" * 5000,
        "<div>" * 5000 + "deep",
        "<p>\ufffe\uffff &#0; &#xd800; &#x110000;</p>",
        "no markup at all",
    ],
)
def test_odd_pages_give_some_text_or_none_but_never_fail(extractor: str, page: str) -> None:
    extract(page, extractor).encode("utf-8")


def test_justext_uses_the_stop_list_of_the_pages_language() -> None:
    german = (
        "Der Ausschuss, der sich mit der Sache befassen sollte, hat in seinem Bericht gesagt, dass es keinen Grund "
        "gibt zu glauben, dass die Regeln von einem der Menschen gebrochen wurden, die in dem Brief genannt waren. "
    )
    page = f"<html><body><p>{german * 3}</p></body></html>"
    assert extract(page, "justext", "de")
    assert not extract(page, "justext", "en")
    assert extract(PAGE, "justext", "tlh") == extract(PAGE, "justext", "en")


def test_the_language_of_markup_is_that_of_its_text() -> None:
    assert language_of_markup(PAGE) == "en"
    assert language_of_markup("<p>Это страница на русском языке о погоде в Москве.</p>") == "ru"
    assert language_of_markup("") == "und"
    assert language_of_markup("<p>123</p>") == "und"


def test_what_cld2_refuses_does_not_hide_the_language() -> None:
    for dirt in ("\x00", "\x0b", "\x7f", "\x85", "\ufffe", "\ud800", "\U0001fffe"):
        assert language_of_markup(PAGE.replace("letter", "let" + dirt + "ter")) == "en"


def test_real_pages_are_extracted_about_as_well_as_measured_before() -> None:
    if not os.environ.get("CURATION_REAL_DATA"):
        pytest.skip("CURATION_REAL_DATA is not set")
    folder = Path(os.environ["CURATION_REAL_DATA"]) / "webpages/trafilatura_eval"
    cases = json.loads((folder / "snippets.json").read_text("utf-8"))
    entries = list(cases.values() if isinstance(cases, dict) else cases)[:40]
    found = wanted = 0
    for entry in entries:
        path = folder / "html" / entry["file"]
        text = extract(path.read_bytes().decode("utf-8", "replace"), "resiliparse")
        wanted += len(entry["with"])
        found += sum(snippet in text for snippet in entry["with"])
    assert found > 0.7 * wanted
