"""One record to one text: decode, tell the language, extract, repair, clean, in that order and without any effect."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from curation.sources.units import Record, UnitError
from curation.text.charset import Decoded, decode_markup, decode_text
from curation.text.clean import clean as apply_rules
from curation.text.extract import UNKNOWN_LANGUAGE, language_of_markup
from curation.text.extract import extract as extract_main_text
from curation.text.markup import text_of_markup
from curation.text.repair import repair as repair_text

_BINARY_PARTS = 20  # a text of which more than a twentieth could not be read, or is NUL, is no text


@dataclass(frozen=True, slots=True)
class DocumentText:
    """What became of a record's content.

    Attributes:
        text: the document; "" for a page of a language that is not wanted. It always encodes as UTF-8.
        language_hint: language of the markup before extraction, "" if it was not asked for.
        charset: what bytes were read as, "" if the content was text already.
        repairs: kinds of repair the text needed, sorted; "charset" where sequences had to be replaced.
        unwanted_language: whether the text is empty because of the page's language.
    """

    text: str
    language_hint: str = ""
    charset: str = ""
    repairs: tuple[str, ...] = ()
    unwanted_language: bool = False


def document_text(
    record: Record,
    *,
    extract: str = "none",
    repair: bool = True,
    clean: Sequence[str] = (),
    languages: Collection[str] | None = None,
) -> DocumentText:
    """Return the text of one record.

    Args:
        record: as its reader gave it.
        extract: name of the extractor for HTML; plain text is never extracted.
        repair: whether to repair the text as ftfy does.
        clean: names of cleaning rules, applied in order.
        languages: codes of the languages whose pages are extracted; others become empty. None asks nothing.

    Raises:
        UnitError: the content is no text (decode) or cannot be parsed (parse).
        KeyError: an extractor or rule that does not exist.
    """
    decoded = _decode(record)
    text, hint = decoded.text, ""
    if record.form == "html":
        if languages is not None:
            hint = language_of_markup(text)
            if hint not in languages:
                return DocumentText("", hint, decoded.charset, unwanted_language=True)
        text = extract_main_text(text, extract, "en" if hint in ("", UNKNOWN_LANGUAGE) else hint)
    text = text_of_markup(text, record.form)
    kinds = ("charset",) if decoded.replaced else ()
    if repair:
        repaired = repair_text(text)
        text, kinds = repaired.text, (*kinds, *repaired.kinds)
    return DocumentText(apply_rules(text, clean), hint, decoded.charset, tuple(sorted(kinds)))


def _decode(record: Record) -> Decoded:
    content = record.content
    if isinstance(content, str):
        return Decoded(content, "")
    decode = decode_markup if record.form == "html" else decode_text
    decoded = decode(content, record.charset)
    unreadable = decoded.replaced + decoded.text.count("\0")
    if unreadable * _BINARY_PARTS > len(decoded.text):
        raise UnitError("decode", "binary")
    return decoded
