"""Texts that try what normalisation and shingling decide on: separators, case, scripts, lengths."""

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

SEPARATORS = [" ", "\t", "\n", "\r\n", "\x00", "\x1f", "  ", " \n\n "]
NOT_SEPARATORS = ["\x7f", "\x85", "\u00a0", "\u2003", "\u200b", "\u2028", "\u3000"]
WORDS = [
    "the",
    "The",
    "THE",
    "é",
    "É",
    "ß",
    "Ⱥ",
    "İ",
    "Σ",
    "日本語",
    "ไทย",
    "🎈",
    "a" * 7,
    "b" * 8,
    "c" * 9,
    "d" * 16,
    "x" * 70,
]

pieces = st.lists(st.sampled_from(SEPARATORS + NOT_SEPARATORS + WORDS) | st.text(max_size=3), max_size=30)
texts = pieces.map("".join)
batches = st.lists(texts, max_size=8)


def as_slice(values: list[str], large: bool) -> pa.Array:
    """The values as a slice of a longer array, so that its offset is not 0."""
    kind = pa.large_string() if large else pa.string()
    return pa.array(["before it", *values, "after it"], kind).slice(1, len(values))


def words_of(text: str) -> list[str]:
    """The definition of a word, once more, in plain Python."""
    lowered = pc.utf8_lower(pa.scalar(text)).as_py()
    for code in range(0x20):
        lowered = lowered.replace(chr(code), " ")
    return [word for word in lowered.split(" ") if word]
