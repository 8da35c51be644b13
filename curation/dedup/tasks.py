"""What a deduplication task does with one shard, or with a run of sorted rows. Nothing here knows the engine.

Rank is (order, survivor, doc_key): the generation, in it references first, then the place of the source in the recipe;
within a source the survivor rule; then the key. Smaller is better, everywhere. So whatever comes later, references too,
changes nothing about the documents of earlier generations, and a shard that an earlier run has decided is *settled*:
what it kept takes part, and nothing of it is decided again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from curation.dedup.bands import pack
from curation.dedup.buckets import BucketCounts, bucket_edges
from curation.dedup.buffers import pack_hashes, unpack_bands, unpack_hashes
from curation.dedup.greedy import ComponentWalk, Decisions, GreedyWalk, Pairs, Rows
from curation.dedup.room import Room
from curation.dedup.rows import (
    ACCEPTED,
    BLOBS,
    CANDIDATES,
    CAPPED,
    CAPPED_DETAIL,
    COPY,
    COUNT,
    DROP,
    EDGES,
    HASHED,
    NEAR,
    PAIR,
    REFERENCE,
    SETTLED,
    Places,
    batch_of,
    link_batch,
)
from curation.dedup.settings import DedupSettings
from curation.dedup.shingles import shingle_sets
from curation.judging import passed_on
from curation.parts import Part, open_part, read_table
from curation.reasons import Drop
from curation.scratch import read_scratch, write_scratch
from curation.shards_table import Shard

STAGE = "dedup"
Ints = npt.NDArray[np.int64]
_GENERATION_STEP = 1 << 12  # more than there can be sources
_SIGN = np.uint64(1 << 63)


def rank_order(generation: int, place: int | None) -> int:
    """Return the first number of the rank: by generation, then place of the source in the recipe; None: a reference."""
    return generation * _GENERATION_STEP + (0 if place is None else 1 + place)


@dataclass(frozen=True)
class ShardTask:
    """One shard as deduplication sees it."""

    root: str
    shard: Shard
    order: int  # see `rank_order`
    signals: Part
    signatures: Part
    quality: Part | None
    received: Part | None  # filter's verdicts; None for a reference, which nobody judges
    settings: DedupSettings
    parts: int  # parts that band rows are spread over
    exact: str | None = None  # scratch: exact duplicates of this shard
    candidates: str | None = None  # scratch: (doc_id, component) of this shard
    is_settled: bool = False  # decided by an earlier run
    earlier: Part | None = None  # the verdicts of that run; None for a reference and where it received nothing

    @property
    def is_reference(self) -> bool:
        """Whether its documents are matched against and never judged."""
        return bool(_are_references(np.array([self.order]))[0])

    def with_exact(self, name: str | None) -> "ShardTask":
        """Return the task with its exact duplicates known."""
        return replace(self, exact=name)


def received(task: ShardTask) -> Ints:
    """Return the documents that the shard contributes, ascending: what filter keeps, or all of a reference."""
    if not task.is_reference:
        return passed_on(task.root, task.received)
    table = read_table(task.root, task.signals, ["doc_id", "words"])
    ids: Ints = table["doc_id"].to_numpy()[table["words"].to_numpy() > 0]
    return ids


def hashed_rows(task: ShardTask) -> Iterator[pa.RecordBatch]:
    """Yield (content hash, rank, doc_id) of the documents received; of settled ones, the first of each hash."""
    ids = _earlier(task, exact=False) if task.is_settled and not task.is_reference else received(task)
    if len(ids):
        table = _of_documents(task, ["doc_id", "doc_key", "text_bytes", "content_hash"], ids)
        hashes = table["content_hash"].combine_chunks()
        halves = np.frombuffer(hashes.buffers()[1], "<i8", 2 * len(hashes), hashes.offset * 16).reshape(-1, 2)
        yield batch_of([halves[:, 0], halves[:, 1], *_rank(task, table), ids], HASHED)


def exact_links(batches: Iterable[pa.RecordBatch], places: Places) -> Iterator[pa.RecordBatch]:
    """Yield a drop for each row to be decided that is not the first of its hash, and a copy beside the first.

    Rows come sorted by (hash, rank).
    """
    carried: tuple[int, int, int, int] | None = None  # the open group's hash, first doc_id, and its order
    for batch in batches:
        if batch.num_rows == 0:
            continue
        a, b, order, _, _, ids = (column.to_numpy() for column in batch.columns)
        opens = np.r_[carried is None or carried[:2] != (a[0], b[0]), (a[1:] != a[:-1]) | (b[1:] != b[:-1])]
        starts = np.flatnonzero(opens)
        lengths = np.diff(np.r_[0, starts, len(ids)])
        first_ids = np.repeat(np.r_[carried[2] if carried else 0, ids[starts]], lengths)
        first_orders = np.repeat(np.r_[carried[3] if carried else 0, order[starts]], lengths)
        carried = (int(a[-1]), int(b[-1]), int(first_ids[-1]), int(first_orders[-1]))
        late = (first_ids != ids) & ~_are_references(order) & ~places.are_settled(ids)
        flags = np.where(_are_references(first_orders[late]), REFERENCE, 0)
        ones = np.full(late.sum(), 1_000_000)
        yield link_batch(DROP, ids[late], first_ids[late], ones, flags, places)
        yield link_batch(COPY, first_ids[late], ids[late], ones, flags, places)


def band_rows(task: ShardTask) -> Iterator[pa.RecordBatch]:
    """Yield the band rows of the shard, packed by part; exact duplicates stay out, and what a settled shard dropped."""
    ids = passed_on(task.root, task.earlier) if task.is_settled and not task.is_reference else received(task)
    ids = _without_exact(task, ids)
    if len(ids):
        table = _of_documents(task, ["doc_id", "bands"], ids, task.signatures)
        keys = unpack_bands(_one(table["bands"]), task.settings.bands)
        for number, packed in pack(keys, ids, task.parts):
            yield batch_of([[number], [packed]], BLOBS)


def edges_of(root: str, batches: Iterable[pa.RecordBatch], places: Places) -> Iterator[pa.RecordBatch]:
    """Write the edges of each part to scratch and yield (file, edges, rows, buckets, largest bucket)."""
    is_settled = places.are_settled if places.settled.any() else None
    blobs = ((part, rows.as_py()) for batch in batches for part, rows in zip(batch["part"], batch["rows"], strict=True))
    for part, rows in groupby(blobs, key=lambda blob: int(blob[0].as_py())):
        counts, edges = BucketCounts(), 0

        def batches_of(found: Iterable[tuple[Ints, Ints]]) -> Iterator[pa.RecordBatch]:
            nonlocal edges
            for ids, others in found:
                edges += ids.size
                yield pa.record_batch({"doc_id": pa.array(ids), "first": pa.array(others)})

        found = bucket_edges((row for _, row in rows), counts, is_settled)
        name = write_scratch(root, STAGE, f"edges-{part}", batches_of(found))
        numbers = (edges, counts.rows, counts.buckets, counts.largest_bucket)
        yield batch_of([pa.array([name or ""]), *([number] for number in numbers)], EDGES)


def candidate_rows(task: ShardTask) -> Iterator[pa.RecordBatch]:
    """Yield what decides about each candidate of the shard; only row groups with candidates are read again."""
    if task.candidates is None:
        return
    wanted = read_scratch(task.root, task.candidates)
    ids, components = (wanted[name].to_numpy() for name in ("doc_id", "component"))
    about = _of_documents(task, ["doc_id", "doc_key", "text_bytes"], ids)
    bands = _of_documents(task, ["doc_id", "bands"], ids, task.signatures)["bands"]
    rank, at = _rank(task, about), 0
    for texts in _texts_of(task, ids):
        here = slice(at, at + len(texts))
        at = here.stop
        sets = shingle_sets(texts, **task.settings.shingle.model_dump())
        flags = sets.capped * CAPPED | task.is_reference * REFERENCE | task.is_settled * SETTLED
        columns = [
            components[here],
            *(part[here] for part in rank),
            ids[here],
            flags,
            _one(bands[here]).cast(pa.binary()),
        ]
        yield batch_of([*columns, pack_hashes(sets.hashes, sets.offsets).cast(pa.binary())], CANDIDATES)


def near_links(
    settings: DedupSettings, batches: Iterable[pa.RecordBatch], places: Places, room: Room | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield drops and compared pairs; rows come sorted by (component, rank)."""
    make = GreedyWalk if settings.removal == "greedy" else ComponentWalk
    cap = settings.max_kept_per_band
    walk = make(settings.threshold_ppm, max_kept_per_band=cap, record_pairs=True, room=room)
    for batch in batches:
        if batch.num_rows:
            yield from _decided(walk.feed(_walk_rows(batch, settings.bands)), walk.take_pairs(), places)
    yield from _decided(walk.finish(), walk.take_pairs(), places)
    if walk.overflowed:
        yield link_batch(COUNT, np.array([-1]), np.array([walk.overflowed]), np.array([0]), np.array([0]), places)


