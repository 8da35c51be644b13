"""Every hit of a benchmark n-gram in a batch of texts, and what a cut for it would remove.

Documents of any length are searched, all hits are reported, overlapping ones too. A cut takes the n-gram and 200 code
points on either side, and goes on outwards to a sentence end: what stays before it ends with the last of `. ! ?` that
leaves at least 199 code points between itself and the n-gram, what stays after it begins behind the first such mark
with at least 200 between; without a mark the cut reaches the document's edge. This is the cut of MT-NLG's tool,
measured from the n-gram as it stands in the text.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.decontamination.index import Index
from curation.decontamination.kernels import Bytes, Offsets, chosen
from curation.decontamination.words import split, text_buffers
from schemas.tables import MATCHES

_CHUNK_BYTES = 4 << 20  # text split into words at a time: 24 bytes for each word

FOUND = pa.schema([pa.field("row", pa.int64()), *list(MATCHES)[1:]])


def find(texts: pa.Array, index: Index) -> pa.RecordBatch:
    """Return all hits in a string or large_string array, sorted by row, start and words; a null has none.

    The columns are those of the matches table, with `row`, the position in `texts`, for doc_id. `start`, `end`,
    `cut_start` and `cut_end` are half-open UTF-8 byte offsets into the text as it is, on code point boundaries.
    """
    data, offsets = text_buffers(texts)
    parts = [(*_find_words(texts[a:b], index, False), a) for a, b in _chunks(offsets)]
    rows = np.concatenate([np.zeros(0, np.int64), *[rows + a for rows, *_, a in parts]])
    starts, ends = (np.concatenate([np.zeros(0, np.int64), *[p[i] for p in parts]]) for i in (1, 2))
    positions = np.concatenate([np.zeros(0, np.int64), *[p[3] for p in parts]])
    return _with_cuts(data, offsets, rows, starts, ends, positions, index)


def _chunks(offsets: Offsets) -> list[tuple[int, int]]:
    """Cut rows into ranges of about 4 MiB of text, a larger text alone."""
    numbers = (offsets[:-1] - offsets[0]) // _CHUNK_BYTES
    firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
    return list(zip(firsts.tolist(), [*firsts[1:].tolist(), len(numbers)], strict=True)) if len(numbers) else []


def _find_words(texts: pa.Array, index: Index, again: bool) -> tuple[Offsets, Offsets, Offsets, Offsets]:
    """Return row, start, end and position in the index of every hit, in both readings of zero-width spaces."""
    words = split(texts, index.mode, zero_width_space_separates=again)
    rows, firsts, positions = chosen().search(words.hashes, words.offsets, index.lookup)
    lasts = firsts + index.words[positions] - 1
    hits = (rows, words.starts[firsts], words.ends[lasts], positions)
    either = np.flatnonzero(words.either)
    if not len(either):
        return hits
    rows_again, *others = _find_words(texts.take(pa.array(either)), index, True)
    twice = words.either[rows]
    pairs = zip((column[twice] for column in hits), (either[rows_again], *others), strict=True)
    merged = np.unique(np.stack([np.concatenate(pair) for pair in pairs]), axis=1)
    rows, starts, ends, positions = (np.r_[column[~twice], own] for column, own in zip(hits, merged, strict=True))
    return rows, starts, ends, positions


def _with_cuts(
    data: Bytes, offsets: Offsets, rows: Offsets, starts: Offsets, ends: Offsets, positions: Offsets, index: Index
) -> pa.RecordBatch:
    order = np.lexsort((index.words[positions], starts, rows))
    rows, starts, ends, positions = rows[order], starts[order], ends[order], positions[order]
    cuts = chosen().cuts(data, offsets, rows, starts, ends)
    columns: list[npt.NDArray[np.generic]] = [rows, index.ngrams[positions], index.words[positions].astype(np.int32)]
    columns += [starts, ends, *cuts]
    return pa.RecordBatch.from_arrays([pa.array(c, f.type) for c, f in zip(columns, FOUND, strict=True)], schema=FOUND)
