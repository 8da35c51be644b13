"""What becomes of a document with hits: the spans that go, the pieces that stay, and the verdict.

The cuts of all hits are united before pieces are counted, so that one long text found in a document is one cut. A
piece stays if it has more than 200 code points; a document in more than ten pieces is dropped whole (MT-NLG). The
rows written for a document that is cut, together with its pieces, tile its text without gap or overlap.

Instead of cutting, a recipe may drop every document with a hit, or flag it: it is kept, and `detail` names the task.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.decontamination.index import Index
from curation.decontamination.kernels import Hashes, Offsets
from curation.decontamination.settings import Removal
from curation.reasons import Drop, Fate, Split
from schemas.tables import CUTS, VERDICTS

STAGE = "decontaminate"
REMOVE = "remove"


@dataclass(frozen=True)
class CutRule:
    """What a piece must be to stay, and how many pieces a document may fall into. The defaults are MT-NLG's."""

    min_piece_characters: int = 200  # a piece of exactly so many code points goes
    max_pieces: int = 10
    removal: Removal = "split"


class Judgement(NamedTuple):
    """Rows of verdicts and cuts, and what goes by the task it goes for: a table of `task` and `characters`."""

    verdicts: pa.Table
    cuts: pa.Table
    removed: pa.Table


@dataclass(frozen=True, eq=False)
class _Spans:
    """Spans of many documents in order: numbers of the document, byte and code point ranges, and the first hit.

    The bounding hit of a gap is the one whose cut precedes it, or follows it at the beginning of a document.
    """

    documents: Offsets
    starts: Offsets
    ends: Offsets
    characters: Offsets
    first_hits: Offsets


def judge(matches: pa.Table, documents: pa.Table, index: Index, spared: Hashes, rule: CutRule) -> Judgement:
    """Judge every document and say what is cut from those that are split.

    Args:
        matches: rows of the matches table in any order, found with `index`; rows of other documents are passed over.
        documents: doc_id, text_bytes and characters, sorted by doc_id, one row per document to judge.
        spared: sorted hashes of n-grams whose hits do not count.

    Returns:
        Verdicts, one for each document in their order, and cuts, sorted by document and start.
        `split`: value is the number of pieces, threshold their allowed number. Dropped as `too_many_pieces`: the same.
        Dropped as `contaminated` (all is cut) or `too_short_after_cuts`: value is the length of the longest piece left
        in code points, threshold the length a piece must exceed. Flagged, or dropped because the rule drops all that is
        found: no number. `detail` is the task of the first hit.
    """
    doc_ids = documents["doc_id"].to_numpy()
    hits = _hits(matches, doc_ids, spared)
    lengths = documents["text_bytes"].to_numpy(), documents["characters"].to_numpy()
    cut, gaps = _tile(hits, doc_ids, *lengths)
    tasks = np.array(index.tasks, object)[index.task_of(hits["ngram"].to_numpy())] if len(hits) else np.zeros(0, object)
    verdicts, is_split = _verdicts(doc_ids, lengths[0], cut, gaps, tasks, rule)
    parts = _edits(cut, gaps, is_split, rule)
    return Judgement(verdicts, _cut_rows(doc_ids, parts, tasks), _removed(verdicts, lengths[1], parts, tasks))


def _hits(matches: pa.Table, doc_ids: Offsets, spared: Hashes) -> pa.Table:
    """Return the hits that count, in the order of documents and starts."""
    received = np.isin(matches["doc_id"].to_numpy(), doc_ids)
    counting = ~np.isin(matches["ngram"].to_numpy(), spared)
    return matches.filter(pa.array(received & counting)).sort_by(
        [("doc_id", "ascending"), ("start", "ascending"), ("words", "ascending")]
    )


def _tile(hits: pa.Table, doc_ids: Offsets, text_bytes: Offsets, characters: Offsets) -> tuple[_Spans, _Spans]:
    """Return the united cuts of every document that has any, and the gaps before, between and behind them."""
    numbers = np.searchsorted(doc_ids, hits["doc_id"].to_numpy())
    starts, ends, first_characters, last_characters = (
        hits[name].to_numpy() for name in ("cut_start", "cut_end", "cut_start_character", "cut_end_character")
    )
    reach = _running_maximum(ends, numbers)
    begins = np.ones(len(numbers), np.bool_)
    begins[1:] = (numbers[1:] != numbers[:-1]) | (starts[1:] > reach[:-1])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(numbers))[: len(first)] - 1
    document, start, end = numbers[first], starts[first], reach[last]
    start_c, end_c = first_characters[first], _running_maximum(last_characters, numbers)[last]
    cut = _Spans(document, start, end, end_c - start_c, first)

    opens = np.ones(len(first), np.bool_)  # the first cut of its document
    opens[1:] = document[1:] != document[:-1]
    closes = np.append(opens[1:], True)[: len(first)]
    before = np.where(opens, 0, np.roll(end, 1)), np.where(opens, 0, np.roll(end_c, 1))
    hit_before = np.where(opens, first, np.roll(first, 1))
    tail = document[closes]
    gap_document = np.concatenate([document, tail])
    gap_starts = np.concatenate([before[0], end[closes]])
    gap_ends = np.concatenate([start, text_bytes[tail]])
    gap_characters = np.concatenate([start_c - before[1], characters[tail] - end_c[closes]])
    gap_hits = np.concatenate([hit_before, first[closes]])
    order = np.lexsort((gap_starts, gap_document))
    order = order[gap_ends[order] > gap_starts[order]]
    gaps = _Spans(*(array[order] for array in (gap_document, gap_starts, gap_ends, gap_characters, gap_hits)))
    return cut, gaps