@dataclass(frozen=True)
class ResolveTask:
    """What concerns the documents of one shard: scratch of its exact links and of its near links, where there are."""

    root: str
    exact: str | None
    near: str | None
    places: Places
    earlier: Part | None = None  # verdicts of an earlier run, where the shard is settled


def resolved(task: ResolveTask) -> Iterator[pa.RecordBatch]:
    """Yield all final drops that the shard knows of, and whom each kept document stands for.

    Exact copies of a document that was dropped name the document that it names: a copy has the same shingles, so its
    similarity is the same too.
    """
    copies = _of_kind(task.root, task.exact, COPY)
    near = _of_kind(task.root, task.near, DROP) if task.earlier is None else _dropped_before(task.root, task.earlier)
    firsts, ids = copies["doc_id"], copies["other"]
    at = np.searchsorted(near["doc_id"], firsts)
    at[at == len(near["doc_id"])] = 0
    moved = near["doc_id"][at] == firsts if len(near["doc_id"]) else np.zeros(len(firsts), bool)
    named = {"other": firsts, "jaccard_ppm": copies["jaccard_ppm"], "flags": copies["flags"]}
    for name, column in named.items():
        named[name] = np.r_[near[name], np.where(moved, near[name][at], column) if moved.any() else column]
    ids = np.r_[near["doc_id"], ids]
    if task.earlier is not None:  # what was dropped before stands in the verdicts already
        ids = ids[len(near["doc_id"]) :]
        named = {name: column[len(near["doc_id"]) :] for name, column in named.items()}
    yield link_batch(DROP, ids, named["other"], named["jaccard_ppm"], named["flags"], task.places)
    yield link_batch(COUNT, named["other"], ids, named["jaccard_ppm"], named["flags"], task.places)


