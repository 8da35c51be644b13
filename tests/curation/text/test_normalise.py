"""The compiled normaliser equals the one in Python on every text, wherever it is cut."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.text.normalise import head, normalise, normalise_all

pieces = st.sampled_from(
    [
        *(
            "__label__",
            "__label__positive",
            "__LABEL__",
            "_",
            "__",
            "label",
            "</s>",
            "</S>",
            "<",
            "/s>",
            "\0",
            "Σ",
            "İ",
        ),
        *(".", "...", "…", "-", "—", "“", "'", "’", "Ⓐ", "$", "a_b"),
        *(" ", "\n", "\u00a0", "\u2028", "The", "CAT", "Ⱥ", "ẞ", "É", "e\u0301", "🙂", "𐐀", "日本", "naïve"),
    ]
)
texts = st.one_of(st.text(max_size=60), st.lists(pieces, max_size=30).map("".join))


@settings(deadline=None)
@given(st.lists(texts, max_size=6), st.integers(1, 80))
def test_all_texts_become_what_each_becomes_in_python(batch: list[str], max_bytes: int) -> None:
    found = normalise_all(pa.array(batch, pa.string()), max_bytes)
    assert found == [normalise(head(text, max_bytes)) for text in batch]


def test_every_code_point_is_lowered_as_python_does() -> None:
    everything = [f"A{chr(point)}B" for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
    assert normalise_all(pa.array(everything), 100) == [normalise(text) for text in everything]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_slice_is_normalised_like_the_same_texts_alone(kind: pa.DataType) -> None:
    assert normalise_all(pa.array(["not this", "É </s> x", "", "NOR"], kind).slice(1, 2), 99) == ["é < / s > x", ""]
