"""The ledger: for every stage and source, what came in is what stayed, went, was cut or could not be used.

    in = keep + Σ drop[reason] + split + Σ quarantine[reason]            (units and bytes, every stage)
    in(stage) = out(stage before it)                                     (each side from its own files)
    in = out + Σ cut[reason]                                             (bytes, assemble)

Everything is counted from the rows of committed files, never from what a task said while it ran, except what has
no row: the units that readers saw, and those that no source selected.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from curation.commits import Commit, Manifest
from curation.errors import DataBudgetError, IntegrityError
from curation.identity import FILE_BITS, RECORD_BITS
from curation.parts import Part, read_batches, read_table

JUDGES = ("filter", "dedup", "decontaminate")
_ROWS = 1 << 16  # rows of narrow columns held at once


@dataclass
class Count:
    """A number of units and their bytes."""

    units: int = 0
    bytes: int = 0

    def add(self, units: int, size: int) -> None:
        """Count in some more."""
        self.units += units
        self.bytes += size

    def to_json(self) -> dict[str, int]:
        """Return plain data."""
        return {"units": self.units, "bytes": self.bytes}


def _counts() -> dict[str, Count]:
    return defaultdict(Count)


@dataclass
class Entry:
    """One line of the ledger: a stage and a source (or container)."""

    stage: str
    source: str
    received: Count = field(default_factory=Count)
    keep: Count = field(default_factory=Count)
    drop: dict[str, Count] = field(default_factory=_counts)
    split: Count = field(default_factory=Count)
    quarantine: dict[str, Count] = field(default_factory=_counts)
    out: Count = field(default_factory=Count)
    cut: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    pieces: int | None = None  # rows of corpus or token documents, where the stage has them
    problems: list[str] = field(default_factory=list)

    @property
    def balanced(self) -> bool:
        """Whether every law holds for this line."""
        return not self.problems

    def check_fates(self) -> None:
        """Note a problem unless what came in is what the fates add up to."""
        total = Count()
        for count in (self.keep, self.split, *self.drop.values(), *self.quarantine.values()):
            total.add(count.units, count.bytes)
        self.expect("in", self.received, "keep + drop + split + quarantine", total)

    def check_cuts(self) -> None:
        """Note a problem unless the bytes that came in are those passed on and those cut."""
        cut = sum(self.cut.values())
        if self.received.bytes != self.out.bytes + cut:
            self.problems.append(f"in {self.received.bytes:,} bytes, out {self.out.bytes:,} + cut {cut:,}")

    def expect(self, left: str, a: Count, right: str, b: Count) -> None:
        """Note a problem unless two sides are equal."""
        if a != b:
            self.problems.append(
                f"{left} {a.units:,} units {a.bytes:,} bytes, {right} {b.units:,} units {b.bytes:,} bytes"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the line as the command line prints it."""
        return {
            "stage": self.stage,
            "source": self.source,
            "in": self.received.to_json(),
            "keep": self.keep.to_json(),
            "drop": {reason: count.to_json() for reason, count in sorted(self.drop.items())},
            "split": self.split.to_json(),
            "quarantine": {reason: count.to_json() for reason, count in sorted(self.quarantine.items())},
            "out": self.out.to_json(),
            "cut": dict(sorted(self.cut.items())),
            "balanced": self.balanced,
            "problems": self.problems,
        }


Lines = dict[str, Entry]


def ledger(root: str, manifests: Mapping[str, Manifest], names: Mapping[int, str]) -> list[Entry]:
    """Return every line for the committed stages, in the order given; `names` are the sources by registry number.

    Raises:
        IntegrityError: a committed file is missing or cannot be read.
    """
    found: list[Lines] = []
    before: Lines = {}
    for stage in manifests:
        lines = _lines_of(root, stage, manifests, names)
        if lines is None:
            continue
        if stage != "ingest":
            _check_chain(stage, lines, before)
        found.append(lines)
        before = lines
    return [entry for lines in found for entry in lines.values()]


def require_balance(entries: Sequence[Entry]) -> None:
    """Raise IntegrityError, naming stage, source and both sides, if any line does not balance."""
    wrong = [f"{entry.stage} {entry.source}: {'; '.join(entry.problems)}" for entry in entries if not entry.balanced]
    if wrong:
        raise IntegrityError(
            "the ledger does not balance: " + " | ".join(wrong) + ". `curate verify` names changed files"
        )


def judged(root: str, stage: str, parts: Sequence[Part], names: Mapping[int, str]) -> Lines:
    """Return a judge's lines from its verdicts."""
    lines: Lines = {}
    for source, batch in _by_source(root, parts, ["doc_id", "text_bytes", "fate", "reason"], names):
        entry = lines.setdefault(source, Entry(stage, source))
        table = pa.Table.from_batches([batch]).group_by(["fate", "reason"])
        for row in table.aggregate([("text_bytes", "sum"), ([], "count_all")]).to_pylist():
            _judge(entry, row["fate"], row["reason"], row["count_all"], row["text_bytes_sum"])
    for entry in lines.values():
        entry.check_fates()
    return lines


