"""What decontamination says of a whole run, as plain data for its manifest: shares before removal, what went, what not.

Every number is a sum over shards of what their tasks counted in the rows they wrote; `--json` and the report show it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from curation.decontamination.index import Index
from curation.decontamination.kernels import Hashes
from curation.decontamination.tally import Cells, add

MOST_FOUND = 20  # examples named per task; `curate contamination DIR --task T --example N` shows any


class Phrases(NamedTuple):
    """What is set aside in the documents of one generation, with the counts that decided."""

    generation: int
    ngrams: Hashes
    counts: pa.Table  # frequency.COUNTS over this generation and all before it


def summary(
    tallies: Iterable[tuple[str, Cells, Mapping[str, int]]], phrases: Sequence[Phrases], index: Index
) -> dict[str, Any]:
    """Return the notes of a run.

    Args:
        tallies: of each shard its source, cells of the matrix by task, and counters.
        phrases: by generation, the last one over all documents.
    """
    matrix: dict[tuple[str, str], dict[str, int]] = {}
    counters: dict[str, dict[str, int]] = {}
    for source, cells, counted in tallies:
        counters[source] = add(counters.get(source, {}), counted)
        for task, cell in cells.items():
            matrix[task, source] = add(matrix.get((task, source), {}), cell)
    found = phrases[-1].counts if phrases else None
    return {
        "tasks": _tasks(found, index),
        "matrix": [{"task": task, "source": source, **cell} for (task, source), cell in sorted(matrix.items())],
        "counters": dict(sorted(counters.items())),
        "most_found": _most_found(found, index),
        "set_aside": [row for phrase in phrases for row in _set_aside(phrase, index)],
        "exempted": _exempted(phrases[-1], index) if phrases else [],
    }


def _tasks(found: pa.Table | None, index: Index) -> list[dict[str, Any]]:
    """Return each task's coverage, and how many of its examples were found in a document before anything went."""
    numbers = index.example_tasks[_examples(found["ngram"].to_numpy(), index)] if found is not None else []
    counts = np.bincount(np.asarray(numbers, np.int64), minlength=len(index.tasks))
    return [{**row._asdict(), "found": int(counts[i])} for i, row in enumerate(index.coverage)]


def _examples(ngrams: Hashes, index: Index) -> Any:
    """Return the numbers of the examples that have any of the n-grams."""
    which = np.isin(np.repeat(index.ngrams, np.diff(index.posting_offsets)), ngrams)
    return np.unique(index.postings[which])


def _most_found(found: pa.Table | None, index: Index) -> list[dict[str, Any]]:
    """Return the examples with the n-grams found in most documents, at most `MOST_FOUND` of each task."""
    if found is None or not len(found):
        return []
    documents = np.zeros(len(index.ngrams), np.int64)
    documents[index.positions(found["ngram"].to_numpy())] = found["documents"].to_numpy()
    most = np.zeros(len(index.example_tasks), np.int64)
    np.maximum.at(most, index.postings, np.repeat(documents, np.diff(index.posting_offsets)))
    rows: list[dict[str, Any]] = []
    for number, task in enumerate(index.tasks):
        own = np.flatnonzero((index.example_tasks == number) & (most > 0))
        own = own[np.lexsort((index.example_rows[own], -most[own]))][:MOST_FOUND]
        rows += [{"task": task, "row": int(index.example_rows[e]), "documents": int(most[e])} for e in own]
    return rows


def _set_aside(phrase: Phrases, index: Index) -> list[dict[str, Any]]:
    counts = phrase.counts.filter(pa.array(np.isin(phrase.counts["ngram"].to_numpy(), phrase.ngrams)))
    rows = []
    for ngram, documents in zip(counts["ngram"].to_pylist(), counts["documents"].to_pylist(), strict=True):
        task, row = index.examples_of(ngram)[0]
        about = {"generation": phrase.generation, "ngram": ngram, "documents": documents, "task": task, "row": row}
        rows.append({**about, "examples": len(index.examples_of(ngram))})
    return rows


def _exempted(phrase: Phrases, index: Index) -> list[dict[str, Any]]:
    """Return the examples of which n-grams were found and all those found were set aside."""
    ngrams = phrase.counts["ngram"].to_numpy()
    rest = _examples(np.setdiff1d(ngrams, phrase.ngrams), index)
    exempted = np.setdiff1d(_examples(phrase.ngrams, index), rest)
    return [{"task": index.tasks[index.example_tasks[e]], "row": int(index.example_rows[e])} for e in exempted]
