"""Published rules as profiles: what `profile = "gopher"` and `like = "gopher"` mean.

The numbers are those of the papers; the definitions of the signals they stand on are in `schemas.tables`, and
docs/signals.md lists where they differ from the reference implementation on purpose.
"""

from collections.abc import Mapping
from typing import Any

# Rae et al. 2021 (arXiv 2112.11446), A.1.1 and table A1; shares in parts per million
GOPHER: Mapping[str, Any] = {
    "length": {"min_words": 50, "max_words": 100_000},
    "signals": {
        "min_mean_word_length_milli": 3_000,
        "max_mean_word_length_milli": 10_000,
        "max_symbol_word_ppm": 100_000,
        "max_bullet_line_ppm": 900_000,
        "max_ellipsis_line_ppm": 300_000,
        "min_alphabetic_word_ppm": 800_000,
        "min_stop_words": 2,
        "max_duplicate_line_ppm": 300_000,
        "max_duplicate_line_character_ppm": 200_000,
        "max_duplicate_paragraph_ppm": 300_000,
        "max_duplicate_paragraph_character_ppm": 200_000,
        "max_top_2_gram_ppm": 200_000,
        "max_top_3_gram_ppm": 180_000,
        "max_top_4_gram_ppm": 160_000,
        "max_duplicate_5_gram_ppm": 150_000,
        "max_duplicate_6_gram_ppm": 140_000,
        "max_duplicate_7_gram_ppm": 130_000,
        "max_duplicate_8_gram_ppm": 120_000,
        "max_duplicate_9_gram_ppm": 110_000,
        "max_duplicate_10_gram_ppm": 100_000,
    },
}

PUBLISHED: Mapping[str, Mapping[str, Any]] = {"gopher": GOPHER}


def merged(name: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules of a published profile with `own` on top: what `own` says of a threshold holds.

    Raises:
        ValueError: there is no such published profile.
    """
    if name not in PUBLISHED:
        raise ValueError(f"there is no published profile {name}; there are: {', '.join(sorted(PUBLISHED))}")
    base = PUBLISHED[name]
    rules = {key: {**base[key], **own.get(key, {})} for key in ("length", "signals")}
    return {**own, **rules}
