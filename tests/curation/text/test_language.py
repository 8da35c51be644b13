"""Language detection: the codes a recipe names, and no text that it cannot take."""

import pyarrow as pa
import pycld2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.text import language

ENGLISH = "The weather in London was better than anybody had expected that morning. "
FRENCH = "Le temps à Londres était meilleur que tout le monde ne l'avait prévu ce matin-là. "
HEBREW = "מזג האוויר בלונדון היה טוב יותר ממה שכולם ציפו באותו בוקר. "
TRADITIONAL = "那天早上倫敦的天氣比所有人預期的都要好，我們非常高興。"
SIMPLIFIED = "那天早上伦敦的天气比所有人预期的都要好，我们非常高兴。"
REFUSED = [
    *(*range(0x09), 0x0B, *range(0x0E, 0x20), *range(0x7F, 0xA0), *range(0xFDD0, 0xFDF0)),
    *(plane << 16 | end for plane in range(17) for end in (0xFFFE, 0xFFFF)),
]


def test_each_text_has_a_code_and_the_share_in_that_language() -> None:
    codes, shares = language.detect(pa.array([ENGLISH * 3, FRENCH * 3], pa.large_string()))
    assert codes.to_pylist() == ["en", "fr"]
    assert codes.type == pa.string()
    assert shares.type == pa.int32()
    assert all(950_000 <= share <= 1_000_000 for share in shares.to_pylist())


def test_a_text_in_two_languages_has_the_share_of_the_larger_one() -> None:
    code, share = language.detect_one(ENGLISH * 12 + FRENCH * 6)
    assert code == "en"
    assert 550_000 <= share <= 750_000


@pytest.mark.parametrize(("text", "code"), [(HEBREW * 2, "he"), (TRADITIONAL * 2, "zh"), (SIMPLIFIED * 2, "zh")])
def test_codes_are_those_of_iso_639(text: str, code: str) -> None:
    assert language.detect_one(text)[0] == code


def test_both_chinese_scripts_count_as_one_language() -> None:
    code, share = language.detect_one(TRADITIONAL * 10 + "\n" + SIMPLIFIED * 10)
    assert (code, share >= 950_000) == ("zh", True)


def test_no_code_of_cld2_is_left_that_names_no_language() -> None:
    codes = {language.iso_code(code) for _, code in pycld2.LANGUAGES}
    assert {code for code in codes if not (code.isalpha() and code.islower() and 2 <= len(code) <= 3)} == set()
    assert codes.isdisjoint({"un", "xxx", "iw", "jw", "bh", "zzb", "zze", "zzh", "zzp"})


@pytest.mark.parametrize("text", ["", " \n", "12345 67890", "hi", "\x00", "§§§ ### 404"])
def test_what_has_no_language_is_undetermined_with_share_zero(text: str) -> None:
    assert language.detect_one(text) == ("und", 0)


@pytest.mark.parametrize("point", REFUSED, ids=hex)
def test_a_code_point_that_cld2_refuses_does_not_hide_the_language(point: int) -> None:
    with pytest.raises(pycld2.error):
        pycld2.detect(ENGLISH + chr(point))
    assert language.detect_one(ENGLISH + chr(point) + ENGLISH)[0] == "en"


def test_markup_is_text_here() -> None:
    assert language.detect_one(f"<p title='{FRENCH * 3}'>hm</p>")[0] == "fr"


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_has_an_answer_and_the_same_one_twice(text: str) -> None:
    code, share = language.detect_one(text)
    assert 0 <= share <= 1_000_000
    assert (code == "und") == (share == 0)
    assert language.detect_one(text) == (code, share)


def test_a_batch_may_be_empty_or_a_slice() -> None:
    assert language.detect(pa.array([], pa.large_string()))[0].to_pylist() == []
    codes, _ = language.detect(pa.array([FRENCH, ENGLISH * 2, FRENCH]).slice(1, 1))
    assert codes.to_pylist() == ["en"]
