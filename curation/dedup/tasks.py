"""What a deduplication task does with one shard, or with a run of sorted rows. Nothing here knows the engine.

Rank is (order, survivor, doc_key): references first, then generation and place of the source in the recipe; within a
source the survivor rule; then the key. Smaller is better, everywhere.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.dedup.bands import pack, star_edges
from curation.dedup.buffers import pack_hashes, unpack_bands, unpack_hashes
from curation.dedup.greedy import ComponentWalk, Decisions, GreedyWalk, Pairs, Rows
from curation.dedup.settings import DedupSettings
from curation.dedup.shingles import shingle_sets
from curation.judging import passed_on
from curation.parts import Part, open_part, read_table
from curation.scratch import read_scratch, write_scratch
from curation.shards_table import Shard

STAGE = "dedup"
Ints = npt.NDArray[np.int64]
_REFERENCE_ORDER = 0
_SIGN = np.uint64(1 << 63)

HASHED = "hash_a long, hash_b long, sort_order long, survivor long, sort_key long, doc_id long"
LINKED = "shard int, kind int, doc_id long, other long, jaccard_ppm long, flags int"
BLOBS = "part int, rows binary"
CANDIDATES = (
    "component long, sort_order long, survivor long, sort_key long, doc_id long, flags int, bands binary, hashes binary"
)

DROP, PAIR, COUNT, COPY = 0, 1, 2, 3  # kinds of links; DROP and PAIR lie with their document, the others with the kept
NEAR, REFERENCE, CAPPED, ACCEPTED = 1, 2, 4, 8  # flags of links


@dataclass(frozen=True)
class ShardTask:
    """One shard as deduplication sees it."""

    root: str
    shard: Shard
    order: int  # place of its source and generation in the rank; 0 for references
    signals: Part
    signatures: Part
    quality: Part | None
    received: Part | None  # filter's verdicts; None for a reference, which nobody judges
    settings: DedupSettings
    parts: int  # parts that band rows are spread over
    exact: str | None = None  # scratch: exact duplicates of this shard
    candidates: str | None = None  # scratch: (doc_id, component) of this shard

    @property
    def is_reference(self) -> bool:
        """Whether its documents are matched against and never judged."""
        return self.order == _REFERENCE_ORDER

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
    """Yield (content hash, rank, doc_id) of the documents received."""
    ids = received(task)
    if len(ids):
        table = _of_documents(task, ["doc_id", "doc_key", "text_bytes", "content_hash"], ids)
        hashes = table["content_hash"].combine_chunks()
        halves = np.frombuffer(hashes.buffers()[1], "<i8", 2 * len(hashes), hashes.offset * 16).reshape(-1, 2)
        yield _rows([halves[:, 0], halves[:, 1], *_rank(task, table), ids], HASHED)


def exact_links(batches: Iterable[pa.RecordBatch], firsts: Ints) -> Iterator[pa.RecordBatch]:
    """Yield a drop for each row that is not the first of its content hash, and a copy beside the first.

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
        late = (first_ids != ids) & (order != _REFERENCE_ORDER)
        flags = np.where(first_orders[late] == _REFERENCE_ORDER, REFERENCE, 0)
        ones = np.full(late.sum(), 1_000_000)
        yield _links(DROP, ids[late], first_ids[late], ones, flags, firsts)
        yield _links(COPY, first_ids[late], ids[late], ones, flags, firsts)


def band_rows(task: ShardTask) -> Iterator[pa.RecordBatch]:
    """Yield the band rows of the shard, packed by part; exact duplicates stay out."""
    ids = _without_exact(task, received(task))
    if len(ids):
        table = _of_documents(task, ["doc_id", "bands"], ids, task.signatures)
        keys = unpack_bands(_one(table["bands"]), task.settings.bands)
        for number, rows in pack(keys, ids, task.parts):
            yield _rows([[number], [rows]], BLOBS)


