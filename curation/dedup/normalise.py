"""The one normalisation behind content hashes and shingles, so that equal hashes imply equal shingle sets.

Letters are lower-cased by Unicode's simple mapping, one code point at a time (pyarrow's utf8_lower). Words are what
lies between bytes 0x00 to 0x20: space, tab, line breaks, the other ASCII controls and NUL separate words. Nothing
else does: not U+007F, U+0085 (next line), U+00A0 (no-break space), U+2000 to U+200B, U+2028 nor U+3000 (ideographic
space), which are letters to us. Punctuation is part of its word.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from curation.dedup.buffers import split
from curation.dedup.kernels import PADDING, WHITESPACE, Bytes, Integers, chosen


def lower(texts: pa.Array) -> tuple[Bytes, Integers]:
    """Return (data, offsets) of the lower-cased texts, with `PADDING` bytes of whitespace after the last one."""
    lowered, offsets = split(pc.utf8_lower(texts.cast(pa.large_string())))
    data = np.empty(lowered.size + PADDING, np.uint8)
    data[: lowered.size] = lowered
    data[lowered.size :] = WHITESPACE
    return data, offsets


def normalise(texts: pa.Array) -> tuple[Bytes, Integers]:
    """Return (data, offsets) of the lower-cased texts, their words joined by single spaces; padded like `lower`."""
    return chosen().collapse(*lower(texts))
