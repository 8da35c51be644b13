"""LaTeX to text that keeps mathematics: prose as Unicode, formulas as they were written.

Headings, paragraphs, footnotes, captions, item lists and what is set verbatim stay; comments, preamble, citations,
references, labels, pictures, tables and the bibliography go. Formulas keep their delimiters, so that a reader sees
where they begin.
"""

import re
from functools import cache
from typing import Any

from pylatexenc import latex2text, latexwalker
from pylatexenc.macrospec import EnvironmentSpec, LatexContextDb, MacroSpec, std_environment, std_macro

from curation.sources.units import UnitError

_BODY = re.compile(r"\\begin\s*\{document\}(.*?)(?:\\end\s*\{document\}|\Z)", re.DOTALL)
_ABSTRACT = re.compile(r"\\begin\s*\{abstract\}.*?\\end\s*\{abstract\}", re.DOTALL)
_TITLE = re.compile(r"\\title\s*(?:\[[^\]]{0,400}\])?\s*\{((?:[^{}]|\{[^{}]*\}){0,1000})\}")
_COMMENT = re.compile(r"(\\begin\s*\{verbatim\}.*?\\end\s*\{verbatim\})|(?<!\\)%[^\n]*(?:\n[ \t]*|\Z)", re.DOTALL)
_BLANK_LINES = re.compile(r"\n\s*\n\s*")
_DROPPED_ENVIRONMENTS = (
    *("figure", "figure*", "table", "table*", "tabular", "tabular*", "tabularx", "longtable", "thebibliography"),
    *("tikzpicture", "pspicture", "picture", "algorithm", "algorithmic", "lstlisting", "comment", "wrapfigure"),
)
_MATH_ENVIRONMENTS = (
    *("equation", "equation*", "align", "align*", "eqnarray", "eqnarray*", "gather", "gather*", "multline"),
    *("multline*", "displaymath", "math", "alignat", "alignat*", "flalign", "flalign*", "dmath", "dmath*"),
)
_DROPPED_MACROS = {
    "cite": "*[[{", "citep": "*[[{", "citet": "*[[{", "citealp": "*[[{", "citealt": "*[[{", "citeauthor": "*[[{",
    "citeyear": "*[[{", "nocite": "{", "ref": "*{", "eqref": "{", "autoref": "*{", "cref": "{", "Cref": "{",
    "pageref": "{", "label": "{", "vspace": "*{", "hspace": "*{", "includegraphics": "*[[{", "bibliography": "{",
    "bibliographystyle": "{", "thanks": "{", "affiliation": "{", "email": "{", "pagestyle": "{", "thispagestyle": "{",
    "setcounter": "{{", "addtocounter": "{{", "setlength": "{{", "newcommand": "*{[[{", "renewcommand": "*{[[{",
    "input": "{", "include": "{", "usepackage": "[{", "color": "[{", "textcolor": "[{{", "hypersetup": "{",
    "bibitem": "[{", "pacs": "{", "keywords": "{", "date": "{", "index": "{", "addcontentsline": "{{{",
}  # fmt: skip
# The library would put the day it runs on where a paper says \\today, and a frame of it where \\maketitle stands.
_NAMES = {"maketitle": "", "today": "", "TeX": "TeX", "LaTeX": "LaTeX", "LaTeXe": "LaTeX2e", "BibTeX": "BibTeX"}
_HEADINGS = {
    "part": "*[{",
    "chapter": "*[{",
    "section": "*[{",
    "subsection": "*[{",
    "subsubsection": "*[{",
    "paragraph": "*[{",
}


def text_of_latex(source: str) -> str:
    """Return a paper's text: title, then the body of its document; a source without one is all body.

    Raises:
        UnitError: parse/latex, the source cannot be followed at all.
    """
    source = _COMMENT.sub(_without_comment, source)
    title = _TITLE.search(source)
    body = _BODY.search(source)
    parts = [title[1] if title else "", body[1] if body else source]
    try:
        texts = [_convert(part).strip() for part in parts]
    except (latexwalker.LatexWalkerParseError, RecursionError, ValueError, IndexError, AttributeError, TypeError):
        raise UnitError("parse", "latex") from None
    return _BLANK_LINES.sub("\n\n", "\n\n".join(filter(None, texts))).strip()