def edges_of(root: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the star edges of each part to scratch and yield (file, rows, buckets, largest bucket)."""
    for part, blobs in _grouped(batches):
        edges = star_edges(blobs)
        table = pa.record_batch({"doc_id": pa.array(edges.doc_ids), "first": pa.array(edges.firsts)})
        name = write_scratch(root, STAGE, f"edges-{part}", [table])
        yield pa.record_batch(
            [pa.array([name or ""]), *(pa.array([n]) for n in (edges.rows, edges.buckets, edges.largest_bucket))],
            ["file", "rows", "buckets", "largest"],
        )


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
        sets = shingle_sets(texts, unit=task.settings.shingle.unit, length=task.settings.shingle.length)
        flags = sets.capped * CAPPED | task.is_reference * REFERENCE
        columns = [
            components[here],
            *(part[here] for part in rank),
            ids[here],
            flags,
            _one(bands[here]).cast(pa.binary()),
        ]
        yield _rows([*columns, pack_hashes(sets.hashes, sets.offsets).cast(pa.binary())], CANDIDATES)


def near_links(settings: DedupSettings, batches: Iterable[pa.RecordBatch], firsts: Ints) -> Iterator[pa.RecordBatch]:
    """Yield drops and compared pairs; rows come sorted by (component, rank)."""
    make = GreedyWalk if settings.removal == "greedy" else ComponentWalk
    walk = make(settings.threshold_ppm, max_kept_per_band=settings.max_kept_per_band, record_pairs=True)
    for batch in batches:
        if batch.num_rows:
            yield from _decided(walk.feed(_walk_rows(batch, settings.bands)), walk.take_pairs(), firsts)
    yield from _decided(walk.finish(), walk.take_pairs(), firsts)
    if walk.overflowed:
        yield _links(COUNT, np.array([-1]), np.array([walk.overflowed]), np.array([0]), np.array([0]), firsts)


@dataclass(frozen=True)
class ResolveTask:
    """What concerns the documents of one shard: scratch of its exact links and of its near links, where there are."""

    root: str
    exact: str | None
    near: str | None
    firsts: Ints


def resolved(task: ResolveTask) -> Iterator[pa.RecordBatch]:
    """Yield all final drops that the shard knows of, and whom each kept document stands for.

    Exact copies of a document that was dropped name the document that it names: a copy has the same shingles, so its
    similarity is the same too.
    """
    near, copies = _of_kind(task.root, task.near, DROP), _of_kind(task.root, task.exact, COPY)
    firsts, ids = copies["doc_id"], copies["other"]
    at = np.searchsorted(near["doc_id"], firsts)
    at[at == len(near["doc_id"])] = 0
    moved = near["doc_id"][at] == firsts if len(near["doc_id"]) else np.zeros(len(firsts), bool)
    named = {"other": firsts, "jaccard_ppm": copies["jaccard_ppm"], "flags": copies["flags"]}
    for name, column in named.items():
        named[name] = np.r_[near[name], np.where(moved, near[name][at], column) if moved.any() else column]
    ids = np.r_[near["doc_id"], ids]
    yield _links(DROP, ids, named["other"], named["jaccard_ppm"], named["flags"], task.firsts)
    yield _links(COUNT, named["other"], ids, named["jaccard_ppm"], named["flags"], task.firsts)


def spread(firsts: Ints, doc_ids: Ints) -> npt.NDArray[np.int32]:
    """Return the number of the shard that each doc_id lies in; `firsts` are the shards' first doc_ids, ascending."""
    numbers: npt.NDArray[np.int32] = (np.searchsorted(firsts, doc_ids, "right") - 1).astype(np.int32)
    return numbers


def _decided(decisions: Decisions, pairs: Pairs, firsts: Ints) -> Iterator[pa.RecordBatch]:
    d = decisions
    flags = NEAR | d.by_reference * REFERENCE | d.capped * CAPPED
    rows = d.dropped
    yield _links(DROP, d.doc_ids[rows], d.others[rows], d.jaccard_ppm[rows], flags[rows], firsts)
    yield _links(PAIR, pairs.doc_ids, pairs.others, pairs.jaccard_ppm, pairs.accepted * ACCEPTED, firsts)


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


def _grouped(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, list[bytes]]]:
    number, blobs = -1, list[bytes]()
    for batch in batches:
        for part, rows in zip(batch["part"].to_pylist(), batch["rows"], strict=True):
            if part != number and blobs:
                yield number, blobs
                blobs = []
            number = part
            blobs.append(rows.as_py())
    if blobs:
        yield number, blobs


def _links(kind: int, ids: Any, others: Any, jaccard_ppm: Any, flags: Any, firsts: Ints) -> pa.RecordBatch:
    return _rows([spread(firsts, ids), np.full(len(ids), kind), ids, others, jaccard_ppm, flags], LINKED)


_KINDS = {"long": pa.int64(), "int": pa.int32(), "binary": pa.binary()}


def _rows(columns: Sequence[Any], schema: str) -> pa.RecordBatch:
    """Return a batch with exactly the types of a DDL schema: the engine does not cast."""
    fields = [pa.field(name, _KINDS[kind]) for name, kind in (column.split() for column in schema.split(", "))]
    arrays = [
        column
        if isinstance(column, pa.Array)
        else pa.array(np.asarray(column) if f.type != pa.binary() else column, f.type)
        for column, f in zip(columns, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
