"""Wikitext to prose."""

import bz2
import re

import pytest

from curation.text.wikitext import prose


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("The '''bee''' is an ''[[insect]]''.", "The bee is an insect."),
        ("A [[bee|bees]]wax [[Honey#History|history]] and [[#Below]].", "A beeswax history and Below."),
        ("Text.<ref>{{cite web|url=x}}</ref><ref name=a /> More.", "Text. More."),
        ("{{Infobox bee|name=Bee}}\nA bee.", "A bee."),
        ("{|\n! a\n|-\n| b\n|}\nAfter.", "After."),
        ("[[File:Bee.jpg|thumb|A [[bee]]]]Text[[Category:Bees]][[de:Biene]]", "Text"),
        ("About {{convert|5|km|mi}} and {{lang|la|Apis}}.", "About 5 km and Apis."),
        ("<math>x^2</math> &ndash; A &amp; B<!-- note -->", "$x^2$ – A & B"),
        ("A bee ({{IPA|}}) flies.", "A bee flies."),
        ("* one\n* [[two]]", "* one\n* two"),
        ("Intro.\n\n== Empty ==\n\n== Full ==\nText.\n\n=== Sub ===\n", "Intro.\n\nFull\n\nText."),
        ("Text.\n\n== See also ==\n* [[Wasp]]\n\n== After ==\nMore.", "Text.\n\nAfter\n\nMore."),
        ("See [http://a.example the site] or [http://b.example].", "See the site or ."),
    ],
)
def test_what_a_reader_of_the_article_would_read_stays(markup: str, text: str) -> None:
    assert prose(markup) == text


@pytest.mark.parametrize(
    "markup", ["{{" * 500, "[[" * 500 + "a", "'''''" * 400, "{|" * 300, "<ref>" * 300, "\x01\x02="]
)
def test_markup_that_never_ends_does(markup: str) -> None:
    assert isinstance(prose(markup), str)


def test_little_markup_is_left_of_real_articles(real_data) -> None:
    pages = bz2.decompress(next(real_data.glob("sources/wikipedia/*table*.bz2")).read_bytes()).decode()
    for text in re.findall(r"<text[^>]*>(.*?)</text>", pages, re.DOTALL):
        plain = prose(text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&"))
        assert len(plain) > 500
        assert not any(mark in plain for mark in ("{{", "}}", "[[", "]]", "{|", "<ref", "'''"))
