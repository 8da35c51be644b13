"""Writes gopher.json: what datatrove's Gopher filters say of texts whose words are whitespace-separated.

Run with datatrove 0.10.1 installed (an environment of its own will do) and CURATION_REAL_DATA set:

    python tests/curation/text/golden/make_gopher.py

The only thing changed in datatrove is the tokenizer: `str.split` instead of spaCy. Of each real document the row in its
file and the filters' reasons are kept (null: kept); of the texts made here, the texts too.
"""

import json
import os
from pathlib import Path

import datatrove.pipeline.filters.gopher_quality_filter as quality
import datatrove.pipeline.filters.gopher_repetition_filter as repetition
import smart_open
from datatrove.data import Document

REAL = {"quality/dclm_human_majority.jsonl": 499, "neardup/planted/corpus.jsonl.zst": 1500}
SENTENCE = "The keeper of the lighthouse climbed two hundred steps that night to have a look with his own eyes. "
MADE = [
    "".join(f"{SENTENCE}It was number {number} of many. " for number in range(9)),
    SENTENCE * 2,
    "\n".join([SENTENCE] * 2 + [f"line {number} to be of the kind and no other" for number in range(12)]),
    "\n\n".join([f"paragraph {number // 2} has its own words to be read and kept" for number in range(12)]),
    "\n".join(f"• point {number} of the list and that is all" for number in range(12)),
    "\n".join(f"the item {number} is to be continued and then …" for number in range(12)),
    "#tag " * 8 + "one of the words and to be " * 10,
    "12 345 6789 " * 10 + "the and of words " * 8,
    " ".join(f"w{number}" for number in range(80)),
    "the and of to be " + " ".join("antidisestablishmentarian" + "abcdefghijklmnopqr"[: n % 17] for n in range(70)),
    " ".join(f"the word{number} and of" for number in range(40)),
    " ".join(f"the cat sat word{number} and of it" for number in range(30)),
]


def main() -> None:
    """Write the file beside this one."""
    quality.split_into_words = repetition.split_into_words = lambda text, language: text.split()
    filters = (repetition.GopherRepetitionFilter(), quality.GopherQualityFilter())

    def reasons(text: str) -> list[str | None]:
        said = [one.filter(Document(text=text, id="")) for one in filters]
        return [None if answer is True else answer[1] for answer in said]

    real = {}
    for name, rows in REAL.items():
        with smart_open.open(f"{os.environ['CURATION_REAL_DATA']}/{name}", "rt", encoding="utf-8") as file:
            real[name] = [reasons(json.loads(line)["text"]) for line, _ in zip(file, range(rows), strict=False)]
    made = [{"text": text, "reasons": reasons(text)} for text in MADE]
    found = {"made_with": "datatrove 0.10.1, words by str.split", "made": made, "real": real}
    Path(__file__).with_name("gopher.json").write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
