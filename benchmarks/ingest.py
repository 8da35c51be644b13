"""What ingest costs beside its unavoidable parts, each run alone in one process, in CPU-seconds.

    .venv/bin/python benchmarks/ingest.py [--mib 48] [--jsonl FILE] [--warc FILE] [--rounds 5] [--json]

`.jsonl.zst` to documents: zstd, JSON, repair, digest and the parquet write are the parts. WARC to documents (with
`--warc`): FastWARC with the payload decoded, charset, resiliparse, repair and the parquet write. Repair is on in both.
Ingest writes what it always writes: sealed shards with digests, fsync, a commit. CPU-seconds include child processes.
Parts and whole take turns, and of each the least of all rounds counts: what a busy machine adds is nobody's cost.
"""

import argparse
import gzip
import hashlib
import io
import json
import random
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from backports import zstd
from fastwarc.warc import ArchiveIterator, WarcRecordType
from xxhash import xxh3_128_digest

from curation.recipe import parse_recipe
from curation.registry import InputFile
from curation.sources.intake import UnitTask, ingest_unit
from curation.stages import Unit
from curation.text.charset import decode_markup
from curation.text.extract import extract
from curation.text.repair import repair

_WORDS = (
    *("the", "of", "and", "a", "in", "that", "river", "window", "engine", "theory", "describes", "council", "measured"),
    *("history", "between", "different", "several", "machine", "language", "mountain", "question", "however", "under"),
)


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return CPU-seconds of the work, its child processes included, and its result."""
    before = _used()
    result = work()
    return _used() - before, result


def _used() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, kinds))


def made_jsonl(mib: int) -> bytes:
    """Return zstd JSON lines of English-looking text; every 20th document has mojibake to repair."""
    rng, lines, size = random.Random(1), [], 0
    while size < mib << 20:
        text = "\n".join(" ".join(rng.choices(_WORDS, k=90)) + "." for _ in range(6))
        text += " itâ€™s" if len(lines) % 20 == 0 else ""
        lines.append(orjson.dumps({"text": text, "meta": {"pile_set_name": "Pile-CC"}}))
        size += len(text)
    return zstd.compress(b"\n".join(lines) + b"\n", level=3)


def write_parquet(texts: list[str]) -> None:
    """Write texts with zstd and page checksums, as shards are written."""
    table = pa.table({"text": pa.array(texts, pa.large_string())})
    pq.write_table(
        table, io.BytesIO(), compression="zstd", compression_level=3, write_page_checksum=True, use_dictionary=False
    )


def jsonl_parts(data: bytes) -> dict[str, float]:
    """Return CPU-seconds of each part alone."""
    parts: dict[str, float] = {}
    parts["zstd"], raw = cpu_seconds(lambda: zstd.decompress(data))
    lines = raw.rstrip(b"\n").split(b"\n")
    parts["json"], texts = cpu_seconds(lambda: [orjson.loads(line)["text"] for line in lines])
    return parts | _text_parts(texts)


def _text_parts(texts: list[str]) -> dict[str, float]:
    parts: dict[str, float] = {}
    parts["repair"], repaired = cpu_seconds(lambda: [repair(text).text for text in texts])
    parts["digest"], _ = cpu_seconds(lambda: [xxh3_128_digest(text.encode()) for text in repaired])
    parts["parquet"], _ = cpu_seconds(lambda: write_parquet(repaired))
    return parts


def warc_parts(data: bytes) -> dict[str, float]:
    """Return CPU-seconds of each part alone."""
    parts: dict[str, float] = {}
    parts["fastwarc"], pages = cpu_seconds(lambda: _pages(data))
    parts["charset"], decoded = cpu_seconds(lambda: [decode_markup(page).text for page in pages])
    parts["resiliparse"], texts = cpu_seconds(lambda: [extract(page, "resiliparse") for page in decoded])
    return parts | _text_parts(texts)


def _pages(data: bytes) -> list[bytes]:
    records = ArchiveIterator(io.BytesIO(data), record_types=WarcRecordType.response, parse_http=True)
    return [record.reader.read() for record in records if record.http_content_type == "text/html"]


def ingest(reader: str, name: str, data: bytes, **source: Any) -> tuple[float, int]:
    """Return CPU-seconds of ingest as a task does it, and the documents it made."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(data)
        about = {"name": "benchmark", "reader": reader, "inputs": [name], **source}
        recipe = parse_recipe({"name": "benchmark", "source": [about]}, "benchmark")
        file = InputFile("benchmark", name, len(data), f"sha256:{hashlib.sha256(data).hexdigest()}", 0, 0)
        task = UnitTask(f"{folder}/work", folder, recipe, Unit("benchmark", (file,)), "key", {"benchmark": 0})
        seconds, commit = cpu_seconds(lambda: ingest_unit(task))
    return seconds, sum(part.rows for part in commit.parts if part.table == "documents")


def real_jsonl(path: Path, mib: int) -> bytes:
    """Return zstd JSON lines of a `.jsonl.gz` with its `text` alone kept, repeated up to `mib` of text."""
    texts = [orjson.loads(line)["text"] for line in gzip.decompress(path.read_bytes()).splitlines()]
    lines = [orjson.dumps({"text": text, "meta": {"pile_set_name": "Pile-CC"}}) for text in texts]
    times = max(1, (mib << 20) // sum(map(len, lines)))
    return zstd.compress(b"\n".join(lines * times) + b"\n", level=3)


def least(
    title: str, rounds: int, parts: Callable[[], dict[str, float]], whole: Callable[[], tuple[float, int]]
) -> dict[str, Any]:
    """Measure parts and whole in turn, and report the least round of each."""
    measured = [(parts(), whole()) for _ in range(rounds)]
    least_parts = min((found for found, _ in measured), key=lambda found: sum(found.values()))
    return report(title, least_parts, min(found for _, found in measured))


def report(title: str, parts: dict[str, float], whole: tuple[float, int]) -> dict[str, Any]:
    """Return one measurement as plain data."""
    total = sum(parts.values())
    rounded = {name: round(seconds, 3) for name, seconds in parts.items()}
    figures = {"parts": rounded, "parts_total": round(total, 3), "ingest": round(whole[0], 3), "documents": whole[1]}
    return {"what": title, **figures, "ratio": round(whole[0] / total, 2)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=48, help="MiB of text in the made JSON lines")
    parser.add_argument("--jsonl", type=Path, help="a real .jsonl.gz with `text`, repeated up to --mib")
    parser.add_argument("--warc", type=Path, help="a .warc.gz, repeated up to --mib")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    data = real_jsonl(options.jsonl, options.mib) if options.jsonl else made_jsonl(options.mib)
    ingest("jsonl", "warm.jsonl.zst", made_jsonl(1))
    found = [
        least("jsonl.zst", options.rounds, lambda: jsonl_parts(data), lambda: ingest("jsonl", "a.jsonl.zst", data))
    ]
    if options.warc:
        one = options.warc.read_bytes()
        archive = one * max(1, (options.mib << 20) // (4 * len(one)))  # pages shrink to about a quarter
        found.append(
            least(
                "warc.gz",
                options.rounds,
                lambda: warc_parts(archive),
                lambda: ingest("warc", "a.warc.gz", archive, extract="resiliparse"),
            )
        )
    for row in found:
        if options.json:
            print(json.dumps(row))
            continue
        parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in row["parts"].items())
        print(
            f"{row['what']}: {parts}; together {row['parts_total']:.2f} CPU-s, ingest {row['ingest']:.2f} "
            f"= {row['ratio']:.2f} x, {row['documents']:,} documents"
        )


if __name__ == "__main__":
    main()