def _without_comment(match: re.Match[str]) -> str:
    """A comment takes its line end with it, unless a blank line follows: that is a paragraph's end."""
    if match[1]:
        return match[1]
    return "\n" if match.end() < len(match.string) and match.string[match.end()] == "\n" else ""


def _convert(source: str) -> str:
    walker_context, text_context = _contexts()
    walker = latexwalker.LatexWalker(source, latex_context=walker_context, tolerant_parsing=True)
    nodes, _, _ = walker.get_latex_nodes()
    converter = latex2text.LatexNodes2Text(
        latex_context=text_context, math_mode="verbatim", keep_comments=False, strict_latex_spaces=False
    )
    return str(converter.nodelist_to_text(nodes))


def _heading(node: Any, l2tobj: Any) -> str:
    arguments = [argument for argument in node.nodeargd.argnlist if argument is not None] if node.nodeargd else []
    return f"\n\n{l2tobj.nodelist_to_text([arguments[-1]]).strip()}\n\n" if arguments else ""


def _colored(node: Any, l2tobj: Any) -> str:
    return str(l2tobj.nodelist_to_text([node.nodeargd.argnlist[-1]])) if node.nodeargd.argnlist[-1] else ""


def _verbatim(node: Any, l2tobj: Any) -> str:
    return f"\n{node.latex_verbatim()}\n"


def _code(node: Any, l2tobj: Any) -> str:
    """Return what stands in a verbatim environment or \\verb."""
    return str(getattr(node.nodeargd, "verbatim_text", ""))


def _captions(node: Any, l2tobj: Any) -> str:
    """Of a figure or table only its caption is prose."""
    captions = [child for child in node.nodelist if getattr(child, "macroname", "") == "caption"]
    texts = [l2tobj.nodelist_to_text([child.nodeargd.argnlist[-1]]) for child in captions if child.nodeargd]
    return "\n\n" + "\n\n".join(text.strip() for text in texts) + "\n\n" if texts else ""


@cache
def _contexts() -> tuple[LatexContextDb, LatexContextDb]:
    walker: LatexContextDb = latexwalker.get_default_latex_context_db()
    walker.add_context_category(
        "papers",
        macros=[MacroSpec(name, args_parser=spec) for name, spec in (_DROPPED_MACROS | _HEADINGS).items()]
        + [std_macro("caption", "*[{")],
        environments=[std_environment(name, None, is_math_mode=True) for name in _MATH_ENVIRONMENTS]
        + [EnvironmentSpec(name) for name in _DROPPED_ENVIRONMENTS],
        prepend=True,
    )
    text: LatexContextDb = latex2text.get_default_latex_context_db()
    captioned = [name for name in _DROPPED_ENVIRONMENTS if name.startswith(("figure", "table", "wrapfigure"))]
    text.add_context_category(
        "papers",
        macros=[latex2text.MacroTextSpec(name, simplify_repl="") for name in _DROPPED_MACROS if name != "textcolor"]
        + [latex2text.MacroTextSpec(name, simplify_repl=_heading) for name in _HEADINGS]
        + [latex2text.MacroTextSpec(name, simplify_repl=text) for name, text in _NAMES.items()]
        + [latex2text.MacroTextSpec("textcolor", simplify_repl=_colored)]
        + [latex2text.MacroTextSpec("verb", simplify_repl=_code)],
        environments=[latex2text.EnvironmentTextSpec(name, simplify_repl=_verbatim) for name in _MATH_ENVIRONMENTS]
        + [latex2text.EnvironmentTextSpec(name, simplify_repl=_captions) for name in captioned]
        + [latex2text.EnvironmentTextSpec("verbatim", simplify_repl=_code)]
        + [
            latex2text.EnvironmentTextSpec(name, discard=True)
            for name in _DROPPED_ENVIRONMENTS
            if name not in captioned
        ],
        prepend=True,
    )
    return walker, text
