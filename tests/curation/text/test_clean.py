"""The authors' cleaning rules, by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.text.clean import RULES, clean, gutenberg_blank_lines, realnews_paragraphs, stories_detokenise


def test_realnews_lines_become_paragraphs_once() -> None:
    assert realnews_paragraphs("a\nb\n\nc\n") == "a\n\nb\n\nc\n\n"


def test_stories_lose_their_tokenisers_spaces() -> None:
    text = "Who 's there ? It is I - the editor - at a @ b .\nGo !"
    assert stories_detokenise(text) == "Who's there? It is I-the editor-at a@b.\nGo!"


def test_gutenbergs_blank_lines_are_squeezed() -> None:
    assert gutenberg_blank_lines("a\n\n\n\n\nb\n\nc\nd") == "a\n\nb\n\nc\nd"


@given(st.text("ab\n", max_size=50))
def test_paragraph_rules_change_nothing_a_second_time(text: str) -> None:
    for rule in (realnews_paragraphs, gutenberg_blank_lines):
        assert rule(rule(text)) == rule(text)


def test_rules_apply_in_the_order_given() -> None:
    assert clean("a\n\n\nb\nc", ["gutenberg_blank_lines", "realnews_paragraphs"]) == "a\n\nb\n\nc"
    assert clean("a", []) == "a"


def test_an_unknown_rule_is_an_error() -> None:
    assert set(RULES) == {"realnews_paragraphs", "stories_detokenise", "gutenberg_blank_lines"}
    with pytest.raises(KeyError):
        clean("a", ["polish"])
