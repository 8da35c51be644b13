"""The paper's nine tasks as questions to a language model: texts to go on from, and ways to go on, one of them right.

The wording is that of lm-evaluation-harness, with which a test compares; for HANS, which it lacks, that of its nearest
kin, and RACE asks each question by itself. No text of a benchmark stands here.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from curation.shards.errors import RecipeError

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """One example of a task.

    Attributes:
        contexts: what stands before each choice; mostly the same for all.
        choices: how each could go on, after a blank. One alone is to be guessed word for word, not chosen.
        right: number of the right choice.
    """

    contexts: tuple[str, ...]
    choices: tuple[str, ...]
    right: int

    @property
    def solved(self) -> str:
        """The example with its answer, as it stands before another one."""
        return f"{self.contexts[self.right]} {self.choices[self.right]}"


class Unanswered(RecipeError):
    """A record without the label, or a field, that its task needs."""


Prompt = Callable[[Record, Any], Question]


def question(layout: str, record: Record, label: Any = None) -> Question:
    """Return the question that a record of a format asks; `label` is its answer where a file of its own holds it.

    Raises:
        Unanswered: the record lacks something; the message names what.
    """
    try:
        return PROMPTS[layout](record, label)
    except (KeyError, ValueError, IndexError, TypeError, AttributeError) as error:
        missing = f"field {error}" if isinstance(error, KeyError) else "a field or label that its task needs"
        raise Unanswered(f"lacks {missing}") from None


def _asked(context: str, choices: tuple[str, ...], right: int) -> Question:
    if not 0 <= right < len(choices):
        raise ValueError(right)
    return Question((context,) * len(choices), choices, right)


def _lambada(record: Record, label: Any) -> Question:
    context, word = record["text"].rsplit(" ", 1)
    return _asked(context, (word,), 0)


def _race(record: Record, label: Any) -> Question:
    context = f"Article: {record['article']}\n\nQuestion: {record['question']}\nAnswer:"
    answer = record["answer"] if label is None else label
    return _asked(context, tuple(record["options"]), "ABCD".index(answer))


def _boolq(record: Record, label: Any) -> Question:
    context = f"{record['passage']}\nQuestion: {record['question']}?\nAnswer:"
    return _asked(context, ("no", "yes"), _truth(_label(record, label, "label", "answer")))


def _piqa(record: Record, label: Any) -> Question:
    context = f"Question: {record['goal']}\nAnswer:"
    return _asked(context, (record["sol1"], record["sol2"]), int(_label(record, label, "label")))


def _hellaswag(record: Record, label: Any) -> Question:
    context = f"{record['activity_label']}: {record['ctx_a']} {record['ctx_b'].capitalize()}"
    endings = tuple(map(_without_brackets, record["endings"]))
    return _asked(_without_brackets(context), endings, int(_label(record, label, "label")))


def _without_brackets(text: str) -> str:
    """Remove what WikiHow's pages left in square brackets."""
    return re.sub(r"\[.*?\]", "", text.strip().replace(" [title]", ". ")).replace("  ", " ")


def _winogrande(record: Record, label: Any) -> Question:
    before, after = record["sentence"].split("_", 1)
    contexts = (before + record["option1"], before + record["option2"])
    right = int(_label(record, label, "answer")) - 1
    if right not in (0, 1):
        raise ValueError(right)
    return Question(contexts, (after.strip(),) * 2, right)


def _anli(record: Record, label: Any) -> Question:
    premise, hypothesis = _either(record, "context", "premise"), _either(record, "hypothesis", "statement")
    context = f"{premise}\nQuestion: {hypothesis} True, False, or Neither?\nAnswer:"
    found = _label(record, label, "label", "gold_label")
    right = found if isinstance(found, int) else "enc".index(found[:1])
    return _asked(context, ("True", "Neither", "False"), right)


def _hans(record: Record, label: Any) -> Question:
    premise, hypothesis = _either(record, "sentence1", "premise"), _either(record, "sentence2", "hypothesis")
    context = f"{premise}\nQuestion: {hypothesis} True or False?\nAnswer:"
    found = _label(record, label, "gold_label", "label")
    right = found if isinstance(found, int) else ("entailment", "non-entailment").index(found)
    return _asked(context, ("True", "False"), right)


def _wic(record: Record, label: Any) -> Question:
    word = record["sentence1"][record["start1"] : record["end1"]] if "start1" in record else record["word"]
    context = (
        f"Sentence 1: {record['sentence1']}\nSentence 2: {record['sentence2']}\n"
        f"Question: Is the word '{word}' used in the same way in the two sentences above?\nAnswer:"
    )
    return _asked(context, ("no", "yes"), _truth(_label(record, label, "label")))


def _label(record: Record, label: Any, *names: str) -> Any:
    return _either(record, *names) if label is None else label


def _either(record: Record, *names: str) -> Any:
    """Return the first of the fields that the record has: one thing goes by several names."""
    return record[next((name for name in names if name in record), names[0])]


def _truth(label: Any) -> int:
    if isinstance(label, str):
        return {"t": 1, "true": 1, "1": 1, "f": 0, "false": 0, "0": 0}[label.lower()]
    return int(label)


PROMPTS: dict[str, Prompt] = {
    "lambada": _lambada,
    "race": _race,
    "boolq": _boolq,
    "piqa": _piqa,
    "hellaswag": _hellaswag,
    "winogrande": _winogrande,
    "anli": _anli,
    "hans": _hans,
    "wic": _wic,
}
"""How each format of `curation.decontamination.benchmarks` is asked."""
