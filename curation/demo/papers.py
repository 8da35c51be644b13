"""ArXiv: articles on special functions, set in LaTeX and packed as the bulk source archive packs papers.

The package index has no file of arXiv's. The articles are mpmath's documentation, whose formulas are LaTeX already;
what stands around them is given LaTeX's spelling. Papers by the fourth are archives of two files, as larger ones are.
"""

import ast
import re
from collections.abc import Iterator

from curation.demo.containers import gzip_member, tar_archive
from curation.demo.packages import MPMATH
from curation.demo.wheels import Wheels

MIN_ARTICLE_CHARACTERS = 400
MONTH = "2101"
_PARTS = 4  # every fourth paper has its examples in a file of their own
_MATH_BLOCK = re.compile(r"\.\. math ?::\s*")
_INLINE = re.compile(r"``(?P<code>.+?)``|(?::math:)?`(?P<math>[^`]+)`|\*\*(?P<bold>.+?)\*\*", re.DOTALL)
_SPECIAL = re.compile(r"[\\{}$&#%_^~]")
_SPELLED = {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}
_EXAMPLES = "**Examples**"


def papers(wheels: Wheels) -> Iterator[tuple[str, bytes]]:
    """Yield (member name, content) of the bulk archive."""
    for number, (title, text) in enumerate(_articles(wheels), 1):
        description, mark, examples = text.partition(_EXAMPLES)
        if mark and number % _PARTS == 0:
            files = [
                ("main.tex", _document(title, description, r"\input{examples}")),
                ("examples.tex", latex(examples)),
            ]
            paper = tar_archive((name, content.encode()) for name, content in files)
        else:
            paper = _document(title, text, "").encode()
        yield f"{MONTH}/{MONTH}.{number:05}.gz", gzip_member(paper)


def latex(text: str) -> str:
    """Return documentation as LaTeX: formulas as they stand, indented blocks verbatim, everything else spelled out.

    >>> latex("The sign of `x`, 5 % of ``a_b``")
    'The sign of $x$, 5 \\\\% of \\\\texttt{a\\\\_b}'
    """
    blocks = re.split(r"\n(?:[ \t]*\n)+", text.strip("\n"))
    found: list[str] = []
    is_formula = False
    for block in blocks:
        if _MATH_BLOCK.fullmatch(block.strip()):
            is_formula = True
        elif block.startswith(" "):
            environment = "displaymath" if is_formula else "verbatim"
            found.append(f"\\begin{{{environment}}}\n{block}\n\\end{{{environment}}}")
        else:
            is_formula = False
            found.append(_paragraph(block))
    return "\n\n".join(found)


def _document(title: str, text: str, end: str) -> str:
    parts = (r"\documentclass{article}", f"\\title{{{_spelled(title)}}}", r"\begin{document}", r"\maketitle")
    return "\n".join([*parts, latex(text), end, r"\end{document}", ""])


def _paragraph(block: str) -> str:
    pieces, position = [], 0
    for match in _INLINE.finditer(block):
        pieces += [_spelled(block[position : match.start()]), _marked(match)]
        position = match.end()
    return re.sub(r"::\Z", ":", "".join([*pieces, _spelled(block[position:])]))


def _marked(match: re.Match[str]) -> str:
    if match["math"]:
        return f"${match['math']}$"
    return f"\\texttt{{{_spelled(match['code'])}}}" if match["code"] else f"\\textbf{{{_spelled(match['bold'])}}}"


def _spelled(text: str) -> str:
    return _SPECIAL.sub(lambda match: _SPELLED.get(match[0], "\\" + match[0]), text)


def _articles(wheels: Wheels) -> Iterator[tuple[str, str]]:
    for name in wheels.names(MPMATH, lambda name: name.startswith("mpmath/") and name.endswith(".py")):
        for title, text in _documentation(wheels.read(MPMATH, name).decode()):
            if len(text) >= MIN_ARTICLE_CHARACTERS:
                yield title, text


def _documentation(source: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign):  # function_docs.py: a name and its article
            match node.targets[0], node.value:
                case ast.Name(id=name), ast.Constant(value=str(text)):
                    yield name, text.strip()
