"""One scan of a shard's text for everything that is local to a document: numbers, never a fate.

Four parts, each a stage with its own key and commits: `signals`, `quality`, `signatures`, `matches`. The scan computes
those that are asked for and reads the text once, one row group at a time, whatever their number.
"""

import contextlib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from curation import storage
from curation.commits import Commit, put_commit
from curation.decontamination.index import Index
from curation.decontamination.matcher import find
from curation.dedup.bands import band_keys
from curation.dedup.buffers import pack_bands
from curation.dedup.exact import content_hash
from curation.dedup.minhash import permutations_of, signatures
from curation.dedup.scripts import written_without_spaces
from curation.dedup.settings import DedupSettings
from curation.dedup.shingles import shingle
from curation.local_copy import local_copy
from curation.parts import PartWriter, read_batches
from curation.shards.tokenizer import Tokenizer, TokenizerSpec, load
from curation.shards_table import Shard
from curation.text import language, quality, signals
from curation.text.language import LanguageSettings
from schemas.tables import MATCHES, QUALITY, SIGNALS, SIGNATURES

PARTS = ("signals", "quality", "signatures", "matches")
Annotate = Callable[[pa.RecordBatch], pa.RecordBatch]


@dataclass(frozen=True)
class ScanTask:
    """One shard, and the parts of it that are not committed yet with their keys."""

    root: str
    shard: Shard
    stale: Mapping[str, str]
    dedup: DedupSettings | None = None
    model: str | None = None  # where the classifier stands
    index: str | None = None  # where the benchmark index stands
    language: LanguageSettings = field(default_factory=LanguageSettings)
    language_model: str | None = None  # where the language model stands
    tokenizer: TokenizerSpec | None = None  # counts exact tokens, with files below input_root
    input_root: str = ""
    columns: tuple[str, ...] = field(default=("doc_id", "doc_key", "text_bytes", "text"))


def scan(task: ScanTask) -> list[Commit]:
    """Read the shard once, write and commit its stale parts, and return their commits."""
    makers = {name: _maker(name, task) for name in PARTS if name in task.stale}
    with contextlib.ExitStack() as stack:
        writers = {name: stack.enter_context(PartWriter(task.root, name, name, task.shard.shard)) for name in makers}
        for batch in read_batches(task.root, task.shard.part, list(task.columns)):
            for name, make in makers.items():
                writers[name].write(make(batch))
    facts = {"shard": task.shard.shard, "source": task.shard.source}
    commits = [
        Commit(name, task.shard.shard, task.stale[name], (writers[name].part(facts),), getattr(make, "counts", {}))
        for name, make in makers.items()
    ]
    return [put_commit(task.root, commit) for commit in commits]


def _maker(name: str, task: ScanTask) -> Annotate:
    """Return what makes one part's rows of a batch; models and tables are loaded once per process."""
    if name == "signals":
        path = str(local_copy(task.language_model)) if task.language_model else None
        counts = _tokenizer(task.tokenizer, task.input_root) if task.tokenizer else None
        return functools.partial(_signals, language.detector(task.language, path), counts)
    if name == "quality":
        model = quality.load(local_copy(str(task.model)))
        return lambda batch: _batch(QUALITY, [batch["doc_id"], model.score(batch["text"])])
    if name == "signatures":
        settings: Any = task.dedup
        return _Signatures(settings)
    return functools.partial(_matches, _load_index(str(task.index)))


def _signals(detect: Callable[[pa.Array], Any], tokenizer: Tokenizer | None, batch: pa.RecordBatch) -> pa.RecordBatch:
    texts = batch["text"]
    codes, shares = detect(texts)
    ids = [batch["doc_id"], batch["doc_key"], batch["text_bytes"]]
    exact = pa.nulls(len(texts), pa.int64()) if tokenizer is None else exact_tokens(tokenizer, texts)
    return _batch(SIGNALS, [*ids, codes, shares, content_hash(texts), exact, *signals.compute(texts).columns])


def exact_tokens(tokenizer: Tokenizer, texts: pa.Array) -> pa.Array:
    """Return how many tokens each text has, the end-of-document token not among them."""
    return pa.array(np.diff(tokenizer.encode_batch(texts).offsets), pa.int64())


@functools.lru_cache(maxsize=1)
def _tokenizer(spec: TokenizerSpec, input_root: str) -> Tokenizer:
    return load(spec, lambda path: storage.read_bytes(storage.resolve(input_root, path)))


class _Signatures:
    """Signs batches; where scripts decide what a shingle is, `counts` tells how many texts were cut by code points."""

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        self.counts = {"by_character": 0} if settings.shingle.unit == "auto" else {}

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.counts:
            self.counts["by_character"] += int(written_without_spaces(batch["text"]).sum())
        return _signatures(self._settings, batch)


def _signatures(settings: DedupSettings, batch: pa.RecordBatch) -> pa.RecordBatch:
    shingles = shingle(batch["text"], **settings.shingle.model_dump())
    permutations = permutations_of(settings.scheme, settings.bands * settings.rows, settings.seed)
    keys = band_keys(signatures(shingles, permutations), settings.bands, settings.rows)
    counts = pa.array(shingles.counts.astype(np.int32))
    return _batch(SIGNATURES, [batch["doc_id"], counts, pack_bands(keys)])


def _matches(index: Index, batch: pa.RecordBatch) -> pa.RecordBatch:
    hits = find(batch["text"], index)
    return _batch(MATCHES, [batch["doc_id"].take(hits["row"]), *hits.columns[1:]])


@functools.lru_cache(maxsize=1)
def _load_index(url: str) -> Index:
    return Index.from_bytes(storage.read_bytes(url))


def _batch(schema: pa.Schema, columns: list[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(columns, schema=schema)
