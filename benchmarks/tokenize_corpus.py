"""From corpus to Megatron pair: our whole job against its tokenizer library alone, datatrove, and Megatron's method.

    .venv/bin/python benchmarks/tokenize_corpus.py [--json] [--texts FOLDER …] [--megabytes 48]
        [--datatrove PYTHON] [--megatron PYTHON]

Each contender is a process of its own, which reads the same documents and is charged for everything: its start, its
imports, its children. The library alone is charged for encoding texts in memory and nothing else. Our job stands there
twice: charged for the task alone, since Spark's workers serve many tasks, and with its start, as the others are.

PYTHON is the interpreter of an environment with datatrove, or with megatron-core, torch and tokenizers; a contender
without one is left out. Megatron's script is no part of its package, so its method is written out here: a pool of one
worker encodes JSON lines, 32 at a time and in order, with Hugging Face's tokenizers, and IndexedDatasetBuilder takes
the ids.
"""

import argparse
import json
import os
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from curation.parts import Part, PartWriter, part_from_json
from curation.shards.pairs import Group, PairTask, text_batches, tokenizer_of, write_pairs
from curation.shards.tokenizer import TokenizerSpec, _definition
from schemas.tables import CORPUS

SPEC = TokenizerSpec(builtin="gpt2")
ROOT = Path(__file__).parents[1]
_SUFFIXES = (".txt", ".md", ".rst", ".py", ".jsonl")

DATATROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer
folder, out = sys.argv[1:]
steps = [
    JsonlReader(folder, glob_pattern="texts.jsonl", compression=None),
    DocumentTokenizer(out, tokenizer_name_or_path=folder + "/tokenizer.json", eos_token="<|endoftext|>",
                      shuffle_documents=False, save_filename="tokens"),
]
LocalPipelineExecutor(pipeline=steps, tasks=1, workers=1, logging_dir=out + "/logs").run()
"""

MEGATRON = """
import json, multiprocessing, sys
import numpy, torch
from tokenizers import Tokenizer
from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder
folder, out = sys.argv[1:]

def start():
    global tokenizer, eod
    tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    eod = tokenizer.token_to_id("<|endoftext|>")

def encode(line):
    ids = tokenizer.encode(json.loads(line)["text"], add_special_tokens=False).ids
    ids.append(eod)
    return ids, [len(ids)], len(line)

if __name__ == "__main__":
    builder = IndexedDatasetBuilder(out + "/pair.bin", dtype=numpy.uint16)
    with open(folder + "/texts.jsonl", encoding="utf-8") as lines, multiprocessing.Pool(1, start) as pool:
        for ids, lengths, size in pool.imap(encode, lines, 32):
            builder.add_document(ids, lengths)
        pool.close()
        pool.join()
    builder.finalize(out + "/pair.idx")
"""


def main() -> int:
    """Measure every contender that there is an interpreter for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", nargs="+", default=[sysconfig.get_path("stdlib")], help="folders of text files")
    parser.add_argument("--megabytes", type=int, default=48, help="text at most; no text is taken twice")
    parser.add_argument("--datatrove", metavar="PYTHON")
    parser.add_argument("--megatron", metavar="PYTHON")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_CHILDREN[options.child[0]](options.child[1])))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        prepare(options.texts, folder, options.megabytes * 1_000_000)
        rows = list(contenders(folder, options))
    report(rows, options.json)
    return 0


def prepare(folders: list[str], folder: str, size: int) -> None:
    """Write the same documents as a corpus part and as JSON lines, with the tokenizer.json of GPT-2."""
    written = 0
    with (
        PartWriter(folder, "assemble", "corpus", "texts") as writer,
        open(f"{folder}/texts.jsonl", "w", encoding="utf-8") as lines,
    ):
        for number, text in enumerate(documents(folders)):
            if written >= size:
                break
            writer.write(_row(number, text))
            lines.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
            written += len(text.encode())
    Path(folder, "part.json").write_text(json.dumps(writer.part({"source": "texts"}).to_json()))
    definition = _definition(SPEC, lambda path: b"") | {"truncation": None, "padding": None, "normalizer": None}
    Path(folder, "tokenizer.json").write_text(json.dumps(definition))