def _decided(decisions: Decisions, pairs: Pairs, places: Places) -> Iterator[pa.RecordBatch]:
    d = decisions
    flags = NEAR | d.by_reference * REFERENCE | d.capped * CAPPED
    rows = d.dropped
    yield link_batch(DROP, d.doc_ids[rows], d.others[rows], d.jaccard_ppm[rows], flags[rows], places)
    yield link_batch(PAIR, pairs.doc_ids, pairs.others, pairs.jaccard_ppm, pairs.accepted * ACCEPTED, places)


def _walk_rows(batch: pa.RecordBatch, bands: int) -> Rows:
    hashes, offsets = unpack_hashes(batch["hashes"])
    flags = batch["flags"].to_numpy()
    return Rows(
        batch["component"].to_numpy(),
        batch["doc_id"].to_numpy(),
        unpack_bands(batch["bands"], bands),
        hashes,
        offsets,
        flags & CAPPED != 0,
        flags & REFERENCE != 0,
        flags & SETTLED != 0,
    )


def _rank(task: ShardTask, table: pa.Table) -> list[Ints]:
    ids = table["doc_id"].to_numpy()
    keys = (table["doc_key"].to_numpy() ^ _SIGN).view(np.int64)  # the order of the unsigned keys
    return [np.full(len(ids), task.order), _survivor(task, table), keys]


