"""Near-duplicates: our whole job beside other tools, on the same documents. Linux.

    .venv/bin/python benchmarks/dedup.py --data FOLDER [--json] [--systems ours datasketch …] [--documents 20000]

FOLDER (default: $CURATION_REAL_DATA/neardup/planted) holds corpus.jsonl.zst with a `text` per line. Ours is the jobs as
they run for a user, from signatures to verdicts with every removal verified, on Spark: its CPU is that of driver, JVM
and Python workers together, printed whole and less that of a session that runs one empty shuffle. The others run in
one process, read texts from one Parquet file and verify nothing. `pip install '.[bench]'` brings them; --peer-python
names another interpreter that has them. A system that is not installed is left out.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dedup_ours
import dedup_peers
import pyarrow as pa
import pyarrow.parquet as pq
import smart_open
from dedup_truth import Pairs, all_pairs, candidate_recall, quality, residual
from measured import Measured, measure

HERE = Path(__file__).parent
OURS = "ours"
_MODULES = {"text-dedup's method": "xxhash", "datatrove, whitespace words": "datatrove"}
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def texts_of(folder: Path, documents: int) -> list[str]:
    """Return the first texts of a corpus."""
    with smart_open.open(str(folder / "corpus.jsonl.zst"), "rb") as lines:
        return [json.loads(line)["text"] for line in itertools.islice(lines, documents)]


def write_inputs(folder: Path, texts: Sequence[str]) -> None:
    """Write the documents in the forms that the systems read."""
    pq.write_table(pa.table({"text": pa.array(texts, pa.large_string())}), folder / "texts.parquet")
    with (folder / "documents.jsonl").open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(json.dumps({"id": str(row), "text": text}) + "\n" for row, text in enumerate(texts))


def ours(folder: Path, truth: Pairs, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run our jobs over the folder; return their rows."""
    dedup_ours.write_recipes(folder, options.bands, options.rows, options.threshold, options.removal)
    program = [sys.executable, str(HERE / "dedup_ours.py")]
    measure([*program, "prepare", str(folder)])
    session = measure([*program, "session"])
    job = measure([*program, "job", str(folder)])
    removed, keys = dedup_ours.removed(folder), dedup_ours.band_keys(folder)
    met, never = residual(truth, set(removed), keys)
    measured, theory, error = candidate_recall(truth, keys, options.bands, options.rows)
    named = [truth.get((min(row, other), max(row, other)), 0.0) for row, other in removed.items()]
    rows = _cost_and_quality(OURS, job, truth, set(removed))
    rows += [
        _row(OURS, "cpu_seconds of an empty session", session.cpu_seconds, "s"),
        _row(OURS, "cpu_seconds less the session", job.cpu_seconds - session.cpu_seconds, "s"),
        _row(OURS, "peak memory of an empty session", session.peak_mib, "MiB"),
        _row(OURS, "least similarity to the document named", min(named, default=1.0), "Jaccard"),
        _row(OURS, "removals that name a removed document", sum(o in removed for o in removed.values()), "documents"),
        _row(OURS, "residual: kept pairs that share a band", met, "pairs"),
        _row(OURS, "kept pairs that never met", never, "pairs"),
        _row(OURS, "candidate recall", measured, "share"),
        _row(OURS, "candidate recall, theory", theory, "share"),
        _row(OURS, "candidate recall, standard error by cluster", error, "share"),
    ]
    return rows


def peer(name: str, folder: Path, truth: Pairs, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run one of the others; no rows if it is not installed."""
    module = _MODULES.get(name, name)
    if subprocess.run(
        [options.peer_python, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False
    ).returncode:
        print(f"{name} is not installed and left out", file=sys.stderr)
        return []
    program = [options.peer_python, str(HERE / "dedup_peers.py"), name, str(folder)]
    found = measure([*program, str(options.bands), str(options.rows)], _ONE_THREAD)
    return _cost_and_quality(name, found, truth, set(found.result))


def _cost_and_quality(system: str, found: Measured, truth: Pairs, removed: set[int]) -> list[dict[str, Any]]:
    rows = [_row(system, "cpu_seconds", found.cpu_seconds, "s"), _row(system, "wall_seconds", found.wall_seconds, "s")]
    rows += [_row(system, "peak memory", found.peak_mib, "MiB"), _row(system, "removed", len(removed), "documents")]
    return rows + [_row(system, name, value, "share") for name, value in quality(truth, removed).items()]


def _row(system: str, metric: str, value: float, unit: str) -> dict[str, Any]:
    return {"system": system, "metric": metric, "value": round(value, 4), "unit": unit}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    real = os.environ.get("CURATION_REAL_DATA")
    default = Path(real) / "neardup/planted" if real else None
    parser.add_argument("--data", type=Path, default=default, required=default is None)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--bands", type=int, default=20)
    parser.add_argument("--rows", type=int, default=13)
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--removal", choices=["greedy", "component"], default="greedy")
    systems = [OURS, *dedup_peers.SYSTEMS]
    parser.add_argument("--systems", nargs="+", choices=systems, default=systems)
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Print a table, or JSON rows."""
    options = _options()
    texts = texts_of(options.data, options.documents)
    truth = all_pairs(texts, options.threshold)
    print(f"{len(texts):,} documents, {len(truth):,} pairs from {options.threshold} on", file=sys.stderr)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder, texts)
        for system in options.systems:
            rows += ours(folder, truth, options) if system == OURS else peer(system, folder, truth, options)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['system']:28} {row['metric']:44} {row['value']:>12,.4f} {row['unit']}")


if __name__ == "__main__":
    main()
