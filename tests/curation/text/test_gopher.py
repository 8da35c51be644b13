"""The profile `gopher` against datatrove's two filters on the same words, and each difference that is meant.

golden/make_gopher.py says how golden/gopher.json was made. On 1,999 real documents the verdicts differ for 16, each for
one of the causes below:

- stop words count in any case and between punctuation (`The`, `of.`), as the paper's prose has it; datatrove compares
  whole words in lower case, so `The` is none
- words without a letter or digit, such as a ruled line, count as words; datatrove leaves them out of the count and of
  the mean length. It must, because its own words are spaCy's, which split punctuation off
- lines and paragraphs are compared without the whitespace around them, and blank ones are none; datatrove compares them
  as they are and counts an empty first and last one
- six more bullets than datatrove's • and -
- shares of characters in repeated lines and paragraphs are of the characters in lines, not of all with line ends
- a run of words that occurs once does not repeat; datatrove counts it, which a text of a few words never survives
- runs of words are equal if their words are; datatrove joins words without a space, so `ab c` equals `a bc`
- shares are compared in parts per million
"""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import smart_open

from curation.filtering import Evidence, judge
from curation.profiles import Profile
from curation.text import signals

GOLDEN: dict[str, Any] = json.loads(Path(__file__).with_name("golden").joinpath("gopher.json").read_text("utf-8"))
# (file, row) -> why the verdict differs from datatrove's
DIFFERENT = {
    **{("neardup/planted/corpus.jsonl.zst", row): "stop words" for row in (49, 258, 307, 315, 704, 877, 1340, 1485)},
    **{("neardup/planted/corpus.jsonl.zst", row): "ruled lines" for row in (191, 244, 335, 375, 958, 1360)},
    ("quality/dclm_human_majority.jsonl", 7): "bullets",
    ("quality/dclm_human_majority.jsonl", 200): "stop words",
}
# datatrove's reason -> the columns that may speak for it
COLUMNS = {
    "dup_line_frac": {"duplicate_line_ppm"},
    "dup_line_char_frac": {"duplicate_line_character_ppm"},
    "dup_para_frac": {"duplicate_paragraph_ppm"},
    "dup_para_char_frac": {"duplicate_paragraph_character_ppm"},
    **{f"top_{n}_gram": {f"top_{n}_gram_ppm"} for n in (2, 3, 4)},
    **{f"duplicated_{n}_n_grams": {f"duplicate_{n}_gram_ppm"} for n in range(5, 11)},
    "gopher_short_doc": {"words"},
    "gopher_long_doc": {"words"},
    "gopher_below_avg_threshold": {"mean_word_length_milli"},
    "gopher_above_avg_threshold": {"mean_word_length_milli"},
    "gopher_too_many_hashes": {"symbol_word_ppm"},
    "gopher_too_many_ellipsis": {"symbol_word_ppm"},
    "gopher_too_many_bullets": {"bullet_line_ppm"},
    "gopher_too_many_end_ellipsis": {"ellipsis_line_ppm"},
    "gopher_below_alpha_threshold": {"alphabetic_word_ppm"},
    "gopher_enough_stop_words": {"stop_words"},
}


def failed(texts: list[str]) -> list[set[str]]:
    """Return the columns of all thresholds of the profile that each text fails."""
    measured = signals.compute(pa.array(texts, pa.large_string()))
    hints = pa.array([""] * len(texts))
    found: list[set[str]] = [set() for _ in texts]
    whole = Profile(like="gopher")
    for rule in (*whole.length, *whole.signals):
        one = Profile.model_validate({"signals": {rule.name: rule.limit}})
        for row, verdict in enumerate(judge(one, Evidence(measured, hints)).to_pylist()):
            if verdict["fate"] == "drop":
                found[row].add(rule.column)
    return found


def test_texts_made_for_each_rule_fall_by_the_rule_that_datatrove_names() -> None:
    for columns, entry in zip(failed([e["text"] for e in GOLDEN["made"]]), GOLDEN["made"], strict=True):
        reasons = [reason for reason in entry["reasons"] if reason]
        assert bool(columns) == bool(reasons), entry
        assert all(columns & COLUMNS[reason] for reason in reasons), entry


@pytest.mark.parametrize("name", GOLDEN["real"])
def test_real_documents_get_the_verdicts_of_datatrove_but_for_the_listed_ones(name: str) -> None:
    if not (real := os.environ.get("CURATION_REAL_DATA")):
        pytest.skip("CURATION_REAL_DATA is not set")
    expected = GOLDEN["real"][name]
    with smart_open.open(f"{real}/{name}", "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line, _ in zip(file, expected, strict=False)]
    other = [
        row
        for row, (columns, reasons) in enumerate(zip(failed(texts), expected, strict=True))
        if bool(columns) != any(reasons)
    ]
    assert other == sorted(row for file_name, row in DIFFERENT if file_name == name)


def test_a_recipe_names_the_profile_and_overrides_single_thresholds() -> None:
    own = Profile.model_validate({"like": "gopher", "signals": {"min_stop_words": 3}, "length": {"min_tokens": 9}})
    limits = {rule.name: rule.limit for rule in (*own.length, *own.signals)}
    assert (limits["min_stop_words"], limits["min_words"], limits["min_tokens"]) == (3, 50, 9)
    assert Profile.model_validate_json(own.model_dump_json()) == own
    with pytest.raises(ValueError, match="there are: gopher"):
        Profile(like="goffer")