def documents(folders: list[str]) -> Iterator[str]:
    """Yield texts of files, none twice: a tokenizer that has met a text before is faster on it."""
    seen: set[bytes] = set()
    for path in sorted(path for folder in folders for path in Path(folder).rglob("*") if path.suffix in _SUFFIXES):
        try:
            content = path.read_text("utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        texts = (
            [json.loads(line).get("text", "") for line in content.split("\n") if line]
            if path.suffix == ".jsonl"
            else [content]
        )
        for text in texts:
            digest = sha256(text.encode()).digest()
            if text and digest not in seen:
                seen.add(digest)
                yield text


def _row(number: int, text: str) -> pa.RecordBatch:
    known = {"doc_id": number, "doc_key": number * 0x9E3779B97F4A7C15 % 2**64, "text": text, "metadata": "{}"}
    values = {field.name: known.get(field.name, "" if pa.types.is_string(field.type) else 0) for field in CORPUS}
    return pa.RecordBatch.from_pylist([values], schema=CORPUS)


def contenders(folder: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield name, tokens, CPU-seconds and peak memory of each contender."""
    ours = [sys.executable, __file__, "--child"]
    library, job = measure("library", [*ours, "library", folder]), measure("job", [*ours, "job", folder])
    library["cpu_s"] = library["encoding_cpu_s"]
    yield from (library, job | {"cpu_s": job["task_cpu_s"]}, job | {"name": "job, start"})
    for name, python, code in (("datatrove", options.datatrove, DATATROVE), ("megatron", options.megatron, MEGATRON)):
        if python:
            script, out = Path(folder, f"with_{name}.py"), Path(folder, name)
            script.write_text(code)
            out.mkdir()
            yield {"tokens": job["tokens"], **measure(name, [python, str(script), folder, str(out)])}


def measure(name: str, command: list[str]) -> dict[str, Any]:
    """Return what a process printed as JSON, if it did, with the CPU-seconds and memory of it and its children."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    read, write = os.pipe()
    files = [(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_CLOSE, read)]
    started = time.monotonic()
    process = os.posix_spawn(command[0], command, variables, file_actions=files)
    os.close(write)
    with os.fdopen(read) as stream:
        said = stream.read().strip().split("\n")[-1]
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{name}: ended with status {status}")
    told = json.loads(said) if said.startswith("{") else {}
    cpu, wall = usage.ru_utime + usage.ru_stime, time.monotonic() - started
    return {"name": name, "cpu_s": cpu, "wall_s": wall, "peak_mb": usage.ru_maxrss * 1024 / 1e6, **told}


def library_alone(folder: str) -> dict[str, float]:
    """Encode the corpus from memory."""
    tokenizer = tokenizer_of(SPEC, folder)
    batches = [batch["text"].to_pylist() for batch in text_batches(folder, [_part(folder)])]
    started = time.process_time()
    tokens = sum(len(tokenizer.encode_batch(batch).ids) + len(batch) for batch in batches)
    return {"tokens": tokens, "encoding_cpu_s": time.process_time() - started}


def whole_job(folder: str) -> dict[str, float]:
    """Write the pair as a task of the job does, in a worker that has its tokenizer already."""
    tokenizer_of(SPEC, folder)
    started = time.process_time()
    group = Group("texts", 0, (_part(folder),))
    commit = write_pairs(PairTask(folder, group, "0" * 32, SPEC, folder, 1, 0.02))
    sidecars = [part.facts["sidecar"] for part in commit.parts if part.table == "bin"]
    return {"tokens": sum(sidecar["tokens"] for sidecar in sidecars), "task_cpu_s": time.process_time() - started}


_CHILDREN = {"library": library_alone, "job": whole_job}


def _part(folder: str) -> Part:
    return part_from_json(json.loads(Path(folder, "part.json").read_text()))


def report(rows: list[dict[str, Any]], as_json: bool) -> None:
    """Print the contenders, and how the job stands to each."""
    job = next(row for row in rows if row["name"] == "job")
    for row in rows:
        row["mtok_per_cpu_s"] = row["tokens"] / row["cpu_s"] / 1e6
    for row in rows:
        row["job_is_times"] = job["mtok_per_cpu_s"] / row["mtok_per_cpu_s"]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{job['tokens']:,} tokens")
    for row in rows:
        speed = f"{row['cpu_s']:8.2f} CPU-s {row['mtok_per_cpu_s']:8.2f} Mtok/CPU-s"
        print(f"{row['name']:10} {speed} {row['peak_mb']:8.0f} MB   job: {row['job_is_times']:.2f} x")


if __name__ == "__main__":
    sys.exit(main())
