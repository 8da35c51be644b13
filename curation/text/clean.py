"""The per-source cleaning rules of the authors' tool, by name: pure functions on text whose lines end in LF."""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

_SINGLE_NEWLINE = re.compile(r"(?<!\n)\n(?!\n)")
_BLANK_LINES = re.compile(r"\n{3,}")
_SPACED_MARK = re.compile(r" (?=['!.?])")
_SPACED_JOINT = re.compile(r" ([-@]) ")


def realnews_paragraphs(text: str) -> str:
    r"""Make each line a paragraph of its own: RealNews ends paragraphs with one newline.

    >>> realnews_paragraphs("a\nb\n\nc")
    'a\n\nb\n\nc'
    """
    return _SINGLE_NEWLINE.sub("\n\n", text)


def stories_detokenise(text: str) -> str:
    """Take back the spaces that CC-Stories' tokeniser put in: before ' ! . ? and around - and @.

    >>> stories_detokenise("He said : it 's well - known !")
    "He said : it's well-known!"
    """
    return _SPACED_JOINT.sub(r"\1", _SPACED_MARK.sub("", text))


def gutenberg_blank_lines(text: str) -> str:
    r"""Squeeze runs of newlines to two.

    >>> gutenberg_blank_lines("CHAPTER I\n\n\n\nIt was")
    'CHAPTER I\n\nIt was'
    """
    return _BLANK_LINES.sub("\n\n", text)


RULES: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {rule.__name__: rule for rule in (realnews_paragraphs, stories_detokenise, gutenberg_blank_lines)}
)


def clean(text: str, rules: Iterable[str]) -> str:
    """Return the text after the named rules, applied in order.

    Raises:
        KeyError: there is no rule of that name.
    """
    for rule in rules:
        text = RULES[rule](text)
    return text
