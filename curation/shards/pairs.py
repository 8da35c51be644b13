"""From corpus parts to Megatron pairs: which corpus shards form a pair, and writing one, streamed.

Consecutive corpus parts of one source and generation form a group; each group becomes a train pair and, of the
documents that the coin holds out, a validation pair, since Megatron's own split takes contiguous slices. Documents
keep their order. No text is moved and no pair is merged afterwards.
"""

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import pyarrow as pa

from curation import storage
from curation.commits import Commit
from curation.identity import coin
from curation.parts import HashingSink, Part, PartWriter, fresh_file, read_batches
from curation.shards.tokenizer import Tokenizer, TokenizerSpec, load
from curation.shards.writer import PairCounts, PairWriter
from schemas.tables import TOKEN_DOCUMENTS

Split = Literal["train", "valid"]
SPLITS: tuple[Split, ...] = ("train", "valid")
_BATCH_BYTES = 4 << 20  # of text tokenised at once; token ids take about four times as much


@dataclass(frozen=True)
class Group:
    """Corpus parts that become one pair per split."""

    source: str
    ordinal: int
    parts: tuple[Part, ...]

    @property
    def item(self) -> str:
        """Its name among the items of tokenize."""
        return f"{self.source}-{self.ordinal:05d}"

    def pair(self, split: Split) -> str:
        """Return the name of the pair for a split."""
        return f"{self.source}-{split}-{self.ordinal:05d}"


@dataclass(frozen=True)
class PairTask:
    """One group, and what its tokens depend on."""

    root: str
    group: Group
    key: str
    spec: TokenizerSpec
    asset_root: str
    seed: int
    validation_fraction: float


def groups(parts: Sequence[tuple[Part, int, int]], target_bytes: int) -> list[Group]:
    """Return the groups of corpus parts given as (part, generation, text bytes) in order of doc_id.

    A group is closed when the next part would take it over `target_bytes`, or is of another source or generation: parts
    that come later never change an earlier group.
    """
    found: list[list[Part]] = []
    held, last = 0, ("", -1)
    for part, generation, size in parts:
        here = (str(part.facts["source"]), generation)
        if here != last or held + size > target_bytes:
            found.append([])
            held = 0
        found[-1].append(part)
        held, last = held + size, here
    counts: dict[str, int] = {}
    return [_numbered(members, counts) for members in found]


def write_pairs(task: PairTask) -> Commit:
    """Tokenise a group and write its pairs; the commit lists .bin, .idx and the documents of every sequence."""
    tokenizer = tokenizer_of(task.spec, task.asset_root)
    with contextlib.ExitStack() as stack:
        writers = {split: _SplitWriter(task, split, tokenizer) for split in SPLITS}
        for writer in writers.values():
            stack.enter_context(writer)
        for batch in _batches(task):
            held_out = pa.array([_held_out(task, key) for key in batch["doc_key"].to_pylist()], pa.bool_())
            writers["valid"].write(batch.filter(held_out))
            writers["train"].write(batch.filter(pa.compute.invert(held_out)))
    parts = [part for writer in writers.values() for part in writer.parts]
    return Commit("tokenize", task.group.item, task.key, tuple(parts))


@functools.lru_cache(maxsize=1)
def tokenizer_of(spec: TokenizerSpec, asset_root: str) -> Tokenizer:
    """Return the tokenizer, loaded once per process."""
    return load(spec, lambda path: storage.read_bytes(storage.resolve(asset_root, path)))


def _numbered(members: list[Part], counts: dict[str, int]) -> Group:
    source = str(members[0].facts["source"])
    ordinal = counts.get(source, 0)
    counts[source] = ordinal + 1
    return Group(source, ordinal, tuple(members))


def _batches(task: PairTask) -> Iterator[pa.RecordBatch]:
    for part in task.group.parts:
        for batch in read_batches(task.root, part, ["doc_id", "doc_key", "piece", "text"]):
            rows = max(1, batch.num_rows * _BATCH_BYTES // max(batch.nbytes, 1))
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


def _held_out(task: PairTask, doc_key: int) -> bool:
    return coin(task.seed, doc_key, "validation") < task.validation_fraction


class _SplitWriter:
    """One pair while it is written; files are opened at its first document, so that no empty pair exists."""

    def __init__(self, task: PairTask, split: Split, tokenizer: Tokenizer) -> None:
        self._task, self._split, self._tokenizer = task, split, tokenizer
        self._name = task.group.pair(split)
        self._stack = contextlib.ExitStack()
        self._open = False
        self._text_bytes = 0
        self.parts: list[Part] = []

    def __enter__(self) -> "_SplitWriter":
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows == 0:
            return
        if not self._open:
            self._begin()
        encoded = self._tokenizer.encode_batch(batch["text"])
        first = self._documents.rows
        self._pair.write(encoded)
        self._text_bytes += pa.compute.sum(pa.compute.binary_length(batch["text"])).as_py()
        columns: Mapping[str, Any] = {
            "doc_id": batch["doc_id"],
            "piece": batch["piece"],
            "pair": pa.array([self._name] * batch.num_rows),
            "sequence": pa.array(range(first, first + batch.num_rows), pa.int64()),
            "tokens": pa.array(encoded.offsets[1:] - encoded.offsets[:-1] + 1),
        }
        self._documents.write(
            pa.RecordBatch.from_arrays([columns[f.name] for f in TOKEN_DOCUMENTS], schema=TOKEN_DOCUMENTS)
        )

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if not self._open:
            return
        if kind is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with self._stack:
            counts = self._pair.finish()
        self._describe(counts)

    def _begin(self) -> None:
        self._open = True
        root = self._task.root
        self._files = {table: fresh_file("tokenize", table, self._name) for table in ("bin", "idx")}
        self._sinks = {
            table: HashingSink(self._stack.enter_context(storage.create(storage.join(root, file))))
            for table, file in self._files.items()
        }
        self._documents = self._stack.enter_context(PartWriter(root, "tokenize", "token_documents", self._name))
        ids = {"largest_id": self._tokenizer.largest_id, "eod": self._tokenizer.eod}
        self._pair = PairWriter(self._sinks["bin"], self._sinks["idx"], **ids)

    def _describe(self, counts: PairCounts) -> None:
        source = {"pair": self._name, "source": self._task.group.source, "split": self._split}
        sidecar = {
            **asdict(counts),
            "name": self._name,
            "source": self._task.group.source,
            "split": self._split,
            "tokenizer": self._tokenizer.digest,
            "vocabulary_size": self._tokenizer.vocabulary_size,
            "largest_id": self._tokenizer.largest_id,
            "dtype": self._pair.dtype.name,
            "eod": self._tokenizer.eod,
        }
        for table, sink in self._sinks.items():
            sha256 = sink.sha256.hexdigest()
            facts = source | ({"sidecar": sidecar} if table == "bin" else {})
            self.parts.append(Part(table, self._files[table], 0, sink.size, sha256, sha256[:32], facts))
        self.parts.append(self._documents.part(source | {"text_bytes": self._text_bytes}))
