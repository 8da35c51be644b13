"""Markup whose whole content is text, to that text; `extract` is for pages, of which only a part is.

As there, libraries that take long to import are imported when markup of their kind comes.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from resiliparse.extract.html2text import extract_plain_text

from curation.sources.units import Form, UnitError


def _fragment(fragment: str) -> str:
    return str(
        extract_plain_text(fragment, main_content=False, alt_texts=False, links=False, form_fields=False)
    ).strip()


def _wikitext(wikitext: str) -> str:
    from curation.text.wikitext import prose

    try:
        return prose(wikitext)
    except RecursionError:
        raise UnitError("parse", "wikitext") from None


def _latex(latex: str) -> str:
    from curation.text.latex import text_of_latex

    return text_of_latex(latex)


CONVERTERS: Mapping[Form, Callable[[str], str]] = MappingProxyType(
    {"html_fragment": _fragment, "wikitext": _wikitext, "latex": _latex}
)


def text_of_markup(markup: str, form: Form) -> str:
    """Return the text of a fragment of HTML, of wikitext or of LaTeX; plain text and pages are returned as they are.

    Raises:
        UnitError: the markup cannot be followed (parse).
    """
    convert = CONVERTERS.get(form)
    return convert(markup) if convert else markup
