"""Choices are ranked by the model's own likelihoods, whatever the length of the prompt before them."""

import numpy as np
import pytest

from curation.shards.tokenizer import TokenizerSpec, load
from trainer.prompts import Question
from trainer.ranking import Outcome, Scored, ask, prompt, shots_for, summary

WINDOW = 12


@pytest.fixture(scope="module")
def tokenizer():
    return load(TokenizerSpec(builtin="gpt2"), lambda path: b"")


class Even:
    """A model that gives every token a loss of 1 and holds every token likeliest; it keeps the rows it was given."""

    def __init__(self):
        self.rows = []

    def __call__(self, rows):
        self.rows += rows
        return [Scored(np.ones(len(row) - 1), np.ones(len(row) - 1, np.bool_)) for row in rows]


def test_a_choice_is_scored_by_its_own_tokens_alone(tokenizer):
    asked = Question(("a b c",) * 2, ("yes", "no, not at all in any way"), 0)
    (outcome,) = ask([asked], lambda number: [], tokenizer, WINDOW, Even())
    assert outcome == Outcome(correct=True, correct_normalised=False, loss=1.0)


def test_a_prompt_longer_than_the_window_loses_its_beginning(tokenizer):
    model = Even()
    asked = Question(("word " * 50 + "end",), ("yes",), 0)
    ask([asked], lambda number: [], tokenizer, WINDOW, model)
    assert len(model.rows[0]) == WINDOW + 1
    assert tokenizer.decode(model.rows[0]).endswith(" word end yes")


def test_blanks_at_the_end_of_a_context_go_to_the_choice(tokenizer):
    model = Even()
    (outcome,) = ask([Question(("so ",), ("on",), 0)], lambda number: [], tokenizer, WINDOW, model)
    assert model.rows[0].tolist() == tokenizer.encode_batch(["so  on"]).ids.tolist()
    assert outcome.loss == len(model.rows[0]) - 1


def test_an_empty_context_is_an_end_of_document(tokenizer):
    model = Even()
    ask([Question(("",), ("on",), 0)], lambda number: [], tokenizer, WINDOW, model)
    assert model.rows[0].tolist() == [tokenizer.eod, *tokenizer.encode_batch([" on"]).ids.tolist()]


def test_solved_examples_stand_before_the_question():
    shots = [Question(("Q1:",) * 2, ("a", "b"), 1), Question(("Q2:",), ("c",), 0)]
    asked = Question(("Q3 x", "Q3 y"), ("d", "d"), 0)
    assert prompt(asked, shots, 1) == "Q1: b\n\nQ2: c\n\nQ3 y"


def test_no_question_is_its_own_example():
    solved = [Question((str(number),), ("x",), 0) for number in range(5)]
    for row in range(5):
        for count in (0, 1, 3, 9):
            shots = shots_for(row, count, solved, own=True)
            assert len(shots) == min(count, 4)
            assert solved[row] not in shots
            assert len({shot.contexts for shot in shots}) == len(shots)


def test_questions_take_different_examples_of_another_file():
    solved = [Question((str(number),), ("x",), 0) for number in range(5)]
    taken = [tuple(shot.contexts[0] for shot in shots_for(row, 2, solved, own=False)) for row in range(3)]
    assert taken == [("0", "1"), ("2", "3"), ("4", "0")]


def test_a_summary_counts_what_there_is():
    assert summary([]).accuracy is None
    score = summary([Outcome(True, False, 1.0), Outcome(False, True, 3.0), Outcome(True, True, 2.0)])
    assert (score.questions, score.accuracy, score.accuracy_normalised) == (3, 2 / 3, 2 / 3)
    assert score.perplexity == pytest.approx(np.e**2)
    assert summary([Outcome(False, None, 1e4)]).perplexity == np.inf
