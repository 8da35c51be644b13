"""Each task asks in the words that others use, and finds its answer however its file writes it."""

import pytest

from curation.shards.errors import RecipeError
from tests.trainer.examples import RECORDS
from trainer.prompts import PROMPTS, question

RACE = {"article": "A.", "question": "Q?", "options": ["a", "b", "c", "d"], "answer": "C"}


def test_every_format_of_the_paper_has_a_prompt_and_examples():
    assert set(PROMPTS) == set(RECORDS)


@pytest.mark.parametrize(
    ("layout", "record", "context", "choices", "right"),
    [
        ("lambada", {"text": "one two three"}, "one two", ("three",), 0),
        ("race", RACE, "Article: A.\n\nQuestion: Q?\nAnswer:", ("a", "b", "c", "d"), 2),
        (
            "boolq",
            {"passage": "P.", "question": "is it", "answer": True},
            "P.\nQuestion: is it?\nAnswer:",
            ("no", "yes"),
            1,
        ),
        ("piqa", {"goal": "g", "sol1": "x", "sol2": "y", "label": 1}, "Question: g\nAnswer:", ("x", "y"), 1),
        (
            "anli",
            {"context": "C.", "hypothesis": "H.", "label": "n"},
            "C.\nQuestion: H. True, False, or Neither?\nAnswer:",
            ("True", "Neither", "False"),
            1,
        ),
        (
            "hans",
            {"sentence1": "S.", "sentence2": "T.", "gold_label": "non-entailment"},
            "S.\nQuestion: T. True or False?\nAnswer:",
            ("True", "False"),
            1,
        ),
    ],
)
def test_a_record_becomes_its_question(layout, record, context, choices, right):
    asked = question(layout, record)
    assert (set(asked.contexts), asked.choices, asked.right) == ({context}, choices, right)


def test_hellaswag_drops_what_stands_in_brackets():
    asked = question("hellaswag", RECORDS["hellaswag"][1])
    assert asked.contexts[0] == "Gardening: How to prune roses. Clean the shears."
    assert asked.choices[1] == "Wipe the blades with spirit. Dry them."


def test_winogrande_fills_the_gap_and_asks_for_the_rest():
    asked = question("winogrande", RECORDS["winogrande"][0])
    assert asked.contexts[0].endswith("because the jar")
    assert set(asked.choices) == {"was too tall."}
    assert asked.solved == "The jar would not fit in the box because the jar was too tall."


@pytest.mark.parametrize(("label", "right"), [(True, 1), ("F", 0), ("true", 1), (0, 0)])
def test_truth_is_read_as_files_write_it(label, right):
    assert question("wic", {**RECORDS["wic"][0], "label": label}).right == right


def test_a_label_from_a_file_of_its_own_counts():
    bare = {"goal": "g", "sol1": "x", "sol2": "y"}
    assert question("piqa", bare, "1").right == 1


@pytest.mark.parametrize(
    ("layout", "record"),
    [
        ("piqa", {"goal": "g", "sol1": "x", "sol2": "y"}),
        ("piqa", {"goal": "g", "sol1": "x", "sol2": "y", "label": 2}),
        ("winogrande", {**RECORDS["winogrande"][0], "answer": "3"}),
        ("winogrande", {**RECORDS["winogrande"][0], "sentence": "no gap"}),
        ("race", {**RACE, "answer": None}),
        ("lambada", {"text": "word"}),
        ("anli", {"context": "C.", "hypothesis": "H."}),
    ],
)
def test_a_record_without_its_answer_is_refused(layout, record):
    with pytest.raises(RecipeError, match="lacks"):
        question(layout, record)
