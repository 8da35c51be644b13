"""Deduplication by other people's tools, each as its documentation shows it, at the same bands and rows.

    python dedup_peers.py SYSTEM FOLDER BANDS ROWS

Reads FOLDER/texts.parquet (datatrove: FOLDER/documents.jsonl) and reports the rows it would remove. None of them
compares texts exactly: what shares a bucket, or is estimated to be as similar, goes.
"""

import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
from measured import finish

THRESHOLD = 0.8
_SPACES = re.compile(r"[\x00-\x20]+")
_BATCH = 500


def _texts(folder: Path) -> list[str]:
    texts: list[str] = pq.read_table(folder / "texts.parquet", use_threads=False)["text"].to_pylist()
    return texts


def _grams(text: str) -> set[bytes]:
    words = [word for word in _SPACES.split(text.lower()) if word]
    return {" ".join(words[i : i + 5]).encode() for i in range(max(1, len(words) - 4))} if words else set()


def datasketch(folder: Path, bands: int, rows: int) -> list[int]:
    """Python 5-grams, `MinHash.update_batch`, and `MinHashLSH` asked before each document is inserted."""
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(num_perm=bands * rows, params=(bands, rows))
    removed = []
    for row, text in enumerate(_texts(folder)):
        minhash = MinHash(num_perm=bands * rows)
        grams = _grams(text)
        if not grams:
            continue
        minhash.update_batch(list(grams))
        if index.query(minhash):
            removed.append(row)
        else:
            index.insert(str(row), minhash, check_duplication=False)
    return removed


def rensa(folder: Path, bands: int, rows: int) -> list[int]:
    """Python 5-grams, `RMinHash.from_token_sets` over batches, and `RMinHashLSH` asked before each insertion."""
    from rensa import RMinHash, RMinHashLSH

    index = RMinHashLSH(THRESHOLD, bands * rows, bands)
    texts, removed = _texts(folder), []
    for start in range(0, len(texts), _BATCH):
        sets = [_grams(text) for text in texts[start : start + _BATCH]]
        for row, minhash in enumerate(RMinHash.from_token_sets(sets, bands * rows, 42), start):
            if not sets[row - start]:
                continue
            if index.query(minhash):
                removed.append(row)
            else:
                index.insert(row, minhash)
    return removed


def gaoya(folder: Path, bands: int, rows: int) -> list[int]:
    """Everything in Rust on one thread: insert all, ask for all; a row goes if an earlier kept one is found."""
    from gaoya.minhash import MinHashStringIndex

    texts = _texts(folder)
    index = MinHashStringIndex(32, THRESHOLD, bands, rows, None, "word", True, (5, 5))
    index.par_bulk_insert_docs(list(range(len(texts))), texts)
    removed = set[int]()
    for row, found in enumerate(index.par_bulk_query(texts)):
        if any(other < row and other not in removed for other in found):
            removed.add(row)
    return sorted(removed)


def text_dedup(folder: Path, bands: int, rows: int) -> list[int]:
    """text-dedup's method in its own terms: xxh32, numpy over uint64, a table per band, union to the first."""
    import numpy as np
    import xxhash

    prime, largest = np.uint64((1 << 61) - 1), np.uint64((1 << 32) - 1)
    random = np.random.RandomState(42)
    a = random.randint(1, int(prime), bands * rows, dtype=np.uint64)
    b = random.randint(0, int(prime), bands * rows, dtype=np.uint64)
    tables: list[dict[bytes, list[int]]] = [defaultdict(list) for _ in range(bands)]
    texts = _texts(folder)
    for row, text in enumerate(texts):
        words = [word for word in re.split(r"\W", text.lower()) if word]
        grams = {" ".join(words[i : i + 5]).encode() for i in range(len(words) - 4)}
        if not grams:
            continue
        hashed = np.fromiter((xxhash.xxh32_intdigest(gram) for gram in grams), np.uint64, len(grams))
        minima = (((hashed[:, None] * a + b) % prime) & largest).min(axis=0).astype(np.uint32)
        for band, table in enumerate(tables):
            table[minima[band * rows : (band + 1) * rows].tobytes()].append(row)
    return _united(len(texts), (bucket for table in tables for bucket in table.values()))


def _united(count: int, buckets: Iterator[Sequence[int]]) -> list[int]:
    parents = list(range(count))

    def root(row: int) -> int:
        while parents[row] != row:
            row = parents[row] = parents[parents[row]]
        return row

    for bucket in buckets:
        for row in bucket[1:]:
            low, high = sorted((root(bucket[0]), root(row)))
            parents[high] = low
    return [row for row in range(count) if root(row) != row]


def datatrove(folder: Path, bands: int, rows: int, words: Any = None) -> list[int]:
    """The four MinHash stages of its example, one worker; `words` replaces its tokenizer."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline import dedup
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    config = dedup.MinhashConfig(n_grams=5, num_buckets=bands, hashes_per_bucket=rows)
    at = folder / f"datatrove-{os.getpid()}"
    read = JsonlReader(str(folder), glob_pattern="documents.jsonl")
    signatures = dedup.MinhashDedupSignature(str(at / "signatures"), config)
    signatures.word_tokenizer = words or signatures.word_tokenizer
    gone = JsonlWriter(str(at / "removed"), compression=None)
    stages: list[tuple[list[Any], int]] = [
        ([read, signatures], 1),
        ([dedup.MinhashDedupBuckets(str(at / "signatures"), str(at / "buckets"), config=config)], bands),
        ([dedup.MinhashDedupCluster(str(at / "buckets"), str(at / "remove"), config=config)], 1),
        ([read, dedup.MinhashDedupFilter(str(at / "remove"), exclusion_writer=gone)], 1),
    ]
    for number, (pipeline, tasks) in enumerate(stages):
        LocalPipelineExecutor(pipeline, tasks=tasks, workers=1, logging_dir=str(at / f"logs-{number}")).run()
    lines = [line for path in sorted((at / "removed").glob("*")) for line in path.read_text().splitlines()]
    return sorted(int(json.loads(line)["id"]) for line in lines)


def datatrove_whitespace(folder: Path, bands: int, rows: int) -> list[int]:
    """The same with words between spaces, so that the tokenizer does not decide."""
    return datatrove(folder, bands, rows, SimpleNamespace(word_tokenize=str.split))


SYSTEMS: dict[str, Callable[[Path, int, int], list[int]]] = {
    "datasketch": datasketch,
    "rensa": rensa,
    "gaoya": gaoya,
    "text-dedup's method": text_dedup,
    "datatrove, whitespace words": datatrove_whitespace,
    "datatrove": datatrove,
}

if __name__ == "__main__":
    finish(SYSTEMS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
