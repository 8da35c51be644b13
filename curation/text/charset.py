"""Bytes to text, when nobody can be trusted about the charset.

The order is: byte order mark, what the container declared (HTTP header), what the page declares (meta), UTF-8,
detection. A declared charset is believed if the bytes decode in it, or nearly do: one cut character does not make a
UTF-8 page Latin-1. Bytes that are valid UTF-8 beyond chance are UTF-8 whatever was declared. Labels are read as
browsers read them (the WHATWG names), so that no label can name a codec that is no charset.
"""

import codecs
import re
from dataclasses import dataclass

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What browsers decode under a name is wider than Python's codec of that name.
_WIDER = {
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "iso8859-11": "cp874",
}
_META_BYTES = 4096  # browsers look at 1024; scripts in front of the meta are common
_META = re.compile(rb"<meta[^>]{0,400}?charset\s*=\s*[\"']?\s*([\w.:+-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:+-]{1,40})", re.IGNORECASE)
_ASCII = bytes(range(128))
_BEYOND_CHANCE = 8  # non-ASCII bytes; two Chinese characters in GBK may be valid UTF-8 by chance, four are not
_NEARLY = 4  # non-ASCII bytes for each broken sequence at least; in a wrongly named charset there is about 1


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, the charset it was read in (a Python codec name), and how many sequences could not be read."""

    text: str
    charset: str
    replaced: int = 0


def decode_markup(content: bytes, header_charset: str | None = None) -> Decoded:
    """Decode an HTML page; sequences that cannot be read become U+FFFD, and a byte order mark goes."""
    return _decode(content, (header_charset, _declared_in_markup(content)))


def decode_text(content: bytes, declared: str | None = None) -> Decoded:
    """Decode plain text: byte order mark, the declared charset, UTF-8, or what it looks like."""
    return _decode(content, (declared,))


def _declared_in_markup(content: bytes) -> str | None:
    match = _XML.match(content[:400]) or _META.search(content[:_META_BYTES])
    if match is None:
        return None
    label = match[1].decode("ascii", "replace")
    return "utf-8" if label.lower().startswith("utf-16") else label  # it was read as ASCII, so it is not UTF-16


def _decode(content: bytes, labels: tuple[str | None, ...]) -> Decoded:
    for mark, charset in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return _replacing(content[len(mark) :], charset)
    declared = [codec for label in labels if label and (codec := _codec(label)) and _may_be(codec, content)]
    if len(content.translate(None, _ASCII)) >= _BEYOND_CHANCE:
        valid = _strictly(content, "utf-8")
        if valid:
            return valid
    for charset in dict.fromkeys((*declared, "utf-8")):
        decoded = _strictly(content, charset) or _nearly(content, charset)
        if decoded:
            return decoded
    detected = _codec(detect_encoding(content) or "") or "cp1252"
    return _replacing(content, detected)


def _codec(label: str) -> str | None:
    """Return the Python codec for what browsers read under a label, None if they know no such label."""
    codec = map_encoding_to_html5(label.strip().lower(), fallback_utf8=False)
    return _WIDER.get(codec, codec) if codec else None


def _may_be(codec: str, content: bytes) -> bool:
    """Whether a declaration is worth trying: almost any bytes decode as UTF-16, but its text holds NUL bytes."""
    return not codec.startswith("utf-16") or b"\0" in content


def _strictly(content: bytes, charset: str) -> Decoded | None:
    try:
        return Decoded(content.decode(charset), charset)
    except UnicodeDecodeError:
        return None


def _nearly(content: bytes, charset: str) -> Decoded | None:
    """Decode with few replacements, or not at all."""
    decoded = _replacing(content, charset)
    high_bytes = len(content.translate(None, _ASCII))
    return decoded if decoded.replaced * _NEARLY <= high_bytes else None


def _replacing(content: bytes, charset: str) -> Decoded:
    text = content.decode(charset, "replace")
    return Decoded(text, charset, text.count("\ufffd"))
