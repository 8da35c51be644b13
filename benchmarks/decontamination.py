"""The matcher beside lm-eval's Janitor and datatrove's filter: speed, and which documents they find.

    CURATION_REAL_DATA=FOLDER python benchmarks/decontamination.py [--peers PYTHON] [--json]

The texts and tasks are those of `decontamination_golden`: 1,983 documents with planted benchmark texts, and the output
of the tool that made MT-NLG's corpus. F1 is over documents: those that a system changes against those that the tool
changed. Speed is megabytes of text per CPU-second of one thread, over one half of the documents after a pass over the
other. A second row of ours loads all benchmarks there are, and a third puts the annotate scan beside it. `--peers`
names a Python that has `lm_eval` and `datatrove` (with spacy); without it only ours is measured.
"""

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from curation.decontamination import Mode
from curation.decontamination.benchmarks import Benchmark, read
from curation.decontamination.index import Index, build
from curation.decontamination.matcher import find
from curation.dedup.bands import band_keys
from curation.dedup.exact import content_hash
from curation.dedup.minhash import affine32, signatures
from curation.dedup.shingles import shingle
from curation.text import language, signals

FIELDS = {
    **{"lambada": "text", "squad": "question", "natural_questions": "question.text", "triviaqa": "question"},
    **{"webqa": "question", "race": "question", "drop": "question", "piqa": "goal"},
}
EVALUATIONS = (
    "lambada/lambada_test.jsonl",
    "race.sample1000.jsonl",
    "boolq.val.jsonl",
    "piqa/tests.jsonl",
    "hellaswag.sample1000.jsonl",
    "anli/ANLI_analysis_r1_dev.csv",
    "anli/ANLI_analysis_r2_dev.csv",
    "anli/ANLI_analysis_r3_dev.csv",
    "wic.val.jsonl",
)


def lines_of(path: Path) -> list[Any]:
    """Return the records of a file of JSON lines, compressed or not."""
    data = pa.input_stream(str(path)).read() if path.suffix == ".zst" else path.read_bytes()
    return [json.loads(line) for line in data.split(b"\n") if line]


def index_of(files: Sequence[Benchmark], mode: Mode) -> Index:
    """Return the index of some files."""
    return build([e for file in files for e in read(file, _opened, mode)], mode)


def _opened(path: str) -> BinaryIO:
    return Path(path).open("rb")


def cpu_seconds(work: Callable[[list[str]], Any], texts: list[str]) -> float:
    """Return the CPU-seconds of the work on every second text, after a call with the others."""
    work(texts[1::2])
    started = time.process_time()
    work(texts[::2])
    return time.process_time() - started


def megabytes(texts: Sequence[str]) -> float:
    """Return the size of every second text."""
    return sum(len(text.encode()) for text in texts[::2]) / 1e6


def f1(changed: set[int], expected: set[int]) -> dict[str, float]:
    """Return precision, recall and F1 over documents."""
    both = len(changed & expected)
    scores = {"precision": both / max(1, len(changed)), "recall": both / len(expected)}
    return {**scores, "F1": 2 * both / (len(changed) + len(expected))}


def scan(texts: list[str]) -> None:
    """Do what annotate does but for quality and matches."""
    array = pa.array(texts, pa.large_string())
    language.detect(array)
    content_hash(array)
    signals.compute(array)
    band_keys(signatures(shingle(array), affine32(260)), 20, 13)


def ours(texts: list[str], expected: set[int], real: Path) -> list[dict[str, Any]]:
    """Return the rows of this project."""
    golden = [
        Benchmark(path=str(real / "decontamination_golden/tasks" / f"{task}.jsonl"), task=task, fields=(field,))
        for task, field in FIELDS.items()
    ]
    evaluations = [Benchmark(path=str(real / "bench" / name)) for name in EVALUATIONS]
    indexes = {
        "paper": index_of(golden, "paper"),
        "extended": index_of(golden, "extended"),
        "paper, the evaluations of MT-NLG": index_of(evaluations, "paper"),
        "extended, the evaluations of MT-NLG": index_of(evaluations, "extended"),
    }
    rows: list[dict[str, Any]] = []
    for name, index in indexes.items():
        seconds = cpu_seconds(lambda texts, index=index: find(pa.array(texts, pa.large_string()), index), texts)  # type: ignore[misc]
        found = set(find(pa.array(texts, pa.large_string()), index)["row"].to_pylist())
        scores = {} if "evaluations" in name else f1(found, expected)
        rows += _rows(f"ours ({name}; {len(index.ngrams):,} n-grams)", megabytes(texts) / seconds, scores)
    rows += _rows("annotate without matches", megabytes(texts) / cpu_seconds(scan, texts), {})
    return rows


