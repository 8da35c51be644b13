"""Which texts are written in scripts without spaces between words, so that only code points can be compared."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from curation.dedup.buffers import split

# Blocks of the Unicode standard: Thai, Lao, Tibetan and Myanmar; Khmer; kana and bopomofo; the ideographs.
_BLOCKS = np.array(
    [(0x0E00, 0x10A0), (0x1780, 0x1800), (0x3040, 0x3130), (0x3400, 0xA000), (0xF900, 0xFB00), (0x20000, 0x40000)]
)
_LEAST_LEAD = 0xE0  # the first byte of U+0800 and above in UTF-8
_SPACE = 0x20


def written_without_spaces(texts: pa.Array) -> NDArray[np.bool_]:
    """Return for each text whether half or more of its code points above the space are of such a script.

    Raises:
        UnicodeDecodeError: a text is not UTF-8.
    """
    data, offsets = split(texts)
    if not (data >= _LEAST_LEAD).any():
        return np.zeros(len(texts), bool)
    points = np.frombuffer(data.tobytes().decode().encode("utf-32-le"), "<u4")
    place = np.searchsorted(_BLOCKS[:, 0], points, "right") - 1
    of_script = (place >= 0) & (points < _BLOCKS[place, 1])
    before = np.zeros(data.size + 1, np.int64)  # code points that begin before each byte
    np.cumsum((data & 0xC0) != 0x80, out=before[1:])
    bounds = before[offsets]
    found: NDArray[np.bool_] = 2 * _sums(of_script, bounds) >= np.maximum(_sums(points > _SPACE, bounds), 1)
    return found


def _sums(flags: NDArray[np.bool_], bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    sums = np.zeros(flags.size + 1, np.int64)
    np.cumsum(flags, out=sums[1:])
    found: NDArray[np.int64] = np.diff(sums[bounds])
    return found
