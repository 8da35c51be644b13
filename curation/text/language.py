"""Which language a text is in: CLD2 on plain text, never an error, the same answer everywhere.

Codes are ISO 639 (two letters where the language has two). `und` stands for everything that is not a language to
CLD2: too little text, numbers, a script without a language model, its joke languages. Whether CLD2 calls its answer
reliable is not asked, as in Pile-CC and so in the paper; the share is what a profile sets its threshold on.
"""

import re

import pyarrow as pa
import pycld2

UNDETERMINED = "und"
_PPM_PER_PERCENT = 10_000
# CLD2 writes three languages with codes that ISO 639 has withdrawn or merged
_TODAY = {"iw": "he", "jw": "jv", "bh": "bih"}
_NO_LANGUAGE = re.compile(r"un|xxx|xx-.*|zz[a-z]")
# every code point that CLD2 rejects as "invalid UTF-8": controls other than tab, line ends and form feed; noncharacters
_REFUSED = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(17))
    + "]"
)


def detect(texts: pa.Array) -> tuple[pa.StringArray, pa.Int32Array]:
    """Return the main language of each text and the share of the text that is in it.

    Args:
        texts: strings without nulls, n of them.

    Returns:
        ISO 639 codes (string, n), and shares in parts per million (int32, n). CLD2 counts in whole percent of the
        bytes of letters and gives a minority of a few sentences to the majority, so a share is a multiple of 10,000;
        it is 0 exactly where the code is `und`.
    """
    found = [detect_one(text) for text in texts.to_pylist()]
    codes = pa.array([code for code, _ in found], pa.string())
    return codes, pa.array([share for _, share in found], pa.int32())


def detect_one(text: str) -> tuple[str, int]:
    """Return (code, share in parts per million) of one text; see `detect`."""
    _, _, guesses = _cld2(text)
    code = iso_code(guesses[0][1])
    percent = sum(guess[2] for guess in guesses if iso_code(guess[1]) == code)  # zh and zh-Hant are both zh
    return (code, percent * _PPM_PER_PERCENT) if code != UNDETERMINED and percent else (UNDETERMINED, 0)


def iso_code(cld2_code: str) -> str:
    """Return the ISO 639 code for one of CLD2's, without script or region; `und` where it names no language.

    >>> [iso_code(code) for code in ("en", "zh-Hant", "iw", "un", "xx-Goth")]
    ['en', 'zh', 'he', 'und', 'und']
    """
    if _NO_LANGUAGE.fullmatch(cld2_code):
        return UNDETERMINED
    language = cld2_code.split("-")[0]
    return _TODAY.get(language, language)


def _cld2(text: str) -> tuple[bool, int, tuple[tuple[str, str, int, float], ...]]:
    try:
        answer = pycld2.detect(text, isPlainText=True)
    except pycld2.error:
        answer = pycld2.detect(_REFUSED.sub(" ", text), isPlainText=True)
    return answer  # type: ignore[no-any-return]
