"""What was found in the documents of one shard, and what went of them: by task, and in the paper's five counters."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.decontamination.cuts import Judgement
from curation.decontamination.index import Index
from curation.decontamination.kernels import Hashes
from curation.reasons import Drop, Fate

CELL = ("hits", "set_aside_hits", "documents", "split", "dropped", "flagged", "pieces", "characters")
"""Of a task and a source: hits that count and hits that do not; documents with hits that count; documents split,
dropped or flagged for it, by their first hit; pieces that stay of those that were split; code points that went."""

COUNTERS = ("documents", "split", "removed", "too_many_pieces", "trimmed", "flagged")
"""As MT-NLG's tool counts: documents in all; in more than one piece, too many or not; removed since nothing long enough
is left; in too many pieces and removed; left with one piece. And those that were only flagged."""

Cells = Mapping[str, Mapping[str, int]]


def cells(matches: pa.Table, judgement: Judgement, index: Index, spared: Hashes) -> dict[str, dict[str, int]]:
    """Return a cell of the matrix for each task that has any hit; `matches` are those of the judged documents alone."""
    tasks = np.array(index.tasks, object)
    of_hit = tasks[index.task_of(matches["ngram"].to_numpy())] if len(matches) else np.zeros(0, object)
    counts = ~np.isin(matches["ngram"].to_numpy(), spared)
    pairs = {(d, t) for d, t in zip(matches["doc_id"].to_numpy()[counts].tolist(), of_hit[counts], strict=True)}
    fates, detail = judgement.verdicts["fate"].to_numpy(), judgement.verdicts["detail"].to_numpy()
    is_split = fates == Fate.SPLIT
    columns = {
        "hits": Counter(of_hit[counts]),
        "set_aside_hits": Counter(of_hit[~counts]),
        "documents": Counter(task for _, task in pairs),
        "split": Counter(detail[is_split]),
        "dropped": Counter(detail[fates == Fate.DROP]),
        "flagged": Counter(detail[(fates == Fate.KEEP) & (detail != "")]),
        "pieces": _sums(detail[is_split], judgement.verdicts["value"].fill_null(0).to_numpy()[is_split]),
        "characters": _sums(judgement.removed["task"].to_numpy(), judgement.removed["characters"].to_numpy()),
    }
    return {task: {name: int(columns[name][task]) for name in CELL} for task in sorted(set(of_hit))}


def counters(verdicts: pa.Table) -> dict[str, int]:
    """Return the paper's counters over some verdicts."""
    fates, reasons, detail = (verdicts[name].to_numpy() for name in ("fate", "reason", "detail"))
    pieces = verdicts["value"].fill_null(0).to_numpy()
    is_split, too_many = fates == Fate.SPLIT, reasons == Drop.TOO_MANY_PIECES
    chosen = {
        "documents": np.ones(len(verdicts), np.bool_),
        "split": (is_split & (pieces > 1)) | too_many,
        "removed": (fates == Fate.DROP) & ~too_many,
        "too_many_pieces": too_many,
        "trimmed": is_split & (pieces == 1),
        "flagged": (fates == Fate.KEEP) & (detail != ""),
    }
    return {name: int(chosen[name].sum()) for name in COUNTERS}


def add(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of two cells, or of two sets of counters."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _sums(names: npt.NDArray[np.object_], values: npt.NDArray[np.int64]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for name, value in zip(names.tolist(), values.tolist(), strict=True):
        sums[name] += value
    return sums
