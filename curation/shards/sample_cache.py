"""Sample indices kept on disk under a name for what they hold, so that a second start maps them instead of building.

Megatron's own cache is named after the path of the pair and the settings of the run: whoever moves files pays again.
Here the name is a digest of the lengths of the pair's sequences and of the three numbers that decide the order. Files
are put whole under their final name, so that ranks may build at the same time and none reads half of one.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
from xxhash import xxh3_128

from curation.shards.samples import Lengths, SampleIndices, build

_VERSION = 1  # of the arrays' meaning; a new one leaves old files unread
_ARRAYS = ("documents", "samples", "shuffle")


def cached(
    folder: str | os.PathLike[str] | None, lengths: Lengths, samples: int | None, sequence_tokens: int, seed: int
) -> SampleIndices:
    """Return the indices of a pair, mapped from `folder` if they stand there, else built and put there.

    Args are those of `samples.build`. Without a folder nothing is kept. A file that cannot be read is built again.

    Raises:
        ValueError: there are no tokens, or `sequence_tokens` is less than 1.
    """
    if folder is None:
        return build(lengths, samples, sequence_tokens, seed)
    base = Path(folder)
    name = cache_key(lengths, samples, sequence_tokens, seed)
    try:
        return SampleIndices(*(np.load(base / f"{name}-{array}.npy", mmap_mode="r") for array in _ARRAYS))
    except (FileNotFoundError, ValueError, EOFError):
        built = build(lengths, samples, sequence_tokens, seed)
    base.mkdir(parents=True, exist_ok=True)
    for array in _ARRAYS:
        _put(base / f"{name}-{array}.npy", getattr(built, array))
    return built


def cache_key(lengths: Lengths, samples: int | None, sequence_tokens: int, seed: int) -> str:
    """Return the name of a pair's indices, 32 hex digits: the same for the same lengths, wherever they lie."""
    digest = xxh3_128(f"{_VERSION}\0{len(lengths)}\0{samples}\0{sequence_tokens}\0{seed}\0".encode())
    for start in range(0, len(lengths), 1 << 20):
        digest.update(np.ascontiguousarray(lengths[start : start + (1 << 20)]).astype("<i4").tobytes())
    return digest.hexdigest()


def _put(path: Path, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            np.save(file, array)
        except OSError:
            os.unlink(file.name)
            raise
    os.replace(file.name, path)
