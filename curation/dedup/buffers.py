"""Arrow arrays as numpy arrays and back, without a Python object per value.

Arrays may be slices: `offset` is honoured, and only the bytes of the slice are seen.
"""

from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from curation.dedup.kernels import Bytes, Hashes, Integers

T = TypeVar("T", bound=np.generic)


def split(array: pa.Array) -> tuple[Bytes, Integers]:
    """Return (data, offsets) of a string or binary array, large or not; value i is data[offsets[i]:offsets[i + 1]].

    `data` is a view, `offsets` an int64 array of its own that begins with 0. A null counts as an empty value.
    """
    if array.null_count:
        array = array.fill_null("" if pa.types.is_string(array.type) or pa.types.is_large_string(array.type) else b"")
    is_large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, where, data = array.buffers()
    if len(array) == 0 or data is None:
        return np.empty(0, np.uint8), np.zeros(len(array) + 1, np.int64)
    width = np.int64 if is_large else np.int32
    offsets = np.frombuffer(where, width)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    return np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]], offsets - offsets[0]


def unpack_hashes(array: pa.Array) -> tuple[Hashes, Integers]:
    """Return (hashes, offsets) of a binary array whose values are little-endian uint64 end to end."""
    data, offsets = split(array)
    aligned = data if data.ctypes.data % 8 == 0 else data.copy()  # a value of a shuffled batch may begin anywhere
    return aligned.view("<u8"), offsets // 8


def pack_hashes(hashes: Hashes, offsets: Integers) -> pa.LargeBinaryArray:
    """Return the binary array of which `unpack_hashes` makes the same hashes and offsets."""
    data = np.ascontiguousarray(hashes, "<u8")
    return pa.Array.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets * 8), pa.py_buffer(data)]
    )


def unpack_bands(array: pa.Array, bands: int) -> NDArray[np.uint64]:
    """Return uint64[documents, bands] from a column of band keys."""
    return unpack_hashes(array)[0].reshape(len(array), bands)


def pack_bands(keys: NDArray[np.uint64]) -> pa.LargeBinaryArray:
    """Return the column of band keys, 8 bytes a band."""
    documents, bands = keys.shape
    return pack_hashes(keys.ravel(), np.arange(documents + 1, dtype=np.int64) * bands)


def own(array: NDArray[Any], dtype: type[T]) -> NDArray[T]:
    """Return the array, or a copy where it is read-only, strided, unaligned or of another type.

    Each kernel is then compiled for one kind of array only.
    """
    return np.require(array, dtype, ["C", "A", "W"])
