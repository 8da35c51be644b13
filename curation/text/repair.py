"""ftfy's repairs at a tenth of its cost: the same text comes out, clean text is told apart by an exact check.

ftfy looks at every line with a dozen fixers and one slow expression for mojibake. Each fixer can only act where
certain characters stand, and each alternative of the mojibake expression needs either one of a few single characters
or two neighbours of certain classes. `_SUSPECT` is a superset of all of that: a line without a suspect is changed by
curly quotes, carriage returns, fullwidth ASCII and composition at most, which are done here in bulk; a line with one
goes to ftfy itself. Equality with ftfy 6.3 in its default configuration is tested.
"""

import re
import unicodedata
from dataclasses import dataclass

import ftfy

_DEFAULT = ftfy.TextFixerConfig()
_WITHOUT_ENTITIES = ftfy.TextFixerConfig(unescape_html=False)

# What a repair is called here, by the name of the fixer in ftfy's explanation.
_KINDS = {
    "unescape_html": "entity",
    "fix_c1_controls": "mojibake",
    "decode_inconsistent_utf8": "mojibake",
    "fix_latin_ligatures": "ligature",
    "fix_character_width": "width",
    "uncurl_quotes": "quote",
    "fix_line_breaks": "line_break",
    "fix_surrogates": "surrogate",
    "remove_terminal_escapes": "terminal_escape",
    "remove_control_chars": "control_character",
    "NFC": "composition",
}
KINDS = tuple(sorted({*_KINDS.values()}))

_ENTITY = "&#?[0-9A-Za-z]{1,24};"
_CONTROLS = "\\x00-\\x08\\x0b\\x0e-\\x1f\\x7f"
# One of these alone makes a line suspect: C1 and other control characters, ligatures and digraphs, line separators,
# halfwidth forms, surrogates, and the letters that the mojibake expression takes without a non-ASCII neighbour.
_SINGLES = (
    _CONTROLS + "\\x80-\\x9fÂÃŒœĲĳŉǄ-ǌǱ-ǳ\u2028\u2029\u206a-\u206f\ufb00-\ufb06\ufeff\uff06\uff5f-\uffef\ufff9-\ufffc"
    "\ud800-\udfff"
)
# Letters of which no two in a row occur in the mojibake expression: lower-case Latin-1, basic Greek and Cyrillic.
_LETTERS = "\xdf-\xf6\xf8-\xffΆΈ-ώА-яЁё"
_OTHERS = "\xa0-\xde\xf7\u0100-\u0385\u0387\u03cf-\u0400\u0402-\u040f\u0450\u0452-\u04ff\u2000-\u2bff\uf8ff\ufffd"
_SUSPECT = re.compile(
    f"[&{_SINGLES}{_LETTERS}{_OTHERS}]"
    f"(?:(?<=[{_SINGLES}])|(?<=[{_OTHERS}])[{_OTHERS}{_LETTERS}]|(?<=[{_LETTERS}])[{_OTHERS}]"
    f"|(?<=&){_ENTITY[1:]})"
)
_SUSPECT_ASCII = re.compile(f"[&{_CONTROLS}](?:(?<=[{_CONTROLS}])|(?<=&){_ENTITY[1:]})")
_FULLWIDTH = re.compile("[\u3000\uff01-\uff05\uff07-\uff5e]")
_FULLWIDTH_TO_ASCII = {0x3000: " "} | {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_SINGLE_QUOTES = "\u02bc\u2018\u2019\u201a\u201b"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f"


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repaired text and the kinds of repair it needed, sorted; none of them if it came clean."""

    text: str
    kinds: tuple[str, ...]


def repair(text: str) -> Repaired:
    r"""Return the text as `ftfy.fix_text` gives it, and what was repaired.

    >>> repair("It\u2019s 5 \u00e2\u201a\u00ac")
    Repaired(text="It's 5 €", kinds=('mojibake', 'quote'))
    """
    suspect = _SUSPECT_ASCII if text.isascii() else _SUSPECT
    work = _Repair(text)
    start = position = 0
    while match := suspect.search(text, position):
        line_start = max(text.rfind("\n", start, match.start()) + 1, start)
        line_end = text.find("\n", match.end()) + 1 or len(text)
        if match[0][0] == "&" and work.has_markup(line_end) and line_end - line_start <= _DEFAULT.max_decode_length:
            position = match.end()  # ftfy leaves entities alone from the first line with an angle bracket on
            continue
        work.lightly(start, line_start)
        work.thoroughly(line_start, line_end)
        start = position = line_end
    work.lightly(start, len(text))
    return Repaired("".join(work.pieces), tuple(sorted(work.kinds)))


class _Repair:
    """The repaired pieces of one text so far."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._first_bracket = text.find("<")
        self.pieces: list[str] = []
        self.kinds: set[str] = set()

    def has_markup(self, end: int) -> bool:
        """Whether an angle bracket stands before `end`."""
        return 0 <= self._first_bracket < end

    def lightly(self, start: int, end: int) -> None:
        """Repair whole lines without a suspect."""
        piece = self._text[start:end]
        fixed, kinds = _uncurl(piece)
        if "\r" in fixed:
            fixed, kinds = fixed.replace("\r\n", "\n").replace("\r", "\n"), {*kinds, "line_break"}
        if not fixed.isascii() and _FULLWIDTH.search(fixed):
            fixed, kinds = fixed.translate(_FULLWIDTH_TO_ASCII), {*kinds, "width"}
        # A long line may be split between CR and LF, an entity may have come to be, marks may compose: ftfy decides.
        may_be_cut = "line_break" in kinds and len(piece) > _DEFAULT.max_decode_length
        may_be_entity = "width" in kinds and "&" in piece
        if may_be_cut or may_be_entity or not unicodedata.is_normalized("NFC", fixed):
            self.thoroughly(start, end)
            return
        self.pieces.append(fixed)
        self.kinds |= kinds

    def thoroughly(self, start: int, end: int) -> None:
        """Repair lines by ftfy, segment by segment as `ftfy.fix_text` does."""
        text = self._text
        while start < end:
            stop = min(text.find("\n", start) + 1 or end, start + _DEFAULT.max_decode_length)
            config = _WITHOUT_ENTITIES if self.has_markup(stop) else _DEFAULT
            fixed = ftfy.fix_and_explain(text[start:stop], config)
            self.pieces.append(fixed.text)
            self.kinds.update(_KINDS.get(step.parameter, "mojibake") for step in fixed.explanation or ())
            start = stop


def _uncurl(piece: str) -> tuple[str, set[str]]:
    """Return the text with straight quotes; many plain replacements are faster than one expression."""
    if piece.isascii():
        return piece, set()
    fixed = piece
    for quote in _SINGLE_QUOTES:
        fixed = fixed.replace(quote, "'")
    for quote in _DOUBLE_QUOTES:
        fixed = fixed.replace(quote, '"')
    return fixed, {"quote"} if fixed != piece else set()