def _running_maximum(values: Offsets, groups: Offsets) -> Offsets:
    """Return the largest value so far within each group; groups are numbered upwards."""
    lift = groups * (int(values.max(initial=0)) + 1)
    return np.maximum.accumulate(values + lift) - lift


def _verdicts(
    doc_ids: Offsets, text_bytes: Offsets, cut: _Spans, gaps: _Spans, tasks: npt.NDArray[np.object_], rule: CutRule
) -> tuple[pa.Table, npt.NDArray[np.bool_]]:
    count = len(doc_ids)
    found = np.zeros(count, np.bool_)
    found[cut.documents] = True
    is_piece = gaps.characters > rule.min_piece_characters
    pieces = np.bincount(gaps.documents[is_piece], minlength=count)
    longest = np.zeros(count, np.int64)
    np.maximum.at(longest, gaps.documents, gaps.characters)
    detail = np.full(count, "", object)
    detail[cut.documents[::-1]] = tasks[cut.first_hits[::-1]]  # backwards: the first hit of a document stays

    is_split = found & (pieces > 0) & (pieces <= rule.max_pieces)
    too_many = found & (pieces > rule.max_pieces)
    if rule.removal != "split":
        is_split, too_many = np.zeros((2, count), np.bool_)
    numbered = found if rule.removal == "split" else too_many
    all_goes = found & ((longest == 0) | (rule.removal == "document"))
    cases = [~found | (rule.removal == "flag"), is_split, too_many, all_goes]
    fate = np.select(cases, [Fate.KEEP, Fate.SPLIT, Fate.DROP, Fate.DROP], Fate.DROP)
    reasons = ["", Split.CONTAMINATED, Drop.TOO_MANY_PIECES, Drop.CONTAMINATED]
    counted = is_split | too_many
    columns = {
        "doc_id": doc_ids,
        "text_bytes": text_bytes,
        "stage": pa.repeat(STAGE, count),
        "fate": fate.astype(str),
        "reason": np.select(cases, reasons, Drop.TOO_SHORT_AFTER_CUTS).astype(str),
        "detail": detail,
        "value": pa.array(np.where(counted, pieces, longest), pa.int64(), mask=~numbered),
        "threshold": pa.array(
            np.where(counted, rule.max_pieces, rule.min_piece_characters), pa.int64(), mask=~numbered
        ),
        "other": pa.nulls(count, pa.int64()),
    }
    return pa.table([pa.array(columns[f.name], f.type) for f in VERDICTS], schema=VERDICTS), is_split


_Edits = tuple[tuple[_Spans, npt.NDArray[np.bool_], str], ...]


def _edits(cut: _Spans, gaps: _Spans, is_split: npt.NDArray[np.bool_], rule: CutRule) -> _Edits:
    """Return the spans that go from documents that are split: which of them, and why."""
    is_short = gaps.characters <= rule.min_piece_characters
    return (
        (cut, is_split[cut.documents], str(Split.CONTAMINATED)),
        (gaps, is_split[gaps.documents] & is_short, str(Drop.TOO_SHORT_AFTER_CUTS)),
    )


def _cut_rows(doc_ids: Offsets, edits: _Edits, tasks: npt.NDArray[np.object_]) -> pa.Table:
    """Return the rows of the cuts table."""
    tables = []
    for spans, chosen, reason in edits:
        columns = {
            "doc_id": doc_ids[spans.documents[chosen]],
            "stage": pa.repeat(STAGE, int(chosen.sum())),
            "reason": pa.repeat(reason, int(chosen.sum())),
            "task": tasks[spans.first_hits[chosen]],
            "start": spans.starts[chosen],
            "end": spans.ends[chosen],
            "action": pa.repeat(REMOVE, int(chosen.sum())),
        }
        tables.append(pa.table([pa.array(columns[f.name], f.type) for f in CUTS], schema=CUTS))
    return pa.concat_tables(tables).sort_by([("doc_id", "ascending"), ("start", "ascending")])


def _removed(verdicts: pa.Table, characters: Offsets, edits: _Edits, tasks: npt.NDArray[np.object_]) -> pa.Table:
    """Return task and code points of everything that goes: each edit, and each document that is dropped whole."""
    dropped = verdicts["fate"].to_numpy() == Fate.DROP
    names = [verdicts["detail"].to_numpy()[dropped], *(tasks[spans.first_hits[chosen]] for spans, chosen, _ in edits)]
    sizes = [characters[dropped], *(spans.characters[chosen] for spans, chosen, _ in edits)]
    return pa.table({"task": pa.array(np.concatenate(names), pa.string()), "characters": np.concatenate(sizes)})


def pieces(cuts: pa.Table, text_bytes: int) -> list[tuple[int, int]]:
    """Return the byte ranges that the cuts of one document leave, in order."""
    bounds = [0, *np.stack([cuts["start"].to_numpy(), cuts["end"].to_numpy()], axis=1).ravel().tolist(), text_bytes]
    return [(a, b) for a, b in zip(bounds[::2], bounds[1::2], strict=True) if a < b]
