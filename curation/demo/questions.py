"""Stack Exchange: worked examples, each the answer to one task, as the `Posts.xml` of a site in its .7z."""

import html
import re
import textwrap
from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

from curation.demo.packages import AWSCLI
from curation.demo.wheels import Wheels, chance, pick

STACK_EXCHANGE_POSTS = 2_000
_UNACCEPTED_IN = 20  # one question in so many has an answer that nobody accepted
_EXAMPLE = re.compile(r"awscli/examples/(?P<service>[^/]+)/(?P<task>[^/]+)\.rst$")
_INLINE = re.compile(r"``(?P<code>.+?)``|\*\*(?P<bold>.+?)\*\*|`(?P<label>[^`<]+?)\s*<(?P<url>[^>`]+)>`__?", re.DOTALL)
_TITLE = re.compile(r"\*\*(.+?)\*\*\s*(?:\n|\Z)")


def posts_xml(wheels: Wheels) -> bytes:
    """Return `Posts.xml`: a question and its answer for each example."""
    rows = [row for number, name in enumerate(_names(wheels)) for row in _rows(wheels, name, number)]
    return '<?xml version="1.0" encoding="utf-8"?>\n<posts>\n{}</posts>\n'.format("".join(rows)).encode()


def markup(text: str) -> str:
    """Return an example as the HTML that a site stores: paragraphs, and indented blocks as code.

    >>> markup("Use ``cp``::\\n\\n  aws s3 cp a b\\n")
    '<p>Use <code>cp</code>:</p>\\n<pre><code>aws s3 cp a b\\n</code></pre>'
    """
    blocks = re.split(r"\n(?:[ \t]*\n)+(?=\S)", text.strip("\n"))
    parts = []
    for block in blocks:
        lead, _, indented = block.partition("\n\n")
        parts.append(f"<p>{_inline(lead)}</p>")
        if indented.strip():
            parts.append(
                f"<pre><code>{html.escape(textwrap.dedent(indented.expandtabs()).strip(), quote=False)}\n</code></pre>"
            )
    return "\n".join(parts)


def _names(wheels: Wheels) -> list[str]:
    return pick(wheels.names(AWSCLI, lambda name: bool(_EXAMPLE.search(name))), STACK_EXCHANGE_POSTS, "qa")


def _rows(wheels: Wheels, name: str, number: int) -> Iterator[str]:
    found = _EXAMPLE.search(name)
    assert found is not None
    text = wheels.read(AWSCLI, name).decode().replace("\r\n", "\n").strip()
    title = _TITLE.match(text)
    question, answer = 2 * number + 1, 2 * number + 2
    drawn = chance("votes" + name)
    accepted = {"AcceptedAnswerId": answer} if drawn % _UNACCEPTED_IN else {}
    command = f"<p>aws {found['service']} {found['task']}</p>"
    about = {"Title": title[1] if title else f"{found['service']} {found['task']}", "Tags": f"<{found['service']}>"}
    yield _row(Id=question, PostTypeId=1, **accepted, Score=drawn % 7, Body=command, **about, AnswerCount=1)
    body = markup(text[title.end() :] if title else text)
    yield _row(Id=answer, PostTypeId=2, ParentId=question, Score=drawn % 5, Body=body)


def _row(**attributes: object) -> str:
    return "  <row {} />\n".format(" ".join(f"{name}={_quoted(str(value))}" for name, value in attributes.items()))


def _quoted(value: str) -> str:
    return quoteattr(value, {'"': "&quot;", "\n": "&#xA;", "\t": "&#x9;"})


def _inline(text: str) -> str:
    pieces, position = [], 0
    for match in _INLINE.finditer(text):
        pieces += [html.escape(text[position : match.start()], quote=False), _marked(match)]
        position = match.end()
    return _colon("".join([*pieces, html.escape(text[position:], quote=False)]))


def _colon(text: str) -> str:
    """Return a paragraph without the sign that code follows: `text::` says `text:`, `text ::` nothing."""
    return re.sub(r"::\Z", ":", re.sub(r"\s::\Z", "", text))


def _marked(match: re.Match[str]) -> str:
    for group, tag in (("code", "code"), ("bold", "strong")):
        if match[group]:
            return f"<{tag}>{html.escape(match[group], quote=False)}</{tag}>"
    return f"<a href={quoteattr(match['url'])}>{html.escape(match['label'], quote=False)}</a>"
