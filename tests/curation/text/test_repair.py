"""Repair: equal to ftfy on everything, faster on what is clean, and able to say what it did."""

import json
import os
import random
from pathlib import Path

import ftfy
import pytest
from ftfy.badness import MOJIBAKE_CATEGORIES
from hypothesis import example, given, settings
from hypothesis import strategies as st

from curation.text.repair import KINDS, repair

# The characters that ftfy's expression for mojibake is made of, and others that its fixers act on.
SUSPICIOUS = "".join(MOJIBAKE_CATEGORIES.values()) + "×à√≈‚Äò†[âó]ä°êвЂВГРСўΒΓΞΟβ€āÃÂŒœØÙŸ£žŽ–—´"
ORDINARY = "aAzZe bC.,?! \n\r\t&;#<>0123[]()'\"\x00\x1b\x7f"
OTHER = (
    "漢字かなｶﾞＡＢ！，　＆；＃ａ‘’‚‛“”„‟ʼ\u0301\u0327ﬁﬃĲǅŉ"
    "\u2028\u2029\x85\ufeff\ufffd\ufff9\u206a한하\u212b\ud800\udc00😀"
)
WORDS = ["&amp;", "&eacute;", "&EACUTE;", "&#233;", "&lt;", "\r\n", "<b>", "â€™", "Ã©", "voilà ", "\x1b[31m", "’s "]
texts = st.lists(st.one_of(st.sampled_from(SUSPICIOUS + ORDINARY + OTHER), st.sampled_from(WORDS)), max_size=30)


@settings(max_examples=1500, deadline=None)
@given(texts.map("".join))
@example("a\n&amp;\n<b>\n&amp; Ã©")
@example("＆amp; &ａmp;")
@example("e\u0301 ｅ\u0301")
def test_repair_gives_what_ftfy_gives(text: str) -> None:
    assert repair(text).text == ftfy.fix_text(text)


@settings(max_examples=300, deadline=None)
@given(st.text(SUSPICIOUS + ORDINARY, max_size=15), st.sampled_from(["cp1252", "latin-1", "cp1251", "mac-roman"]))
def test_repair_gives_what_ftfy_gives_on_text_decoded_wrongly(text: str, charset: str) -> None:
    wrong = text.encode("utf-8").decode(charset, "replace")
    assert repair(wrong).text == ftfy.fix_text(wrong)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_repaired_text_can_be_encoded(text: str) -> None:
    repair(text).text.encode("utf-8")


def test_lines_longer_than_ftfys_limit_are_split_where_ftfy_splits_them() -> None:
    long = "x" * 999_999
    for text in (long + "\r\n" + "é", long + "e\u0301", long + "Ã©", "<" + long + "&amp;", long + "&amp;" + long + "<"):
        assert repair(text).text == ftfy.fix_text(text)


def test_clean_text_comes_out_unchanged_and_unexamined(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("ftfy was asked")

    monkeypatch.setattr(ftfy, "fix_and_explain", never)
    for text in (
        "Plain English, with\nlines & signs.",
        "“Curly,” said they — it’s 5 €.",
        "Le café créé à Noël",
        "Это русский текст, и он чист.",
        "漢字とかな。",
        "",
    ):
        assert repair(text).text == text.translate(str.maketrans("“”’", '""\''))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("clean", ()),
        ("it’s", ("quote",)),
        ("a\r\nb", ("line_break",)),
        ("a\x00b", ("control_character",)),
        ("a\ud800b", ("surrogate",)),
        ("ﬁne", ("ligature",)),
        ("Ａ", ("width",)),
        ("e\u0301", ("composition",)),
        ("&eacute;", ("entity",)),
        ("\x1b[31mred", ("terminal_escape",)),
        ("sÃ³", ("mojibake",)),
        ("it’s sÃ³\x00", ("control_character", "mojibake", "quote")),
    ],
)
def test_what_was_repaired_is_named(text: str, kinds: tuple[str, ...]) -> None:
    assert repair(text).kinds == kinds
    assert set(kinds) <= set(KINDS)


@pytest.fixture
def real_files() -> Path:
    folder = os.environ.get("CURATION_REAL_DATA")
    if not folder:
        pytest.skip("CURATION_REAL_DATA is not set")
    return Path(folder)


def test_real_mojibake_is_repaired_wherever_ftfy_repairs_it(real_files: Path) -> None:
    cases = json.loads((real_files / "encoding/mojibake_cases.json").read_text("utf-8"))
    wrong = [case for case in cases if repair(case["original"]).text != ftfy.fix_text(case["original"])]
    mended = sum(repair(case["original"]).text == case["fixed"] for case in cases if case["expect"] == "pass")
    assert not wrong
    assert mended >= 100


def test_real_files_come_out_as_from_ftfy(real_files: Path) -> None:
    paths = [*sorted(real_files.glob("sources/novels/*.txt"))[:2], real_files / "encoding/blns/blns.txt"]
    random_state = random.Random(7)
    pages = sorted(real_files.glob("webpages/debian_docs/debian-faq-*/*.html"))
    for path in paths + random_state.sample(pages, 12):
        text = path.read_bytes().decode("utf-8", "replace")[:200_000]
        assert repair(text).text == ftfy.fix_text(text), path.name
