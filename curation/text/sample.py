"""The classifier's sample: which documents teach it, and in which order.

Documents are drawn by smallest coin among those that pass their profile's language and length rules, so that the same
documents are drawn on any cluster, and adding a source does not change what another one gives. The order of training
is another coin's, so that labels are mixed.
"""

import heapq
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import urlsplit

import orjson
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from curation.identity import coin
from curation.parts import Part, read_batches, write_part
from curation.shards_table import Shard
from curation.text.quality import prepare
from curation.text.signals import compute
from schemas.tables import LAYOUT, SAMPLE

HELD_OUT_SHARE = 0.1  # of the sample, to measure the classifier on (paper: 10 %)
_OVERDRAW = 2.0  # first guess at documents looked at per document drawn; doubled until enough pass
_BUCKETS = 64  # files a sample is shuffled through; one of them is held in memory at a time

_PLACE = ("url", "uri", "member", "doc_key")

Passes = Callable[[pa.RecordBatch], Sequence[bool]]


@dataclass(frozen=True)
class Pool:
    """Documents to draw from together: their label, how many are wanted, and the shards they lie in."""

    label: str
    wanted: int
    shards: tuple[Shard, ...]

    @property
    def documents(self) -> int:
        """How many documents there are to draw from."""
        return sum(shard.documents for shard in self.shards)

    def first_limit(self) -> float:
        """Return the coin below which documents are looked at first."""
        return min(1.0, _OVERDRAW * self.wanted / max(self.documents, 1))


def candidates(root: str, shard: Shard, seed: int, limit: float, passes: Passes) -> list[tuple[float, int]]:
    """Return (coin, doc_id) of a shard's documents whose coin is below `limit` and that pass the rules."""
    found: list[tuple[float, int]] = []
    for batch in read_batches(root, shard.part, ["doc_id", "doc_key", "text"]):
        coins = [coin(seed, key, "quality_sample") for key in batch["doc_key"].to_pylist()]
        below = [row for row, value in enumerate(coins) if value < limit]
        if below:
            chosen = batch.take(pa.array(below))
            fit = passes(chosen)
            ids = chosen["doc_id"].to_pylist()
            found += [(coins[row], ids[at]) for at, row in enumerate(below) if fit[at]]
    return found


def draw(found: Iterable[tuple[float, int]], wanted: int) -> list[int]:
    """Return the doc_ids of the `wanted` smallest coins, ascending."""
    return sorted(doc_id for _, doc_id in heapq.nsmallest(wanted, found))


def write_sample(root: str, shard: Shard, label: str, drawn: Sequence[int], seed: int, max_kib: int) -> Part:
    """Write the drawn documents of a shard as the classifier sees them."""
    wanted = set(drawn)
    batches = []
    for batch in read_batches(root, shard.part, ["doc_id", "doc_key", "url", "uri", "member", "text"]):
        rows = batch.filter(pa.array([doc_id in wanted for doc_id in batch["doc_id"].to_pylist()]))
        origins = [_origin(*place) for place in zip(*(rows[name].to_pylist() for name in _PLACE), strict=True)]
        measured = compute(rows["text"])
        columns: list[Any] = [
            rows["doc_id"],
            [label] * rows.num_rows,
            [coin(seed, key, "held_out") < HELD_OUT_SHARE for key in rows["doc_key"].to_pylist()],
            [coin(seed, xxh3_64_intdigest(origin.encode()), "origin_held_out") < HELD_OUT_SHARE for origin in origins],
            *(measured[name] for name in LAYOUT),
            [prepare(text, max_kib) for text in rows["text"].to_pylist()],
        ]
        arrays = [
            values if isinstance(values, pa.Array) else pa.array(values, about.type)
            for values, about in zip(columns, SAMPLE, strict=True)
        ]
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=SAMPLE))
    facts = {"shard": shard.shard, "source": shard.source, "label": label}
    return write_part(root, "quality_model", "sample", f"{shard.shard}-{label}", batches, facts)


def _origin(url: str | None, uri: str, member: str, doc_key: int) -> str:
    """Return what documents share that one may know by heart: a host, a member of an archive; else itself alone."""
    host = urlsplit(url).hostname if url and "[" not in url else None
    return host or (f"{uri}:{member}" if member else f"{uri}:{doc_key}")


def shuffled(
    root: str, parts: Iterable[Part], seed: int, fold: str = "held_out", permuted: bool = False
) -> Iterator[tuple[str, bool]]:
    """Yield (text, whether positive) of the documents outside a fold in the order of their coins.

    `fold` is held_out or origin_held_out. With `permuted`, a coin says what is positive.

    Texts go through temporary files, so that memory is one file of about a 64th of the sample.
    """
    with tempfile.TemporaryDirectory() as folder:
        files: list[IO[bytes]] = [open(f"{folder}/{number}", "w+b") for number in range(_BUCKETS)]  # noqa: SIM115
        try:
            _scatter(root, parts, seed, files, fold, permuted)
            for file in files:
                yield from _gather(file)
        finally:
            for file in files:
                file.close()


def drawn_counts(parts: Iterable[Part]) -> Mapping[str, int]:
    """Return how many documents each source gave."""
    counts: dict[str, int] = {}
    for part in parts:
        counts[part.facts["source"]] = counts.get(part.facts["source"], 0) + part.rows
    return counts


def _scatter(
    root: str, parts: Iterable[Part], seed: int, files: Sequence[IO[bytes]], fold: str, permuted: bool
) -> None:
    for part in parts:
        for batch in read_batches(root, part, ["doc_id", "label", fold, "text"]):
            for doc_id, label, out, text in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                if not out:
                    place = coin(seed, doc_id, "training_order")
                    positive = coin(seed, doc_id, "permuted_label") < 0.5 if permuted else label == "positive"
                    files[int(place * _BUCKETS)].write(orjson.dumps([place, doc_id, positive, text]) + b"\n")


def _gather(file: IO[bytes]) -> Iterator[tuple[str, bool]]:
    file.seek(0)
    rows = sorted(orjson.loads(line) for line in file.read().split(b"\n") if line)
    for _, _, positive, text in rows:
        yield text, positive