def check_guard(stage: str, lines: Lines, largest_share: float | None) -> None:
    """Stop the run if a judge removed more of a source than the recipe allows. Raises DataBudgetError."""
    if largest_share is None:
        return
    over = []
    for source, entry in sorted(lines.items()):
        removed = sum(count.units for count in entry.drop.values())
        if removed > largest_share * entry.received.units:
            share = removed / entry.received.units
            over.append(f"{source}: {removed:,} of {entry.received.units:,} documents = {share:.1%}")
    if over:
        raise DataBudgetError(
            f"{stage} would remove more than max_removed.{stage} = {largest_share:.1%} of " + "; ".join(over) + ". "
            "Nothing was committed: look at the largest clusters, then correct the rule or raise the guard"
        )


def _lines_of(root: str, stage: str, manifests: Mapping[str, Manifest], names: Mapping[int, str]) -> Lines | None:
    manifest = manifests[stage]
    if stage == "ingest":
        return _ingest(root, manifest)
    if stage == "signals":
        return _scanned(root, manifest, names)
    if stage in JUDGES:
        return judged(root, stage, manifest.parts("verdicts"), names)
    if stage == "assemble":
        cuts = manifests["decontaminate"].parts("cuts") if "decontaminate" in manifests else []
        return assembled(root, manifest.parts("corpus"), cuts, names)
    return _tokenized(root, manifest, names) if stage == "tokenize" else None


def _check_chain(stage: str, lines: Lines, before: Lines) -> None:
    for source, entry in before.items():
        if entry.out.units and source not in lines:
            lines[source] = Entry(stage, source)
    for source, entry in lines.items():
        earlier = before.get(source)
        entry.expect(
            "in",
            entry.received,
            f"out of {earlier.stage if earlier else 'nothing'}",
            earlier.out if earlier else Count(),
        )
        if earlier is not None:
            _check_same_documents(entry, earlier)


def _check_same_documents(entry: Entry, earlier: Entry) -> None:
    """What a judge split is what assemble finds cut, and tokenize reads every piece once."""
    if entry.stage == "assemble" and earlier.stage in JUDGES:
        entry.expect("split", entry.split, f"split by {earlier.stage}", earlier.split)
    if None not in (entry.pieces, earlier.pieces) and entry.pieces != earlier.pieces:
        entry.problems.append(f"pieces {entry.pieces:,}, {earlier.stage} wrote {earlier.pieces:,}")


def _ingest(root: str, manifest: Manifest) -> Lines:
    lines: Lines = {}
    for commit in manifest.commits:
        for source, (units, size) in commit.counts["in"].items():
            lines.setdefault(source, Entry("ingest", source)).received.add(units, size)
        for source, reasons in commit.counts["drop"].items():
            for reason, (units, size) in reasons.items():
                lines.setdefault(source, Entry("ingest", source)).drop[reason].add(units, size)
        for part in commit.table("documents"):
            entry = lines.setdefault(part.facts["source"], Entry("ingest", part.facts["source"]))
            for batch in read_batches(root, part, ["raw_bytes", "text_bytes"], _ROWS):
                entry.keep.add(batch.num_rows, _sum(batch["raw_bytes"]))
                entry.out.add(batch.num_rows, _sum(batch["text_bytes"]))
        for part in commit.table("quarantine"):
            for batch in read_batches(root, part, ["source", "error", "bytes"]):
                for source, error, size in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    lines.setdefault(source, Entry("ingest", source)).quarantine[error].add(1, size)
        _check_containers(commit, lines)
    for entry in lines.values():
        entry.check_fates()
    return lines


def _check_containers(commit: Commit, lines: Lines) -> None:
    """Per file, container bytes = record bytes + skipped; per unit, the records' bytes = the bytes that came in."""
    problems = []
    for file in commit.counts["files"]:
        skipped = sum(file["skipped"].values())
        if file["bytes"] != file["records"] + skipped:
            problems.append(
                f"{file['uri']}: {file['bytes']:,} bytes, records {file['records']:,} + skipped {skipped:,}"
            )
    records = sum(file["records"] for file in commit.counts["files"])
    received = sum(size for _, size in commit.counts["in"].values())
    if records != received:
        problems.append(f"unit {commit.item}: records {records:,} bytes, in {received:,} bytes")
    if problems:
        name = next(iter(commit.counts["in"]), "")
        lines.setdefault(name, Entry("ingest", name)).problems.extend(problems)


def _scanned(root: str, manifest: Manifest, names: Mapping[int, str]) -> Lines:
    lines: Lines = {}
    for source, batch in _by_source(root, manifest.parts("signals"), ["doc_id", "text_bytes"], names):
        entry = lines.setdefault(source, Entry("signals", source))
        for count in (entry.received, entry.keep, entry.out):
            count.add(batch.num_rows, _sum(batch["text_bytes"]))
    return lines


