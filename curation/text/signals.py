"""What a text looks like, in numbers: one pass, no opinion. Thresholds live in profiles.

Definitions, which `schemas.tables.SIGNAL_FIELDS` gives column by column:

- whitespace: what `str.isspace` calls so: Unicode's White_Space (no-break spaces and U+2028 among it) and U+001C–1F.
- word: a maximal run of code points that are not whitespace. Punctuation belongs to the word it touches and never makes
  a word of its own by being split off, as in the Gopher paper; a dash between two spaces is a word without a letter.
- letter: what `str.isalpha` calls so (Unicode's L categories). Digit: 0–9.
- sentence: ends with a word that ends in . ? or !, closing quotation marks and brackets aside.
- line: what lies between line ends, without the whitespace around it. LF and CR end a line and nothing else does:
  U+2028, U+0085, VT and FF are whitespace inside one. Blank lines are no lines: they neither count nor repeat.
- paragraph: lines with no blank line between them; equal to another if all bytes between its first and last code point
  that are not whitespace are. Its code points are those of its lines.
- repeated runs of words: see `curation.text.ngrams`. Links, addresses, phone numbers and keys: `curation.text.marks`.
- ellipsis: … or three dots; dots are taken three at a time from the left.
- ratios are rounded half up; a ratio over nothing is 0; what exceeds int32 is stored as its largest number.

The Unicode tables are those of the running Python: `unicodedata.unidata_version` affects the numbers.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from curation.text import compression, counts, marks, ngrams
from schemas.tables import SIGNAL_FIELDS

Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]

SCHEMA = pa.schema(SIGNAL_FIELDS)
_PPM = 1_000_000
# what C4 looks for to tell a page's furniture from its text, in any case
PHRASES = {
    "javascript_mentions": "javascript",
    "policy_mentions": "terms of use|privacy policy|cookie policy|uses cookies|use of cookies|use cookies",
    "lorem_ipsum_mentions": "lorem ipsum",
}


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
    text_bytes = np.diff(offsets)
    counted = counts.count(data, offsets).T
    columns = {
        **_columns(counted, text_bytes),
        **_runs(ngrams.count(data, offsets).T, counted[counts.CHARACTERS]),
        **_marks(marks.count(data, offsets).T, text_bytes),
        "compressed_ppm": _ratio(compression.compressed_bytes(data, offsets), text_bytes, _PPM),
        **_phrases(texts),
    }
    arrays = [pa.array(_held(columns[field.name], field)) for field in SCHEMA]
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
        "paragraphs": counted[counts.PARAGRAPHS],
        "sentences": counted[counts.SENTENCES],
        "mean_word_length_milli": _ratio(counted[counts.WORD_CHARACTERS], words, 1_000),
        "longest_word": counted[counts.LONGEST_WORD],
        "symbol_word_ppm": _ratio(symbols, words, _PPM),
        "bullet_line_ppm": _ratio(counted[counts.BULLETED], lines, _PPM),
        "ellipsis_line_ppm": _ratio(counted[counts.ENDING], lines, _PPM),
        "alphabetic_word_ppm": _ratio(counted[counts.ALPHABETIC], words, _PPM),
        "stop_words": np.bitwise_count(counted[counts.STOPS]).astype(np.int64),
        "duplicate_line_ppm": _ratio(counted[counts.REPEATED], lines, _PPM),
        "duplicate_line_character_ppm": _ratio(
            counted[counts.REPEATED_CHARACTERS], counted[counts.LINE_CHARACTERS], _PPM
        ),
        "duplicate_paragraph_ppm": _ratio(counted[counts.REPEATED_PARAGRAPHS], counted[counts.PARAGRAPHS], _PPM),
        "duplicate_paragraph_character_ppm": _ratio(
            counted[counts.REPEATED_PARAGRAPH_CHARACTERS], counted[counts.LINE_CHARACTERS], _PPM
        ),
        "terminal_line_ppm": _ratio(counted[counts.TERMINATED], lines, _PPM),
        "short_line_ppm": _ratio(counted[counts.SHORT], lines, _PPM),
        "few_word_line_ppm": _ratio(counted[counts.OF_FEW_WORDS], lines, _PPM),
        "line_break_word_ppm": _ratio(counted[counts.LINE_BREAKS], words, _PPM),
        "curly_brackets": counted[counts.BRACKETS],
        "digit_ppm": _ratio(counted[counts.DIGITS], characters, _PPM),
    }


def _runs(repeated: Int64, characters: Int64) -> dict[str, Int64]:
    lengths = (*ngrams.TOP, *ngrams.DUPLICATE)
    names = [f"{'top' if length in ngrams.TOP else 'duplicate'}_{length}_gram_ppm" for length in lengths]
    return {name: _ratio(part, characters, _PPM) for name, part in zip(names, repeated, strict=True)}


def _marks(found: Int64, text_bytes: Int64) -> dict[str, Int64]:
    names = ("links", "emails", "ip_addresses", "phone_numbers", "keys")
    columns = {name: found[kind] for kind, name in enumerate(names)}
    return columns | {"link_byte_ppm": _ratio(found[marks.LINK_BYTES], text_bytes, _PPM)}


def _phrases(texts: pa.Array) -> dict[str, Int64]:
    large = texts.cast(pa.large_string())
    patterns = {name: f"(?i:{pattern})" for name, pattern in PHRASES.items()}
    return {name: pc.count_substring_regex(large, pattern).to_numpy() for name, pattern in patterns.items()}


def _held(numbers: Int64, field: pa.Field) -> npt.NDArray[np.integer]:
    """Return the numbers in the field's type, its largest number standing for what exceeds it."""
    kind = field.type.to_pandas_dtype()
    held: npt.NDArray[np.integer] = np.minimum(numbers, np.iinfo(kind).max).astype(kind)
    return held


def _ratio(part: Int64, whole: Int64, unit: int) -> Int64:
    """Return part / whole in units of 1 / unit, rounded half up; 0 where whole is 0."""
    rounded: Int64 = (2 * unit * part + whole) // np.maximum(2 * whole, 1)
    return np.where(whole > 0, rounded, 0)
