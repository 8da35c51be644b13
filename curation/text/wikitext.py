"""Wikitext to prose: what a reader of the article would read as running text.

Kept: paragraphs, headings (without their equal signs), list items, link labels, formulas (as TeX in dollar signs),
and the few templates that carry words or numbers of a sentence. Left out: other templates, tables, references,
files, categories, language links, galleries, HTML comments, headings with nothing below them, and the sections that
list links, sources and notes under their usual English names.
"""

import html
import re
from typing import Any

import mwparserfromhell
from mwparserfromhell.nodes import ExternalLink, Heading, HTMLEntity, Tag, Template, Text, Wikilink

MAX_DEPTH = 40  # of nested markup; deeper is vandalism

_NO_PROSE_LINKS = re.compile(r"\s*:?(?:file|image|category|media|[a-z]{2,3}(?:-[a-z]+)*)\s*:", re.IGNORECASE)
_NO_PROSE_TAGS = {"ref", "references", "table", "gallery", "timeline", "imagemap", "score", "style", "script", "div"}
_VERBATIM_TAGS = {"math", "ce", "chem"}
_LAST_ARGUMENT = {"lang", "transl", "nihongo", "ipa", "nowrap", "sic", "em", "strong", "small", "abbr", "tooltip"}
_QUOTES = {"quote", "blockquote", "cquote", "quotation"}
_SPACES = re.compile(r"[ \t\xa0]+")
_BLANK_LINES = re.compile(r"\n\s*\n\s*")
_EMPTY_BRACKETS = re.compile(r"[ \t]*\([ \t;,:]*\)")
_MAGIC_WORDS = re.compile(r"__[A-Z]+__")
_HEADING = "\x01"  # marks a heading's line until the sections without text are known
_MARKERS = re.compile("[\x01\x02]")
_LISTS_OF_LINKS = {"see also", "references", "external links", "further reading", "notes", "footnotes", "sources"}
_LIST_MARKS = {"li": "\n* ", "dd": "\n", "dt": "\n"}


def prose(wikitext: str) -> str:
    """Return an article's running text; paragraphs are separated by blank lines. Pure; never returns markup on purpose.

    Raises:
        RecursionError: the markup is nested beyond all reason.
    """
    code = mwparserfromhell.parse(_MARKERS.sub("", wikitext), skip_style_tags=False)
    text = _MAGIC_WORDS.sub("", _nodes(code, 0))
    text = _EMPTY_BRACKETS.sub("", text)
    lines = [_SPACES.sub(" ", line).strip() for line in text.split("\n")]
    blocks = _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip().split("\n\n")
    return "\n\n".join(_with_text_below(_without_lists_of_links(blocks)))


def _nodes(code: Any, depth: int) -> str:
    if code is None or depth > MAX_DEPTH:
        return ""
    return "".join(_node(node, depth + 1) for node in code.nodes)


def _node(node: Any, depth: int) -> str:
    if isinstance(node, Text):
        return str(node.value)
    if isinstance(node, HTMLEntity):
        return html.unescape(str(node))
    if isinstance(node, Wikilink):
        return _link(node, depth)
    if isinstance(node, ExternalLink):
        return _nodes(node.title, depth) if node.title is not None else "" if node.brackets else str(node.url)
    if isinstance(node, Heading):
        return f"\n\n{_HEADING * node.level}{_nodes(node.title, depth).strip()}\n\n"
    if isinstance(node, Tag):
        return _tag(node, depth)
    if isinstance(node, Template):
        return _template(node, depth)
    return ""  # comments, and template arguments outside templates


def _link(node: Wikilink, depth: int) -> str:
    target = str(node.title)
    if _NO_PROSE_LINKS.match(target):
        # [[:Category:Physics|physics]] is a link in a sentence, [[Category:Physics]] is none
        return _nodes(node.text, depth) if target.lstrip().startswith(":") else ""
    return _nodes(node.text, depth) if node.text is not None else target.split("#")[0] or target.lstrip("#")


def _tag(node: Tag, depth: int) -> str:
    name = str(node.tag).strip().lower()
    if name in _NO_PROSE_TAGS:
        return ""
    if name in _VERBATIM_TAGS:
        return f"${str(node.contents).strip()}$"
    if name == "br":
        return "\n"
    if name in _LIST_MARKS:
        return str(_LIST_MARKS[name]).lstrip("\n") + _nodes(node.contents, depth)
    return _nodes(node.contents, depth)


def _template(node: Template, depth: int) -> str:
    """Return what the templates inside sentences stand for; all others are boxes, notes and citations."""
    name = str(node.name).strip().lower().replace("_", " ")
    arguments = [parameter for parameter in node.params if not parameter.showkey]
    if name in ("convert", "cvt") and len(arguments) > 1:
        return " ".join(_nodes(argument.value, depth).strip() for argument in arguments[:2])
    if (name in _LAST_ARGUMENT or name.startswith("lang-") or name in _QUOTES) and arguments:
        chosen = arguments[0] if name in (*_QUOTES, "nihongo", "abbr", "tooltip", "sic") else arguments[-1]
        return _nodes(chosen.value, depth)
    if name == "math" and arguments:
        return f"${_nodes(arguments[0].value, depth).strip()}$"
    return {"ndash": "–", "spnd": " – ", "snd": " – ", "mdash": "—", "nbsp": " ", "'": "'", "·": "·"}.get(name, "")


def _level(block: str) -> int:
    return len(block) - len(block.lstrip(_HEADING))


def _without_lists_of_links(blocks: list[str]) -> list[str]:
    kept: list[str] = []
    left_out = 0  # level of the section that is being left out
    for block in blocks:
        level = _level(block)
        if level and (not left_out or level <= left_out):
            left_out = level if block.lstrip(_HEADING).lower() in _LISTS_OF_LINKS else 0
        if not left_out:
            kept.append(block)
    return kept


def _with_text_below(blocks: list[str]) -> list[str]:
    """Drop headings that no text follows before one of the same or a higher level; take the marks off the others."""
    kept: list[str] = []
    following = 0  # level of the heading that `kept` ends with, 0 if it ends with text
    for block in reversed(blocks):
        level = _level(block)
        if level and (not kept or (following and following <= level)):
            continue
        if block:
            kept.append(block.lstrip(_HEADING))
            following = level
    return kept[::-1]
