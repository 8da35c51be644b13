"""HTML pages to text: which language a page is in, and what its main text is.

The extractors are other people's; here they are called in one way, with the settings whose quality we measured. Those
that take long to import are imported when they are asked for, since every task's sandbox starts anew.
`docs/sources.md` has the measurements.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

import lxml.etree  # type: ignore[import-untyped]
import pycld2
from resiliparse.extract.html2text import extract_plain_text

from curation.sources.units import UnitError
from curation.text.charset import Decoded, decode_markup

__all__ = ["EXTRACTORS", "Decoded", "decode_markup", "extract", "language_of_markup"]

UNKNOWN_LANGUAGE = "und"
# What cld2 calls invalid: control characters, and code points that are no characters.
_REFUSED_BY_CLD2 = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_NONCHARACTERS = re.compile("[^\x09\x0a\x0d\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd]")
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,400}>")
_LXML_REFUSES = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

# jusText's stop lists go by English names of languages.
_STOP_LISTS = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fi": "Finnish",
    "fr": "French",
    "hr": "Croatian",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "nl": "Dutch",
    "no": "Norwegian_Bokmal",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
}


def language_of_markup(html: str) -> str:
    """Return the ISO 639 code of a page's main language as cld2 reads its markup, "und" if it cannot tell.

    The paper drops pages by this before it extracts them. Never fails: what cld2 refuses is taken out and tried again.
    """
    for refused in (None, _REFUSED_BY_CLD2, _NONCHARACTERS):
        attempt = refused.sub("", html) if refused else html
        try:
            _, _, details = pycld2.detect(attempt, isPlainText=False)
        except (pycld2.error, UnicodeEncodeError):
            continue
        code: str = details[0][1]
        return UNKNOWN_LANGUAGE if code == "un" else code
    return UNKNOWN_LANGUAGE


def extract(html: str, extractor: str, language: str = "en") -> str:
    """Return the main text of a page, "" if there is none; paragraphs are separated by line ends.

    Args:
        html: the decoded page.
        extractor: a name in `EXTRACTORS`; "none" returns the page as it is.
        language: of the page; chooses jusText's stop list, English where it has none.

    Raises:
        KeyError: there is no extractor of that name.
        UnitError: the page cannot be parsed (parse, html).
    """
    return EXTRACTORS[extractor](html, language)


@cache
def _stop_list(name: str) -> frozenset[str]:
    import justext

    return justext.get_stoplist(name)  # type: ignore[no-any-return]


def _justext(html: str, language: str) -> str:
    import justext

    stop_list = _stop_list(_STOP_LISTS.get(language, "English"))
    page = _LXML_REFUSES.sub("", _XML_DECLARATION.sub("", html))
    if not page.strip():
        return ""
    try:
        paragraphs = justext.justext(page, stop_list)
    except lxml.etree.ParserError:  # nothing but comments, or a document that lxml sees as empty
        return ""
    except (lxml.etree.LxmlError, ValueError, AssertionError, RecursionError):
        raise UnitError("parse", "html") from None
    return "\n\n".join(paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate)


def _resiliparse(html: str, language: str) -> str:
    return extract_plain_text(
        html, main_content=True, links=False, form_fields=False, comments=False, alt_texts=False, post_meta=False
    )


def _trafilatura(html: str, language: str) -> str:
    import trafilatura

    page = _LXML_REFUSES.sub("", html)
    try:
        return trafilatura.extract(page, include_comments=False) or ""
    except (lxml.etree.LxmlError, ValueError, AssertionError, RecursionError):
        raise UnitError("parse", "html") from None


def _none(html: str, language: str) -> str:
    return html


EXTRACTORS: Mapping[str, Callable[[str, str], str]] = MappingProxyType(
    {"justext": _justext, "resiliparse": _resiliparse, "trafilatura": _trafilatura, "none": _none}
)
