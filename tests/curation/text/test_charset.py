"""Charsets: who is believed, and what liars do."""

import json
import os
from pathlib import Path

import pytest

from curation.text.charset import decode_markup, decode_text

FRENCH = "Les élèves où ça coûte déjà très cher, à Noël même."
CHINESE = "这是一个关于简体中文字符的网页。"
META = '<html><head><meta charset="{}"></head><body>'


def page(charset: str, text: str, label: str | None = None) -> bytes:
    return (META.format(label or charset) + text).encode(charset)


def test_a_byte_order_mark_beats_every_declaration() -> None:
    decoded = decode_markup(b"\xef\xbb\xbf" + page("utf-8", FRENCH, "iso-8859-1"), "gbk")
    assert decoded.charset == "utf-8"
    assert decoded.text.startswith("<html>")
    assert FRENCH in decoded.text


def test_the_header_beats_the_meta() -> None:
    assert FRENCH in decode_markup(page("cp1252", FRENCH, "koi8-r"), "iso-8859-1").text


def test_the_meta_beats_detection() -> None:
    decoded = decode_markup(page("koi8-r", "привет мир"))
    assert (decoded.charset, "привет" in decoded.text) == ("koi8-r", True)


@pytest.mark.parametrize("label", ["gb2312", "GBK", "x-gbk", "gb_2312-80"])
def test_labels_are_read_as_browsers_read_them(label: str) -> None:
    decoded = decode_markup(page("gb18030", CHINESE + "㐀", "x"), label)
    assert decoded.charset == "gb18030"
    assert CHINESE + "㐀" in decoded.text


@pytest.mark.parametrize("label", ["rot13", "unicode_escape", "zlib", "utf-7", "idna", "no such", "\0"])
def test_labels_that_are_no_charset_are_not_believed(label: str) -> None:
    assert decode_markup(page("utf-8", FRENCH, "x"), label).charset == "utf-8"


def test_valid_utf8_beats_a_lying_declaration() -> None:
    assert FRENCH in decode_markup(page("utf-8", FRENCH, "iso-8859-1"), "windows-1252").text


def test_two_characters_that_happen_to_be_valid_utf8_stay_what_was_declared() -> None:
    assert decode_markup("联通".encode("gbk"), "gbk").text == "联通"


def test_utf8_with_one_cut_character_stays_utf8() -> None:
    decoded = decode_markup(page("utf-8", FRENCH + CHINESE)[:-1])
    assert (decoded.charset, decoded.replaced) == ("utf-8", 1)


def test_latin1_that_calls_itself_utf8_is_found_out() -> None:
    decoded = decode_markup(page("cp1252", FRENCH * 3, "utf-8"), "utf-8")
    assert decoded.replaced == 0
    assert "élèves" in decoded.text


def test_a_page_that_calls_itself_utf16_in_ascii_letters_is_not() -> None:
    assert FRENCH in decode_markup(page("utf-8", FRENCH, "utf-16")).text
    assert FRENCH in decode_markup(page("utf-8", FRENCH, "x"), "utf-16").text


def test_utf16_with_a_mark_or_a_true_header_is_read() -> None:
    assert decode_text(FRENCH.encode("utf-16")).text == FRENCH
    assert decode_text(FRENCH.encode("utf-16-le"), "utf-16le").text == FRENCH


def test_no_bytes_make_decoding_fail() -> None:
    for content in (b"", b"\xff", b"\x80\x81" * 50, bytes(range(256)), b"\xff\xfe\x00"):
        decode_markup(content).text.encode()
        decode_text(content, "shift_jis").text.encode()


def test_real_pages_hold_the_strings_that_their_collectors_expect() -> None:
    if not os.environ.get("CURATION_REAL_DATA"):
        pytest.skip("CURATION_REAL_DATA is not set")
    folder = Path(os.environ["CURATION_REAL_DATA"]) / "warc/warc2zim/encodings"
    seen = 0
    for entry in json.loads((folder / "definition.json").read_text())["files"]:
        path = folder / entry["filename"]
        if path.exists():
            seen += 1
            text = decode_markup(path.read_bytes(), entry.get("http_charset")).text
            assert all(expected in text for expected in entry["expected_strings"]), entry["filename"]
    assert seen == 3
