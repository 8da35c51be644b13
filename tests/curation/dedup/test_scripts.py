"""Texts in scripts without spaces are cut by code points, all others by words."""

import pyarrow as pa
import pytest

from curation.dedup.scripts import written_without_spaces
from curation.dedup.shingles import shingle

BARE = ["ภาษาไทยไม่มีช่องว่าง", "这是一个没有空格的句子", "これは日本語の文です", "ភាសាខ្មែរ", "𠀋𠀌𠀍"]
SPACED = [
    "plain words",
    "слова через пробел",
    "한국어 는 띄어 쓴다",
    "हिन्दी में शब्द",
    "mostly English 这是",
    "",
    "  ",
    "😀 😀",
]


def test_the_script_of_most_letters_decides():
    assert written_without_spaces(pa.array(BARE)).all()
    assert not written_without_spaces(pa.array(SPACED)).any()
    assert written_without_spaces(pa.array(["x", *BARE, "y"]).slice(1, 5)).all()


@pytest.mark.parametrize("hash", ["rolling", "sha1"])
def test_auto_gives_each_text_the_shingles_of_its_unit(hash):
    mixed = [text for pair in zip(BARE, SPACED, strict=False) for text in pair]
    found = shingle(pa.array(mixed), unit="auto", hash=hash)
    for place, text in enumerate(mixed):
        alone = shingle(pa.array([text]), unit="character" if text in BARE else "word", hash=hash)
        assert found.hashes[found.offsets[place] : found.offsets[place + 1]].tolist() == alone.hashes.tolist()
