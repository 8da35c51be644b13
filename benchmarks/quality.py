"""Signals against datatrove's Gopher pair, and scoring against fastText's own predict, on the same texts in one run.

    .venv/bin/python benchmarks/quality.py CORPUS.jsonl.zst [--datatrove PYTHON] [--documents 4000] [--json]

CORPUS holds JSON lines with `text`. One process, one thread, CPU-seconds after a pass that compiles. datatrove pins
another numpy, so its two rows (its own spaCy words, and whitespace words) come from the interpreter that `--datatrove`
names; without it they are left out. The classifier learns from the corpus itself: its speed is measured, not its sense.
Last, the whole annotate scan over one shard, all four parts; how often the text was read is counted and must be once.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import smart_open

from curation import annotate
from curation.decontamination import index
from curation.decontamination.benchmarks import Example
from curation.dedup.settings import DedupSettings
from curation.parts import write_part
from curation.shards_table import Shard
from curation.text import quality, signals
from schemas.tables import DOCUMENTS

_BATCH = 1_000  # documents, about what a row group holds
_THEIRS = """
import json, sys, time
import datatrove.pipeline.filters.gopher_quality_filter as quality
import datatrove.pipeline.filters.gopher_repetition_filter as repetition
from datatrove.data import Document
from datatrove.utils.text import split_into_words
documents = [Document(text=json.loads(line), id="") for line in open(sys.argv[1], encoding="utf-8")]
filters = (repetition.GopherRepetitionFilter(), quality.GopherQualityFilter())
for name, split in (("spaCy", split_into_words), ("whitespace", lambda text, language: text.split())):
    quality.split_into_words = repetition.split_into_words = split
    filters[0].filter(documents[0])
    some = documents[:500] if name == "spaCy" else documents
    started = time.process_time()
    for document in some:
        for one in filters:
            one.filter(document)
    print(name, len(some) / (time.process_time() - started))
"""


def texts_of(path: str, documents: int) -> list[str]:
    """Return the first texts of the corpus that are not empty."""
    with smart_open.open(path, "rt", encoding="utf-8") as lines:
        return [text for line, _ in zip(lines, range(documents), strict=False) if (text := json.loads(line)["text"])]


def cpu_seconds(work: Callable[[], Any]) -> float:
    """Return the CPU-seconds of one call, after another that compiles."""
    work()
    started = time.process_time()
    work()
    return time.process_time() - started


def signal_rows(texts: list[str], datatrove: str | None) -> list[dict[str, Any]]:
    """Documents per CPU-second of all signals, and of datatrove's two filters."""
    array = pa.array(texts, pa.large_string())
    rows = [_row("ours, all signals", "signals", len(texts) / cpu_seconds(lambda: _measured(array)))]
    if datatrove:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "texts.jsonl")
            path.write_text("".join(json.dumps(text) + "\n" for text in texts), "utf-8")
            command = [datatrove, "-W", "ignore", "-c", _THEIRS, str(path)]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for line in said.splitlines():
            name, speed = line.split()
            rows.append(_row(f"datatrove, Gopher pair, {name} words", "signals", float(speed)))
    return rows


def _measured(array: pa.Array) -> None:
    for start in range(0, len(array), _BATCH):
        signals.compute(array.slice(start, _BATCH))


def model_file(texts: list[str], folder: str) -> Path:
    """Return a classifier that learned to tell every second document of the corpus from the others."""
    path = Path(folder, "model.bin")
    quality.train(((text, number % 2 == 0) for number, text in enumerate(texts)), quality.Parameters(epochs=1), path)
    return path


def score_rows(texts: list[str], model: quality.Model) -> list[dict[str, Any]]:
    """Documents per CPU-second of scoring whole texts, and of raw predict on lines that are normalised already."""
    array, lines = pa.array(texts, pa.large_string()), [quality.prepare(text) for text in texts]
    raw = cpu_seconds(lambda: model.classifier.predict(lines, k=2))
    ours = cpu_seconds(lambda: model.score(array))
    rows = [_row("ours", "scoring", len(texts) / ours), _row("fastText predict", "scoring", len(texts) / raw)]
    return [*rows, {"system": "ours", "metric": "share of raw predict", "value": raw / ours, "unit": ""}]


def scan_rows(texts: list[str], model: Path, folder: str) -> list[dict[str, Any]]:
    """Documents per CPU-second of the annotate scan, all four parts, over one shard; the text is read once."""
    root = str(Path(folder, "work"))
    rows = [_document(number, text) for number, text in enumerate(texts)]
    batches = [pa.RecordBatch.from_pylist(rows[at : at + _BATCH], DOCUMENTS) for at in range(0, len(rows), _BATCH)]
    part = write_part(root, "ingest", "documents", "0", batches, {})
    size = sum(row["text_bytes"] for row in rows)
    shard = Shard("0", "bench", 0, 0, len(rows) - 1, len(rows), size, "key", part)
    table = Path(folder, "index")
    table.write_bytes(index.build([Example("task", 0, (texts[0][:400],))], "paper").to_bytes())
    reads = _count_reads()
    started = time.process_time()
    for turn in ("compiles", "counts"):
        started, reads[:] = time.process_time(), []
        stale = {name: f"{name}-{turn}" for name in annotate.PARTS}
        annotate.scan(annotate.ScanTask(root, shard, stale, DedupSettings(), str(model), str(table)))
    if reads != ["text"]:
        raise SystemExit(f"the text was read {len(reads)} times, not once")
    seconds = time.process_time() - started
    return [
        _row("ours, four parts, text read once", "annotate scan", len(texts) / seconds),
        {"system": "ours", "metric": "annotate scan", "value": size / seconds / 3_000, "unit": "3 kB per CPU-second"},
    ]


def _count_reads() -> list[str]:
    reads: list[str] = []
    real = annotate.read_batches

    def counted(root: str, part: Any, columns: Any = None, *rest: Any, **options: Any) -> Any:
        reads.extend(name for name in columns or ["text"] if name == "text")
        return real(root, part, columns, *rest, **options)

    annotate.read_batches = counted  # type: ignore[assignment]
    return reads


def _document(number: int, text: str) -> dict[str, Any]:
    blank = {f.name: "" if pa.types.is_string(f.type) or pa.types.is_large_string(f.type) else 0 for f in DOCUMENTS}
    own = {"doc_id": number, "doc_key": number, "text": text, "text_bytes": len(text.encode())}
    return {**blank, "text_digest": b"\0" * 16, **own}


def _row(system: str, metric: str, speed: float) -> dict[str, Any]:
    return {"system": system, "metric": metric, "value": round(speed, 1), "unit": "documents per CPU-second"}


def main() -> None:
    """Print a table, or JSON rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--datatrove", metavar="PYTHON", help="an interpreter that has datatrove")
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    texts = texts_of(options.corpus, options.documents)
    with tempfile.TemporaryDirectory() as folder:
        model = model_file(texts, folder)
        rows = signal_rows(texts, options.datatrove)
        rows += score_rows(texts, quality.load(model)) + scan_rows(texts, model, folder)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{len(texts):,} documents of {np.mean([len(text.encode()) for text in texts]):,.0f} bytes")
    for row in rows:
        print(f"{row['metric']:24} {row['system']:40} {row['value']:>12,.2f} {row['unit']}")


if __name__ == "__main__":
    main()
