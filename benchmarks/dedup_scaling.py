"""How our deduplication grows: CPU-seconds, bytes shuffled and the driver's memory at several sizes. Linux.

    .venv/bin/python benchmarks/dedup_scaling.py --data FOLDER [--json] [--documents 20000 80000 320000]

FOLDER is as for dedup.py. A corpus is the planted one and, beyond it, documents made from it by seeded edits: 40 % are
copies with up to 4 % of their words replaced, their originals drawn by a power law, so that clusters of every size come
about; the others are a planted document with its words in another order, which resembles nothing. Quality is measured
by dedup.py; here nothing is compared with anything.
"""

import argparse
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dedup_ours
import numpy as np
from dedup import texts_of
from measured import measure

HERE = Path(__file__).parent
COPIES = 0.4
MOST_EDITED = 0.04
PLANTED = 20_000


def enlarged(planted: Sequence[str], documents: int) -> Iterator[str]:
    """Yield the planted texts and then edits of them, the same for any larger number of documents."""
    yield from planted[:documents]
    random = np.random.default_rng(1)
    words = [text.split(" ") for text in planted]
    for _ in range(documents - len(planted)):
        if random.random() < COPIES:
            text = list(words[int(random.zipf(1.3)) % len(words)])
            edits = int(random.random() * MOST_EDITED * len(text))
            for place in random.integers(0, len(text), edits).tolist():
                text[place] = f"e{random.integers(1 << 30)}"
        else:
            text = list(words[random.integers(len(words))])
            random.shuffle(text)
        yield " ".join(text)


def measured(texts: Iterator[str], options: argparse.Namespace) -> dict[str, float]:
    """Run our jobs over the texts; return what they took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "documents.jsonl").open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        dedup_ours.write_recipes(folder, options.bands, options.rows, options.threshold, "greedy")
        program = [sys.executable, str(HERE / "dedup_ours.py")]
        measure([*program, "prepare", str(folder)])
        job = measure([*program, "job", str(folder)])
        found = dedup_ours.verified_pairs(folder)
    return {
        "cpu_seconds": job.cpu_seconds,
        "wall_seconds": job.wall_seconds,
        "peak_mib": job.peak_mib,
        "driver_mib": job.result["driver_mib"],
        "band_bytes": 16.0 * job.result["band_rows"],
        "candidates": job.result["candidates"],
        "largest_component": job.result["largest_component"],
        "verified_pairs": found,
    }


def rows_of(sizes: Sequence[int], found: Sequence[dict[str, float]]) -> Iterator[dict[str, Any]]:
    """Yield what was measured, and how the CPU of one step compares with that of the step before."""
    for documents, numbers in zip(sizes, found, strict=True):
        yield from (_row(documents, name, value) for name, value in numbers.items())
        yield _row(documents, "band_bytes a document", numbers["band_bytes"] / documents)
        yield _row(documents, "driver_mib allowed", 300 + 24 * numbers["verified_pairs"] / 2**20)
    slopes = [
        (after["cpu_seconds"] - before["cpu_seconds"]) / (larger - smaller) * 1e6
        for (smaller, larger), (before, after) in zip(itertools.pairwise(sizes), itertools.pairwise(found), strict=True)
    ]
    for documents, slope in zip(sizes[1:], slopes, strict=True):
        yield _row(documents, "cpu_microseconds of one more document", slope)
    for (before, after), documents in zip(itertools.pairwise(slopes), sizes[2:], strict=False):
        yield _row(documents, "ratio to the step before", after / before)


def _row(documents: int, metric: str, value: float) -> dict[str, Any]:
    return {"documents": documents, "metric": metric, "value": round(value, 3)}


def main() -> None:
    """Print a table, or JSON rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    real = os.environ.get("CURATION_REAL_DATA")
    default = Path(real) / "neardup/planted" if real else None
    parser.add_argument("--data", type=Path, default=default, required=default is None)
    parser.add_argument("--documents", type=int, nargs="+", default=[20_000, 80_000, 320_000])
    parser.add_argument("--bands", type=int, default=20)
    parser.add_argument("--rows", type=int, default=13)
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    planted = texts_of(options.data, PLANTED)
    found = []
    for documents in sorted(options.documents):
        found.append(measured(enlarged(planted, documents), options))
        print(f"{documents:,}: {found[-1]}", file=sys.stderr)
    rows = list(rows_of(sorted(options.documents), found))
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['documents']:>9,}  {row['metric']:42} {row['value']:>16,.3f}")


if __name__ == "__main__":
    main()
