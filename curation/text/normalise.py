"""What the classifier sees of many texts at once, as machine code: `curation.text.quality.prepare`, four times as fast.

A text with one of the code points whose lower case depends on its neighbours or is several (Σ, İ) is left to Python.
"""

from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.text.compiled import SPACE, Int64, UInt8, compiled, decode, kinds

Int32 = npt.NDArray[np.int32]

COMMANDS = ("__label__", "</s>", "\0")  # what fastText would read as a label, the end of the example, padding
_LEFT_TO_PYTHON = -1


def normalise(text: str) -> str:
    """Return the text in lower case on one line, words separated by one space; applying it twice changes nothing.

    What fastText would read as a command becomes a space.

    >>> normalise("  The\\r\\nCat\\u00a0__label__positive </s>")
    'the cat positive'
    """
    lowered = text.lower()
    for command in COMMANDS:
        lowered = lowered.replace(command, " ")
    return " ".join(lowered.split())


def head(text: str, max_bytes: int) -> str:
    """Return the longest beginning of a text that has at most `max_bytes` bytes in UTF-8; no code point is halved."""
    if len(text) * 4 <= max_bytes:
        return text
    return text[:max_bytes].encode()[:max_bytes].decode("utf-8", "ignore")


def normalise_all(texts: pa.Array, max_bytes: int) -> list[str]:
    """Return `normalise(head(text, max_bytes))` of each text. `texts` are string or large_string without nulls."""
    large = texts.cast(pa.large_string())
    if not len(large):
        return []
    _, offset_buffer, data_buffer = large.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[large.offset : large.offset + len(large) + 1]
    data = np.frombuffer(data_buffer or b"\0", np.uint8)
    for array in (offsets, data):
        array.setflags(write=False)
    # a lower case is at most half as long again (Ⱥ: two bytes to three)
    out = np.empty(int(np.minimum(np.diff(offsets), max_bytes).sum()) * 3 // 2 + 8, np.uint8)
    ends = np.zeros(len(large) + 1, np.int64)
    refused = np.zeros(len(large), np.bool_)
    _normalise(data, offsets, max_bytes, kinds(), _lower_case(), out, ends, refused)
    lines: list[str] = pa.LargeStringArray.from_buffers(len(large), pa.py_buffer(ends), pa.py_buffer(out)).to_pylist()
    for row in np.flatnonzero(refused):
        lines[row] = normalise(head(large[int(row)].as_py(), max_bytes))
    return lines


@cache
def _lower_case() -> Int32:
    """Return the lower case of every code point (8 MiB), _LEFT_TO_PYTHON where it is not one code point always."""
    table = np.arange(1 << 21, dtype=np.int32)
    for point in range(0x110000):
        lowered = chr(point).lower()
        table[point] = ord(lowered) if len(lowered) == 1 else _LEFT_TO_PYTHON
    table[0x3A3] = _LEFT_TO_PYTHON  # Σ at the end of a word is ς
    return table


@compiled
def _normalise(
    data: UInt8,
    offsets: Int64,
    max_bytes: int,
    kinds: UInt8,
    lower: Int32,
    out: UInt8,
    ends: Int64,
    refused: npt.NDArray[np.bool_],
) -> None:
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        if end - start > max_bytes:
            end = start + max_bytes
            while end > start and data[end] & 0xC0 == 0x80:
                end -= 1
        written = _line(data, start, end, kinds, lower, out, ends[row])
        refused[row] = written < 0
        ends[row + 1] = ends[row] if written < 0 else written


@compiled
def _line(data: UInt8, start: int, end: int, kinds: UInt8, lower: Int32, out: UInt8, first: int) -> int:
    """Write a text's line from byte `first` of `out`; return the byte behind it, or -1 if it is Python's to do."""
    at, to, space = start, first, False
    while at < end:
        point, width = decode(data, at, end)
        at += width
        if kinds[point] & SPACE or point == 0:
            space = to > first
            continue
        point = lower[point]
        if point == -1:
            return -1
        if space:
            out[to] = 32
            to, space = to + 1, False
        to = _encode(point, out, to)
        if point == 95 or point == 62:
            left = _without_command(out, first, to)
            if left < to:
                to = left - (left > first and out[left - 1] == 32)
                space = to > first
    return to


@compiled
def _encode(point: int, out: UInt8, to: int) -> int:
    if point < 0x80:
        out[to] = point
        return to + 1
    if point < 0x800:
        out[to] = 0xC0 | point >> 6
    else:
        if point < 0x10000:
            out[to] = 0xE0 | point >> 12
        else:
            out[to] = 0xF0 | point >> 18
            to += 1
            out[to] = 0x80 | (point >> 12 & 63)
        to += 1
        out[to] = 0x80 | (point >> 6 & 63)
    out[to + 1] = 0x80 | (point & 63)
    return to + 2


@compiled
def _without_command(out: UInt8, first: int, to: int) -> int:
    """Return where the command begins that the bytes before `to` end in, or `to`."""
    if out[to - 1] == 62:
        ends = to - first >= 4 and out[to - 4] == 60 and out[to - 3] == 47 and out[to - 2] == 115
        return to - 4 if ends else to
    if to - first < 9 or out[to - 9] != 95 or out[to - 8] != 95 or out[to - 2] != 95:
        return to
    label = out[to - 7] == 108 and out[to - 6] == 97 and out[to - 5] == 98 and out[to - 4] == 101
    return to - 9 if label and out[to - 3] == 108 else to
