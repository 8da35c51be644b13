"""What a text looks like, in numbers: one pass, no opinion. Thresholds live in profiles.

Definitions, which `schemas.tables.SIGNAL_FIELDS` gives column by column:

- whitespace: what `str.isspace` calls so: Unicode's White_Space (no-break spaces and U+2028 among it) and U+001C–1F.
- word: a maximal run of code points that are not whitespace. Punctuation belongs to the word it touches and never makes
  a word of its own by being split off, as in the Gopher paper; a dash between two spaces is a word without a letter.
- letter: what `str.isalpha` calls so (Unicode's L categories). Digit: 0–9.
- line: what lies between line ends, without the whitespace around it. LF and CR end a line and nothing else does:
  U+2028, U+0085, VT and FF are whitespace inside one. Blank lines are no lines: they neither count nor repeat.
- ellipsis: … or three dots; dots are taken three at a time from the left.
- ratios are rounded half up; a ratio over nothing is 0; what exceeds int32 is stored as its largest number.

The Unicode tables are those of the running Python: `unicodedata.unidata_version` affects the numbers.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.text import counts
from schemas.tables import SIGNAL_FIELDS

Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]

SCHEMA = pa.schema(SIGNAL_FIELDS)


def compute(texts: pa.Array) -> pa.RecordBatch:
    """Return the signals of each text, in the columns of `schemas.tables.SIGNAL_FIELDS`.

    Args:
        texts: string or large_string without nulls; may be a slice.

    Raises:
        ValueError: a text is null.
    """
    if texts.null_count:
        raise ValueError("signals are of texts: the array holds nulls")
    offsets, data = _buffers(texts)
    columns = _columns(counts.count(data, offsets).T, np.diff(offsets))
    arrays = [pa.array(columns[field.name].astype(field.type.to_pandas_dtype())) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _buffers(texts: pa.Array) -> tuple[Int64, UInt8]:
    """Return the byte offsets (n + 1) and the bytes of an array's texts, without copying the bytes."""
    large = texts.cast(pa.large_string())
    _, offsets, data = large.buffers()
    starts = np.zeros(1, np.int64)
    if len(large):
        starts = np.frombuffer(offsets, np.int64)[large.offset : large.offset + len(large) + 1]
    text = np.frombuffer(data or b"\0", np.uint8)  # numpy refuses a buffer of no bytes
    for array in (starts, text):
        array.setflags(write=False)  # whoever made the buffers: one type, so one compilation
    return starts, text


def _columns(counted: Int64, text_bytes: Int64) -> dict[str, Int64]:
    characters, words, lines = counted[counts.CHARACTERS], counted[counts.WORDS], counted[counts.LINES]
    symbols = np.maximum(counted[counts.HASHES], counted[counts.ELLIPSES])
    return {
        "characters": characters,
        "words": words,
        "tokens_estimated": -(-text_bytes // 4),
        "lines": lines,
        "mean_word_length_milli": _ratio(counted[counts.WORD_CHARACTERS], words, 1_000),
        "symbol_word_ppm": _ratio(symbols, words, 1_000_000),
        "bullet_line_ppm": _ratio(counted[counts.BULLETED], lines, 1_000_000),
        "ellipsis_line_ppm": _ratio(counted[counts.ENDING], lines, 1_000_000),
        "alphabetic_word_ppm": _ratio(counted[counts.ALPHABETIC], words, 1_000_000),
        "stop_words": np.bitwise_count(counted[counts.STOPS]).astype(np.int64),
        "duplicate_line_ppm": _ratio(counted[counts.REPEATED], lines, 1_000_000),
        "duplicate_line_character_ppm": _ratio(
            counted[counts.REPEATED_CHARACTERS], counted[counts.LINE_CHARACTERS], 1_000_000
        ),
        "digit_ppm": _ratio(counted[counts.DIGITS], characters, 1_000_000),
    }


def _ratio(part: Int64, whole: Int64, unit: int) -> Int64:
    """Return part / whole in units of 1 / unit, rounded half up and held within int32; 0 where whole is 0."""
    rounded = (2 * unit * part + whole) // np.maximum(2 * whole, 1)
    held: Int64 = np.minimum(rounded, np.iinfo(np.int32).max)
    return held
