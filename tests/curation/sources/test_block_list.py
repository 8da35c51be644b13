"""URL block-lists: domains with their subdomains, and prefixes."""

import pytest

from curation.sources.block_list import BlockList

LIST = BlockList.parse(b"# a comment\nexample.com\nhttps://www.Forum.example/bad/  # why\nexample.org/a\n\xff\n")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "https://www.example.com/page",
        "http://SUB.Example.com:8080/x",
        "http://user@example.com/",
        "https://forum.example/bad/page",
        "http://example.org/abc",
    ],
)
def test_what_the_list_names_is_blocked(url: str) -> None:
    assert LIST.blocks(url)


@pytest.mark.parametrize(
    "url", [None, "", "http://notexample.com/", "http://example.com.evil.test/", "http://forum.example/good", "no url"]
)
def test_what_only_looks_like_it_is_not(url: str | None) -> None:
    assert not LIST.blocks(url)


def test_an_empty_list_blocks_nothing() -> None:
    assert not BlockList().blocks("http://example.com/")