def _survivor(task: ShardTask, table: pa.Table) -> Ints:
    ids: Ints = table["doc_id"].to_numpy()
    if task.settings.survivor == "longest":
        return np.asarray(-table["text_bytes"].to_numpy())
    if task.settings.survivor == "quality" and task.quality is not None:
        scores = _of_documents(task, ["doc_id", "quality_ppm"], ids, task.quality)["quality_ppm"]
        return np.asarray(-scores.to_numpy().astype(np.int64))
    return ids


def _are_references(orders: Ints) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = orders % _GENERATION_STEP == 0
    return found


def _earlier(task: ShardTask, *, exact: bool) -> Ints:
    """Return the documents that an earlier run judged; without `exact`, those it did not find to be exact copies."""
    if task.earlier is None:
        return np.empty(0, np.int64)
    table = read_table(task.root, task.earlier, ["doc_id", "reason"])
    if not exact:
        table = table.filter(pc.not_equal(pc.fill_null(table["reason"], ""), Drop.EXACT_DUPLICATE.value))
    ids: Ints = table["doc_id"].to_numpy()
    return ids


def _dropped_before(root: str, verdicts: Part) -> dict[str, Ints]:
    """Return the drops of an earlier run as links; only those of a hash's first document, near ones, are looked up."""
    table = read_table(root, verdicts, ["doc_id", "fate", "reason", "detail", "value", "other"])
    table = table.filter(pc.equal(table["fate"], "drop"))
    by_reference = pc.equal(table["reason"], Drop.REFERENCE_DUPLICATE.value).to_numpy()
    capped = pc.equal(pc.fill_null(table["detail"], ""), CAPPED_DETAIL).to_numpy()
    flags = NEAR | by_reference * REFERENCE | capped * CAPPED
    numbers = {name: table[name].to_numpy().astype(np.int64) for name in ("doc_id", "other", "value")}
    return {
        "doc_id": numbers["doc_id"],
        "other": numbers["other"],
        "jaccard_ppm": numbers["value"],
        "flags": flags.astype(np.int64),
    }


def _of_documents(task: ShardTask, columns: list[str], ids: Ints, part: Part | None = None) -> pa.Table:
    """Return the rows of some documents of a narrow part; both are sorted by doc_id."""
    table = read_table(task.root, part or task.signals, columns)
    return table.take(pa.array(np.searchsorted(table["doc_id"].to_numpy(), ids)))


def _without_exact(task: ShardTask, ids: Ints) -> Ints:
    if task.exact is None:
        return ids
    return ids[~np.isin(ids, _of_kind(task.root, task.exact, DROP)["doc_id"])]


def _of_kind(root: str, name: str | None, kind: int) -> dict[str, Ints]:
    """Return the columns of the links of one kind in a scratch file, sorted by doc_id as they were written."""
    columns = ("doc_id", "other", "jaccard_ppm", "flags")
    if name is None:
        return {column: np.empty(0, np.int64) for column in columns}
    links = read_scratch(root, name)
    of_kind = links["kind"].to_numpy() == kind
    return {column: links[column].to_numpy()[of_kind] for column in columns}


def _texts_of(task: ShardTask, ids: Ints) -> Iterator[pa.Array]:
    with open_part(task.root, task.shard.part) as file:
        for group in range(file.num_row_groups):
            own = file.read_row_group(group, ["doc_id"], use_threads=False)["doc_id"].to_numpy()
            at = np.searchsorted(own, ids[(ids >= own[0]) & (ids <= own[-1])])
            if len(at):
                yield _one(file.read_row_group(group, ["text"], use_threads=False)["text"].take(pa.array(at)))


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
