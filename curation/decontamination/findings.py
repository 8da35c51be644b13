"""Where the examples of a benchmark were found: committed matches beside the verdicts of their documents."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from curation import storage
from curation.decontamination.examples import index_url, read_examples
from curation.decontamination.index import Index
from curation.decontamination.kernels import Hashes
from curation.errors import RecipeError
from curation.lookup import Folder
from curation.parts import Part, read_batches

NOT_REACHED = "not reached"  # a judge before decontaminate dropped the document


@dataclass(frozen=True)
class Finding:
    """A document that has n-grams of an example: how many hits, between which bytes, and what became of it."""

    doc_id: int
    locator: str
    hits: int
    start: int
    end: int
    fate: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def contamination_notes(folder: Folder) -> Mapping[str, Any]:
    """Return what decontaminate's manifest says. Raises RecipeError if the run had no benchmarks."""
    manifest = folder.manifests.get("decontaminate")
    if manifest is None:
        raise RecipeError(f"{folder.root}: the last run had no [decontamination]; add benchmarks to its recipe")
    notes: Mapping[str, Any] | None = manifest.notes.get("contamination")
    if notes is None:
        raise RecipeError(f"{manifest.path}: was made before contamination was told; `curate run` makes it anew")
    return notes


def check_task(notes: Mapping[str, Any], task: str) -> None:
    """Raise RecipeError unless the run has the task."""
    known = [row["task"] for row in notes["tasks"]]
    if task not in known:
        raise RecipeError(f"{task}: no such task; there are: {', '.join(known)}")


def find_example(folder: Folder, task: str, row: int) -> list[Finding]:
    """Return every document with an n-gram of an example, in order of doc_id, whatever stage it came to.

    Raises:
        RecipeError: the task has no example with this row, or it is too short to be protected.
    """
    key = folder.manifests["matches"].key
    index = Index.from_bytes(storage.read_bytes(index_url(folder.root, key)))
    ngrams = index.ngrams_of(task, row)
    if not len(ngrams):
        rows = [example.row for example in read_examples(folder.root, key) if example.task == task]
        if row in rows:
            raise RecipeError(f"{task} {row}: none of its texts has 8 words, so that nothing protects it")
        raise RecipeError(f"{task} {row}: no such example; rows are numbered from 0 to {max(rows, default=0)}")
    return [finding for part in folder.manifests["matches"].parts() for finding in _of_part(folder, part, ngrams)]


def example_rows(folder: Folder) -> dict[str, dict[str, Any]]:
    """Return of each task what an evaluation needs to tell its clean examples from the others.

    `examples` counts them; `found` are the rows of those with an n-gram in a document that came to be judged, before
    anything was cut, so that phrases set aside count too; `unprotected` are those too short to be looked for.
    """
    index = Index.from_bytes(storage.read_bytes(index_url(folder.root, folder.manifests["matches"].key)))
    ngrams = [_judged_ngrams(folder, part) for part in folder.manifests["matches"].parts()]
    hit = np.isin(index.ngrams, np.concatenate(ngrams)) if ngrams else np.zeros(len(index.ngrams), np.bool_)
    found = np.unique(index.postings[np.repeat(hit, np.diff(index.posting_offsets))])
    unprotected = np.setdiff1d(np.arange(len(index.example_tasks)), index.postings)
    return {
        task: {
            "examples": int((index.example_tasks == number).sum()),
            "found": _rows(index, found, number),
            "unprotected": _rows(index, unprotected, number),
        }
        for number, task in enumerate(index.tasks)
    }


def _rows(index: Index, examples: Any, task: int) -> list[int]:
    rows: list[int] = np.sort(index.example_rows[examples[index.example_tasks[examples] == task]]).tolist()
    return rows


def _judged_ngrams(folder: Folder, part: Part) -> Hashes:
    """Return the n-grams found in the documents of a shard that decontaminate received."""
    shard = part.facts["shard"]
    verdicts = [p for p in folder.manifests["decontaminate"].parts("verdicts") if p.facts["shard"] == shard]
    judged = [batch["doc_id"].to_numpy() for p in verdicts for batch in read_batches(folder.root, p, ["doc_id"])]
    ids = np.concatenate(judged) if judged else np.zeros(0, np.int64)
    kept = [
        batch["ngram"].to_numpy()[np.isin(batch["doc_id"].to_numpy(), ids)]
        for batch in read_batches(folder.root, part, ["doc_id", "ngram"])
    ]
    return np.unique(np.concatenate(kept)) if kept else np.zeros(0, np.uint64)


def _of_part(folder: Folder, part: Part, ngrams: Hashes) -> Iterator[Finding]:
    columns = ["doc_id", "ngram", "start", "end"]
    kept = [
        b.filter(pa.array(np.isin(b["ngram"].to_numpy(), ngrams))) for b in read_batches(folder.root, part, columns)
    ]
    if not any(batch.num_rows for batch in kept):
        return
    summed = (
        pa.Table.from_batches(kept).group_by("doc_id").aggregate([("start", "min"), ("end", "max"), ([], "count_all")])
    )
    fates = _fates(folder, part.facts["shard"], summed["doc_id"])
    for row in summed.sort_by("doc_id").to_pylist():
        doc_id = row["doc_id"]
        fate, reason = fates.get(doc_id, (NOT_REACHED, ""))
        yield Finding(doc_id, folder.locator(doc_id), row["count_all"], row["start_min"], row["end_max"], fate, reason)


def _fates(folder: Folder, shard: str, doc_ids: pa.ChunkedArray) -> dict[int, tuple[str, str]]:
    found: dict[int, tuple[str, str]] = {}
    for part in folder.manifests["decontaminate"].parts("verdicts"):
        if part.facts["shard"] == shard:
            for batch in read_batches(folder.root, part, ["doc_id", "fate", "reason"]):
                here = batch.filter(pa.compute.is_in(batch["doc_id"], doc_ids.combine_chunks()))
                found |= {row["doc_id"]: (row["fate"], row["reason"]) for row in here.to_pylist()}
    return found
