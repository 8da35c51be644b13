"""Globs as recipes write them: `*`, `?` and sets stay within a folder, `**` crosses folders.

`**/` stands for any number of folders, none included. `[abc]`, `[a-z]` and `[!a]` are sets; a bracket that opens none
stands for itself.
"""

import fnmatch
import re
from collections.abc import Callable
from typing import Any


def matcher(pattern: str) -> Callable[[str], Any]:
    """Return a function that is true of the paths a glob matches whole."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[!?\]?[^]]*\])", pattern)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    expression = "".join(known.get(piece) or _literal_or_set(piece) for piece in pieces)
    return re.compile(expression, re.DOTALL).fullmatch


def fixed_folder(pattern: str) -> str:
    """Return the folders before the first wildcard, with their slash."""
    literal = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    return literal[: literal.rfind("/") + 1]


def _literal_or_set(piece: str) -> str:
    is_set = piece.startswith("[") and piece.endswith("]")
    return "(?!/)" + fnmatch.translate(piece)[len("(?s:") : -len(r")\Z")] if is_set else re.escape(piece)
