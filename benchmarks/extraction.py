"""Main-text extractors on pages whose main text is known: quality, and pages per CPU-second.

    CURATION_REAL_DATA=FOLDER .venv/bin/python benchmarks/extraction.py [--json]

`trafilatura_eval`: 180 pages with strings that the main text must and must not hold; precision, recall and F1 over
strings. `readability`: 130 pages with the article a browser's reader view shows; F1 over words as multisets, averaged
over pages. The sandbox row is the fastest extractor through the child process that ingest uses: its cost per page.
"""

import argparse
import json
import os
import resource
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trafilatura
from resiliparse.extract.html2text import extract_plain_text

from curation.sources.units import Record, UnitError
from curation.text.extract import decode_markup, extract, language_of_markup
from curation.text.pipeline import document_text
from curation.text.sandbox import Sandbox

Extract = Callable[[str], str]


def extractors() -> dict[str, Extract]:
    """Return every extractor and mode by name."""
    return {
        "justext": lambda page: extract(page, "justext", language_of_markup(page)),
        "resiliparse": lambda page: extract(page, "resiliparse"),
        "resiliparse, all text": lambda page: extract_plain_text(page, main_content=False),
        "trafilatura": lambda page: extract(page, "trafilatura"),
        "trafilatura, fast": lambda page: trafilatura.extract(page, include_comments=False, fast=True) or "",
    }


def texts_of(work: Extract, pages: list[str]) -> tuple[list[str], float]:
    """Return the text of each page, and pages per CPU-second; what cannot be parsed has none."""
    work(pages[0])
    started = time.process_time()
    texts = [_text(work, page) for page in pages]
    return texts, len(pages) / (time.process_time() - started)


def _text(work: Extract, page: str) -> str:
    try:
        return work(page)
    except UnitError:
        return ""


def snippet_scores(texts: list[str], cases: list[dict[str, Any]]) -> tuple[float, float, float]:
    """Return precision, recall and F1 over strings that must and must not appear."""
    found = missed = wrong = 0
    for text, case in zip(texts, cases, strict=True):
        hits = sum(snippet in text for snippet in case["with"])
        found, missed = found + hits, missed + len(case["with"]) - hits
        wrong += sum(snippet in text for snippet in case["without"])
    precision, recall = found / max(found + wrong, 1), found / max(found + missed, 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def word_f1(text: str, expected: str) -> float:
    """Return the F1 of the words of two texts, as multisets."""
    ours, theirs = Counter(text.split()), Counter(expected.split())
    common = (ours & theirs).total()
    return 2 * common / max(ours.total() + theirs.total(), 1)


def sandbox_row(pages: list[str]) -> dict[str, Any]:
    """Return CPU-milliseconds per page of resiliparse in this process and through the sandbox, its start apart."""
    records = [Record(0, "", 0, len(page), page, "html") for page in pages]
    started = time.process_time()
    for record in records:
        document_text(record, extract="resiliparse", repair=False)
    alone = time.process_time() - started
    start = _sandboxed(records[:1])
    through = _sandboxed([records[0], *records]) - start
    names = ("alone_ms_per_page", "sandboxed_ms_per_page")
    figures = {name: round(1000 * s / len(pages), 3) for name, s in zip(names, (alone, through), strict=True)}
    return {**figures, "start_ms": round(1000 * start)}


def _sandboxed(records: list[Record]) -> float:
    """Return CPU-seconds of both processes."""
    before = _used()
    with Sandbox(30) as sandbox:
        sandbox.document_texts([(record, {"extract": "resiliparse", "repair": False}) for record in records])
    return _used() - before


def _used() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, kinds))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folder = Path(os.environ["CURATION_REAL_DATA"]) / "webpages"
    cases = list(json.loads((folder / "trafilatura_eval/snippets.json").read_text()).values())
    pages = [decode_markup((folder / "trafilatura_eval/html" / case["file"]).read_bytes()).text for case in cases]
    articles = sorted((folder / "readability").glob("*/source.html"))
    sources = [decode_markup(path.read_bytes()).text for path in articles]
    expected = [
        extract_plain_text(path.with_name("expected.html").read_text("utf-8"), main_content=False, alt_texts=False)
        for path in articles
    ]
    rows = []
    for name, work in extractors().items():
        texts, speed = texts_of(work, pages)
        precision, recall, f1 = snippet_scores(texts, cases)
        read, _ = texts_of(work, sources)
        words = sum(map(word_f1, read, expected)) / len(expected)
        scores = {"precision": precision, "recall": recall, "f1": f1, "readability_f1": words}
        rows.append(
            {"extractor": name, **{k: round(v, 3) for k, v in scores.items()}, "pages_per_cpu_second": round(speed)}
        )
    sandbox = sandbox_row(pages)
    if options.json:
        print(json.dumps({"extractors": rows, "sandbox": sandbox}))
        return
    for row in rows:
        print(
            f"{row['extractor']:24} P {row['precision']:.3f}  R {row['recall']:.3f}  F1 {row['f1']:.3f}  "
            f"readability {row['readability_f1']:.3f}  {row['pages_per_cpu_second']:>5} pages/CPU-s"
        )
    print("resiliparse, CPU-ms: " + ", ".join(f"{name} {value}" for name, value in sandbox.items()))


if __name__ == "__main__":
    main()
