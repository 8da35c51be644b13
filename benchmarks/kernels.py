"""The parts that set the speed, against the libraries whose results they reproduce, on the demo's documents.

    .venv/bin/python benchmarks/kernels.py [--json] [--work build/demo/work] [--documents 4000]

One process, one thread, CPU-seconds over one half of the texts after a pass over the other half, so that neither
compilation nor a cache of earlier results counts. Each pair of rows does the same work; where results can be compared
they are, and a difference ends the benchmark.
"""

import argparse
import json
import re
import resource
import time
from collections.abc import Callable
from typing import Any

import ftfy
import numpy as np
import pyarrow as pa
from datasketch import MinHash

from curation.dedup.minhash import affine32, signatures
from curation.dedup.shingles import Shingles, shingle
from curation.latest import read_latest
from curation.parts import read_batches
from curation.shards.backends import Tiktoken, choose
from curation.shards.tokenizer import TokenizerSpec, _definition
from curation.text.repair import repair

PERMUTATIONS = 260


def texts_of(work: str, documents: int) -> list[str]:
    """Return texts from all sources of a finished run, evenly."""
    parts = read_latest(work).manifests["ingest"].parts("documents")
    each = max(1, documents // len(parts))
    found: list[str] = []
    for part in parts:
        batch = next(read_batches(work, part, ["text"], each))
        found += [text for text in batch["text"].to_pylist() if 0 < len(text) < 200_000]
    return found


def cpu_seconds(work: Callable[[list[str]], Any], texts: list[str]) -> tuple[float, Any]:
    """Return the CPU-seconds of the work on every second text, and its result, after a call with the others."""
    work(texts[1::2])
    started = time.process_time()
    result = work(texts[::2])
    return time.process_time() - started, result


def minhash_rows(texts: list[str]) -> list[dict[str, Any]]:
    """Word 5-grams to 260 minima: ours, and datasketch 2 over Python's own 5-grams."""
    permutations = affine32(PERMUTATIONS)

    def mine(texts: list[str]) -> Any:
        return signatures(shingle(pa.array(texts, pa.large_string())), permutations)

    def theirs(texts: list[str]) -> None:
        for text in texts:
            words = re.split(r"[\x00-\x20]+", text.lower())
            grams = {" ".join(words[i : i + 5]).encode() for i in range(max(1, len(words) - 4))}
            MinHash(num_perm=PERMUTATIONS).update_batch(list(grams))

    ours, _ = cpu_seconds(mine, texts)
    peer, _ = cpu_seconds(theirs, texts)
    _same_signatures(pa.array(texts[:200], pa.large_string()), permutations)
    return _pair("MinHash signatures", "datasketch 2.0", ours, peer, texts)


def _same_signatures(array: pa.Array, permutations: Any) -> None:
    """datasketch, given our shingle hashes, must find our minima."""
    shingles = shingle(array)
    found = signatures(shingles, permutations)
    for row in range(len(array)):
        own = _of_document(shingles, row)
        minhash = MinHash(num_perm=PERMUTATIONS, hashfunc=lambda value: value)
        minhash.update_batch([int(value >> np.uint64(32)) for value in own])
        if len(own) and not np.array_equal(minhash.hashvalues, found[row]):
            raise SystemExit(f"document {row}: the signature is not datasketch's")


def _of_document(shingles: Shingles, row: int) -> Any:
    return shingles.hashes[shingles.offsets[row] : shingles.offsets[row + 1]]


def repair_rows(texts: list[str]) -> list[dict[str, Any]]:
    """Repair of Unicode: ours, and ftfy itself."""
    ours, mine = cpu_seconds(lambda texts: [repair(text).text for text in texts], texts)
    peer, theirs = cpu_seconds(lambda texts: [ftfy.fix_text(text) for text in texts], texts)
    if mine != theirs:
        raise SystemExit("a repaired text is not ftfy's")
    return _pair("repair of Unicode", "ftfy 6.3", ours, peer, texts)


def token_rows(texts: list[str]) -> list[dict[str, Any]]:
    """GPT-2 tokens: the backend in use, and tiktoken."""
    definition = _definition(TokenizerSpec(builtin="gpt2"), lambda path: b"")
    fast, slow = choose(definition), Tiktoken(definition)
    ours, mine = cpu_seconds(fast.encode, texts)
    peer, theirs = cpu_seconds(slow.encode, texts)
    if not np.array_equal(mine.ids, theirs.ids):
        raise SystemExit("token ids are not tiktoken's")
    return _pair(f"GPT-2 tokens ({fast.name})", "tiktoken", ours, peer, texts)


def _pair(metric: str, peer: str, ours_seconds: float, peer_seconds: float, texts: list[str]) -> list[dict[str, Any]]:
    megabytes = sum(len(text.encode()) for text in texts[::2]) / 1e6
    return [
        {"system": system, "metric": name, "value": round(value, 3), "unit": unit}
        for system, seconds in (("ours", ours_seconds), (peer, peer_seconds))
        for name, value, unit in (
            (f"{metric}: cpu_seconds", seconds, "s"),
            (f"{metric}: throughput", megabytes / seconds, "MB per CPU-second"),
        )
    ]


def main() -> None:
    """Print a table, or JSON rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", default="build/demo/work", help="work folder of a finished run")
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    texts = texts_of(options.work, options.documents)
    rows = [*minhash_rows(texts), *repair_rows(texts), *token_rows(texts)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows.append({"system": "all", "metric": "peak memory", "value": round(peak), "unit": "MiB"})
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{len(texts):,} documents, {sum(len(text.encode()) for text in texts) / 1e6:.1f} MB")
    for row in rows:
        print(f"{row['metric']:48} {row['system']:16} {row['value']:>12,.3f} {row['unit']}")


if __name__ == "__main__":
    main()
