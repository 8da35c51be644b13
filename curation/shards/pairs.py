"""One group of corpus parts becomes Megatron pairs, streamed: one for training, one for validation.

The documents that the coin holds out get a pair of their own, since Megatron's own split takes contiguous slices.
Documents keep their order. No text is moved and no pair is merged afterwards.
"""

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from curation import storage
from curation.commits import Commit
from curation.identity import coin
from curation.parts import Part, PartWriter, fresh_file, read_batches
from curation.shards.layout import index_size
from curation.shards.tokenizer import Encoded, Tokenizer, TokenizerSpec, load
from curation.shards.writer import PairCounts, PairWriter
from schemas.tables import TOKEN_DOCUMENTS

Split = Literal["train", "valid"]
SPLITS: tuple[Split, ...] = ("train", "valid")
_BATCH_BYTES = 4 << 20  # of text tokenised at once; token ids take about four times as much


@dataclass(frozen=True)
class Group:
    """Corpus parts that become one pair per split; of a shuffled source, the `share` of their documents that does."""

    source: str
    ordinal: int
    parts: tuple[Part, ...]
    share: tuple[int, int] | None = None  # number of the share, and how many there are

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


def write_pairs(task: PairTask) -> Commit:
    """Tokenise a group and write its pairs; the commit lists .bin, .idx and the documents of every sequence."""
    tokenizer = tokenizer_of(task.spec, task.asset_root)
    with contextlib.ExitStack() as stack:
        writers = {split: stack.enter_context(SplitWriter(task, split, tokenizer)) for split in SPLITS}
        for batch in text_batches(task.root, task.group.parts):
            for split, rows in _by_split(task, batch):
                size = int(pa.compute.sum(pa.compute.binary_length(rows["text"])).as_py())
                writers[split].write(rows["doc_id"], rows["piece"], tokenizer.encode_batch(rows["text"]), size)
    parts = [part for writer in writers.values() for part in writer.parts]
    return Commit("tokenize", task.group.item, task.key, tuple(parts))


def _by_split(task: PairTask, batch: pa.RecordBatch) -> Iterator[tuple[Split, pa.RecordBatch]]:
    """Yield the rows of each split that has any; where all are of one, they are not copied."""
    held_out = pa.array([is_held_out(task, key) for key in batch["doc_key"].to_pylist()], pa.bool_())
    if held_out.true_count == 0:
        yield "train", batch
        return
    of_split: dict[Split, pa.BooleanArray] = {"train": pa.compute.invert(held_out), "valid": held_out}
    for split, chosen in of_split.items():
        rows = batch.filter(chosen)
        if rows.num_rows:
            yield split, rows


@functools.lru_cache(maxsize=1)
def tokenizer_of(spec: TokenizerSpec, asset_root: str) -> Tokenizer:
    """Return the tokenizer, loaded once per process."""
    return load(spec, lambda path: storage.read_bytes(storage.resolve(asset_root, path)))


def text_batches(root: str, parts: Sequence[Part]) -> Iterator[pa.RecordBatch]:
    """Yield doc_id, doc_key, piece and text of corpus parts, in batches that a tokenizer can hold."""
    for part in parts:
        for batch in read_batches(root, part, ["doc_id", "doc_key", "piece", "text"]):
            rows = max(1, batch.num_rows * _BATCH_BYTES // max(batch.nbytes, 1))
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


def is_held_out(task: PairTask, doc_key: int) -> bool:
    """Return whether a document goes to the validation pair."""
    return coin(task.seed, doc_key, "validation") < task.validation_fraction


class SplitWriter:
    """One pair while it is written; files are opened at its first document, so that no empty pair exists.

    A context: `parts` describe the finished files once it is left.
    """

    def __init__(self, task: PairTask, split: Split, tokenizer: Tokenizer) -> None:
        self._task, self._split, self._tokenizer = task, split, tokenizer
        self._name = task.group.pair(split)
        self._stack = contextlib.ExitStack()
        self._open = False
        self._text_bytes = 0
        self.parts: list[Part] = []

    def __enter__(self) -> "SplitWriter":
        return self

    def write(self, doc_ids: pa.Array, pieces: pa.Array, documents: Encoded, text_bytes: int) -> None:
        """Append documents in their order; `text_bytes` are those of their texts."""
        if not self._open:
            self._begin()
        first, rows = self._documents.rows, len(documents)
        self._pair.write(documents)
        self._text_bytes += text_bytes
        columns: Mapping[str, Any] = {
            "doc_id": doc_ids,
            "piece": pieces,
            "pair": pa.repeat(self._name, rows),
            "sequence": pa.array(np.arange(first, first + rows)),
            "tokens": pa.array(documents.offsets[1:] - documents.offsets[:-1] + 1),
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
        bin_stream, idx_stream = (
            self._stack.enter_context(storage.create(storage.join(root, file))) for file in self._files.values()
        )
        self._documents = self._stack.enter_context(PartWriter(root, "tokenize", "token_documents", self._name))
        ids = {"largest_id": self._tokenizer.largest_id, "eod": self._tokenizer.eod}
        self._pair = PairWriter(bin_stream, idx_stream, **ids)

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
        idx_bytes = index_size(counts.sequences, counts.documents)
        for table, size, sha256 in (("bin", counts.bytes, counts.sha256_bin), ("idx", idx_bytes, counts.sha256_idx)):
            facts = source | ({"sidecar": sidecar} if table == "bin" else {})
            self.parts.append(Part(table, self._files[table], 0, size, sha256, sha256[:32], facts))
        self.parts.append(self._documents.part(source | {"text_bytes": self._text_bytes}))