def _judge(entry: Entry, fate: str, reason: str, units: int, size: int) -> None:
    entry.received.add(units, size)
    if fate == "keep":
        entry.keep.add(units, size)
    elif fate == "split":
        entry.split.add(units, size)
    else:
        (entry.drop if fate == "drop" else entry.quarantine)[reason].add(units, size)
    if fate in ("keep", "split"):
        entry.out.add(units, size)


def assembled(root: str, corpus: Sequence[Part], cuts: Sequence[Part], names: Mapping[int, str]) -> Lines:
    """Return assemble's lines: per document, its pieces and its cuts must tile it from its first byte on."""
    lines: Lines = {}
    cuts_of = {part.facts["shard"]: part for part in cuts}
    for part in corpus:
        if part.rows == 0:
            continue
        pieces = read_table(root, part, ["doc_id", "start", "end"])
        cut_part = cuts_of.get(part.facts["shard"])
        removed = read_table(root, cut_part, ["doc_id", "start", "end", "reason"]) if cut_part else None
        source = _source_of(pieces["doc_id"], names)
        _assemble_shard(lines.setdefault(source, Entry("assemble", source)), pieces, removed)
    for entry in lines.values():
        entry.check_fates()
        entry.check_cuts()
    return lines


def _assemble_shard(entry: Entry, pieces: pa.Table, cuts: pa.Table | None) -> None:
    entry.pieces = (entry.pieces or 0) + pieces.num_rows
    columns = [pieces.column(i).to_numpy() for i in range(3)]
    cut = np.zeros(pieces.num_rows, bool)
    if cuts is not None and cuts.num_rows:
        columns = [np.concatenate([a, cuts.column(i).to_numpy()]) for i, a in enumerate(columns)]
        cut = np.concatenate([cut, np.ones(cuts.num_rows, bool)])
        for row in (
            cuts.append_column("n", pc.subtract(cuts["end"], cuts["start"]))
            .group_by("reason")
            .aggregate([("n", "sum")])
            .to_pylist()
        ):
            entry.cut[row["reason"]] += row["n_sum"]
    order = np.lexsort((columns[1], columns[0]))
    ids, starts, ends = (column[order] for column in columns)
    first = np.r_[True, ids[1:] != ids[:-1]]
    expected = np.where(first, 0, np.r_[0, ends[:-1]])
    if not np.array_equal(starts, expected):
        wrong = ids[np.flatnonzero(starts != expected)[0]]
        entry.problems.append(f"document {wrong}: its pieces and cuts do not tile its text")
    _assemble_documents(entry, ids, np.where(cut[order], 0, ends - starts), ends - starts, first)


def _assemble_documents(entry: Entry, ids: Any, kept: Any, whole: Any, first: Any) -> None:
    begins = np.flatnonzero(first)
    kept_bytes, whole_bytes = np.add.reduceat(kept, begins), np.add.reduceat(whole, begins)
    is_cut = kept_bytes != whole_bytes
    entry.received.add(len(begins), int(whole_bytes.sum()))
    entry.keep.add(int((~is_cut).sum()), int(whole_bytes[~is_cut].sum()))
    entry.split.add(int(is_cut.sum()), int(whole_bytes[is_cut].sum()))
    entry.out.add(len(begins), int(kept_bytes.sum()))


def _tokenized(root: str, manifest: Manifest, names: Mapping[int, str]) -> Lines:
    lines: Lines = {}
    for part in manifest.parts("token_documents"):
        entry = lines.setdefault(part.facts["source"], Entry("tokenize", part.facts["source"]))
        documents, last = 0, -1
        entry.pieces = (entry.pieces or 0) + part.rows
        for batch in read_batches(root, part, ["doc_id"], _ROWS):
            ids = batch["doc_id"].to_numpy()
            documents += int((np.r_[last, ids[:-1]] != ids).sum())
            last = int(ids[-1])
        for count in (entry.received, entry.keep, entry.out):
            count.add(documents, part.facts["text_bytes"])
    return lines


def _by_source(
    root: str, parts: Sequence[Part], columns: list[str], names: Mapping[int, str]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield a table's rows by source; parts are cut at shard boundaries, so a part has one source."""
    for part in parts:
        for batch in read_batches(root, part, columns, _ROWS):
            yield _source_of(batch["doc_id"], names), batch


def _source_of(doc_ids: pa.Array | pa.ChunkedArray, names: Mapping[int, str]) -> str:
    """Return the one source of some rows; a name of its own, which no stage before it passed on, if there are more."""
    numbers = np.unique(doc_ids.to_numpy() >> FILE_BITS + RECORD_BITS).tolist()
    return names.get(numbers[0], f"source {numbers[0]}") if len(numbers) == 1 else f"sources {numbers}"


def _sum(column: pa.Array) -> int:
    return int(np.sum(column.to_numpy(zero_copy_only=False), dtype=np.int64)) if len(column) else 0
