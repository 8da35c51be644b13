"""Which texts of an example protect it: the evaluations of MT-NLG, each in the layout of its original file.

`paper` takes one text per example and no options, as MT-NLG's tool did; `extended` takes these and more. A passage
that quotes a source of the corpus (BoolQ's are Wikipedia's) protects in no mode unless the recipe names its field.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from curation.decontamination import Mode
from curation.decontamination.records import WrongFile, values

Texts = Callable[[dict[str, Any], Mode], list[str]]


def _no_texts(record: dict[str, Any], mode: Mode) -> list[str]:
    return []


@dataclass(frozen=True)
class Layout:
    """How a benchmark's records look: sets of keys that tell it from others, and the texts that protect a record."""

    texts: Texts = _no_texts
    signatures: tuple[frozenset[str], ...] = ()
    columns: tuple[str, ...] = ()  # of tables without a header
    unfold: Callable[[dict[str, Any]], list[dict[str, Any]]] = lambda record: [record]  # a record with several examples


def _one(record: dict[str, Any], *names: str) -> str:
    """Return the text of the first of the fields that the record has: one thing goes by several names."""
    texts = values(record, next((name for name in names if name in record), names[0]))
    if len(texts) != 1:
        raise WrongFile(f"field {names[0]!r} is not one text")
    return texts[0]


def _joined(firsts: list[str], seconds: list[str]) -> Iterator[str]:
    return (f"{a} {b}" for a, b in product(firsts, seconds))


def _lambada(record: dict[str, Any], mode: Mode) -> list[str]:
    return [_one(record, "text")]


def _race_questions(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Take apart an article with its lists of questions and of options, as published."""
    if "questions" not in record:
        return [record]
    questions, options = record["questions"], record.get("options", [])
    if not isinstance(questions, list) or not isinstance(options, list) or len(questions) != len(options):
        raise WrongFile("fields 'questions' and 'options' are not lists of one length")
    article = _one(record, "article")
    answers = record.get("answers")
    if not isinstance(answers, list) or len(answers) != len(questions):
        answers = [None] * len(questions)  # nobody needs them to protect the questions
    return [
        {"question": question, "options": choices, "article": article, "answer": answer}
        for question, choices, answer in zip(questions, options, answers, strict=True)
    ]


def _race(record: dict[str, Any], mode: Mode) -> list[str]:
    question = _one(record, "question")
    if mode == "paper":
        return [question]
    return [question, _one(record, "article"), *_joined([question], values(record, "options"))]


def _boolq(record: dict[str, Any], mode: Mode) -> list[str]:
    return [_one(record, "question")]


def _piqa(record: dict[str, Any], mode: Mode) -> list[str]:
    goal = _one(record, "goal")
    if mode == "paper":
        return [goal]
    return [goal, *_joined([goal], [_one(record, "sol1"), _one(record, "sol2")])]


def _hellaswag(record: dict[str, Any], mode: Mode) -> list[str]:
    context = _one(record, "ctx")
    return [context] if mode == "paper" else [context, *_joined([context], values(record, "endings"))]


def _winogrande(record: dict[str, Any], mode: Mode) -> list[str]:
    sentence = _one(record, "sentence")
    if mode == "paper":
        return [sentence]
    return [sentence, *(sentence.replace("_", _one(record, option), 1) for option in ("option1", "option2"))]


def _pair(first: tuple[str, ...], second: tuple[str, ...]) -> Texts:
    """Return the rule of two texts, each by itself and, extended, joined."""

    def texts(record: dict[str, Any], mode: Mode) -> list[str]:
        a, b = _one(record, *first), _one(record, *second)
        return [a, b] if mode == "paper" else [a, b, f"{a} {b}"]

    return texts


NAMED: dict[str, Layout] = {
    "lambada": Layout(_lambada),  # a lone `text` field is anybody's: the name must say it
    "race": Layout(
        _race,
        (frozenset({"article", "questions", "options"}), frozenset({"article", "question", "options"})),
        unfold=_race_questions,
    ),
    "boolq": Layout(
        _boolq,
        (frozenset({"question", "passage", "answer", "title"}), frozenset({"question", "passage", "idx", "label"})),
    ),
    "piqa": Layout(_piqa, (frozenset({"goal", "sol1", "sol2"}),)),
    "hellaswag": Layout(_hellaswag, (frozenset({"ctx", "endings"}),)),
    "winogrande": Layout(_winogrande, (frozenset({"sentence", "option1", "option2"}),)),
    "anli": Layout(
        _pair(("context", "premise"), ("hypothesis", "statement")), (frozenset({"uid", "context", "hypothesis"}),)
    ),
    "hans": Layout(
        _pair(("sentence1", "premise"), ("sentence2", "hypothesis")),
        (frozenset({"gold_label", "heuristic", "sentence1", "sentence2"}),),
    ),
    "wic": Layout(
        _pair(("sentence1",), ("sentence2",)),
        (frozenset({"word", "sentence1", "sentence2"}),),
        columns=("word", "pos", "indices", "sentence1", "sentence2"),
    ),
}
"""The evaluations of MT-NLG by their format's name."""