def _rows(system: str, speed: float, scores: dict[str, float]) -> list[dict[str, Any]]:
    rows = [{"system": system, "metric": "speed", "value": round(speed, 2), "unit": "MB per CPU-second"}]
    return rows + [{"system": system, "metric": name, "value": round(v, 4), "unit": ""} for name, v in scores.items()]


PEERS = """
import json, sys, time, importlib.util, contextlib, io
from pathlib import Path
import numpy as np
job = json.load(sys.stdin)
texts, tasks = job["texts"], job["tasks"]

def measured(name, touched):
    touched(texts[1::2])
    started = time.process_time()
    touched(texts[::2])
    seconds = time.process_time() - started
    return {"system": name, "seconds": seconds, "changed": touched(texts)}

def janitor():
    root = importlib.util.find_spec("lm_eval").submodule_search_locations[0]
    place = importlib.util.spec_from_file_location("janitor", Path(root) / "decontamination/janitor.py")
    module = importlib.util.module_from_spec(place)
    with contextlib.redirect_stdout(sys.stderr), contextlib.redirect_stderr(io.StringIO()):
        place.loader.exec_module(module)
    cleaner = module.Janitor()
    for text in tasks:
        cleaner.register_contaminant_python(text)
    return lambda texts: [row for row, text in enumerate(texts) if cleaner.clean_python(text) != [text]]

def datatrove():
    from datatrove.data import Document
    from datatrove.pipeline.decont.n_grams import NGramsDecontConfig, NGramsDecontFilter
    from datatrove.utils.text import ngrams, simplify_text
    config = NGramsDecontConfig(find_query_ngrams=True)
    filter = NGramsDecontFilter(job["folder"], config, language="en")
    filter._index_hashes = {}
    for text in tasks:  # what its indexer does with a query; it can only be run with lighteval's datasets
        words = filter.tokenizer.word_tokenize(simplify_text(text, config.norm_config))
        for ngram in ngrams(words, config.n_grams):
            filter._index_hashes[filter.hash_func(" ".join(ngram))] = "task"
    return lambda texts: [r for r, t in enumerate(texts) if filter.filter(Document(text=t, id=str(r))) is not True]

print(json.dumps([measured(name, make()) for name, make in (("Janitor", janitor), ("datatrove", datatrove))]))
"""


def peers(python: str, texts: list[str], expected: set[int], real: Path) -> list[dict[str, Any]]:
    """Return the rows of the peers, each loaded with the texts that our index is made of."""
    tasks: list[str] = []
    for task, field in FIELDS.items():
        path = str(real / "decontamination_golden/tasks" / f"{task}.jsonl")
        file = Benchmark(path=path, task=task, fields=(field,))
        tasks += [text for example in read(file, _opened, "paper") for text in example.texts]
    job = json.dumps({"texts": texts, "tasks": tasks, "folder": str(real / "decontamination_golden")})
    done = subprocess.run([python, "-c", PEERS], input=job, stdout=subprocess.PIPE, text=True, check=True)
    rows: list[dict[str, Any]] = []
    for peer in json.loads(done.stdout.splitlines()[-1]):
        rows += _rows(peer["system"], megabytes(texts) / peer["seconds"], f1(set(peer["changed"]), expected))
    return rows


def main() -> None:
    """Print a table, or JSON rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter that has lm_eval, datatrove and spacy")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    real = Path(os.environ.get("CURATION_REAL_DATA", ""))
    golden = real / "decontamination_golden"
    if not golden.is_dir():
        raise SystemExit("set CURATION_REAL_DATA to the folder that holds decontamination_golden and bench")
    documents = lines_of(golden / "corpus.jsonl.zst")
    theirs: dict[str, list[str]] = {}
    for row in lines_of(golden / "output_nothreshold.jsonl.zst"):
        theirs.setdefault(row["id"], []).append(row["text"])
    texts = [document["text"] for document in documents]
    expected = {row for row, d in enumerate(documents) if theirs.get(d["id"]) != [d["text"]]}
    rows = ours(texts, expected, real)
    if options.peers:
        rows += peers(options.peers, texts, expected, real)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{len(texts):,} documents, {2 * megabytes(texts):.1f} MB; the tool changed {len(expected):,}")
    for row in rows:
        print(f"{row['system']:62} {row['metric']:10} {row['value']:>10,.3f} {row['unit']}")


if __name__ == "__main__":
    main()
