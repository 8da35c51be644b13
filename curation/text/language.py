"""Which language a text is in: CLD2 on plain text, never an error, the same answer everywhere.

Codes are ISO 639 (two letters where the language has two). `und` stands for everything that is not a language to
CLD2: too little text, numbers, a script without a language model, its joke languages. Whether CLD2 calls its answer
reliable is not asked, as in Pile-CC and so in the paper; the share is what a profile sets its threshold on.

A fastText model is the other choice: `curation.text.lid`. A text of fewer letters than `min_letters` is `und` whichever
detector is asked, because the answer on a handful of words is a guess.
"""

import re
from collections.abc import Callable
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pycld2
from pydantic import BaseModel, ConfigDict, Field, model_validator

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


Detected = tuple[pa.StringArray, pa.Int32Array]


class LanguageSettings(BaseModel):
    """Which detector says what language a text is in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    detector: Literal["cld2", "fasttext"] = Field("cld2", description="cld2 (the paper), or fasttext with a model file")
    model: str | None = Field(None, description="fastText language model by path, e.g. lid.176.ftz")
    max_characters: int = Field(1000, ge=1, description="fasttext: how much of a text's beginning is read")
    min_letters: int = Field(0, ge=0, description="a text of fewer letters is und; 0: every text is asked about")

    @model_validator(mode="after")
    def _fasttext_has_a_model(self) -> "LanguageSettings":
        if (self.detector == "fasttext") != (self.model is not None):
            raise ValueError('language: `model`, the path of a fastText model, and detector = "fasttext" go together')
        return self


def with_short_policy(detected: Detected, texts: pa.Array, min_letters: int) -> Detected:
    """Return what was detected, `und` and 0 for texts of fewer letters (Unicode's L categories) than `min_letters`."""
    if not min_letters:
        return detected
    letters = pc.count_substring_regex(texts.cast(pa.large_string()), r"\p{L}")
    short = pc.less(letters, min_letters)
    codes, shares = detected
    return pc.if_else(short, UNDETERMINED, codes), pc.if_else(short, pa.scalar(0, pa.int32()), shares)


def detector(settings: LanguageSettings, path: str | None = None) -> Callable[[pa.Array], Detected]:
    """Return the function that detects by these settings; `path` is where the fastText model lies on this machine."""
    from curation.text import lid

    model = lid.load(str(path)) if settings.detector == "fasttext" else None

    def answer(texts: pa.Array) -> Detected:
        found = model.detect(texts, settings.max_characters) if model is not None else detect(texts)
        return with_short_policy(found, texts, settings.min_letters)

    return answer


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
