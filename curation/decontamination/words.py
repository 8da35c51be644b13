"""The words of a text, each with the bytes of the original it came from.

`paper` is the rule of the tool that made MT-NLG's corpus: lower case, and a word is a run of `\\w`. `extended` folds
by NFKC and case folding first and ignores what has no width, so that soft hyphens, ligatures and decomposed accents
hide nothing. Folding happens word by word in a hash and never in the text: no offset ever moves, whatever folding does
to lengths. Two deviations, both towards finding more: the final form of sigma counts as sigma, so that lower-casing
needs no context; and U+200B, which some write inside words and others between them, is read both ways.
"""

import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.decontamination import Mode
from curation.decontamination.kernels import (
    DEPENDS,
    EITHER,
    EXPANSION,
    IGNORED,
    SEPARATOR,
    Bytes,
    FoldTable,
    Hashes,
    Offsets,
    chosen,
)

_ASSIGNED = [range(0x40000), range(0xE0000, 0xE1000)]  # Unicode puts no characters between, and only private ones after
# Default-ignorable: soft hyphen, grapheme joiner, Mongolian separators, zero-width joiners and marks, bidirectional
# controls, invisible operators, variation selectors, byte order mark, tags.
_NO_WIDTH = (
    "\u00ad\u034f\u061c\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff"
)
_ZERO_WIDTH_SPACE = "\u200b"


@dataclass(frozen=True, eq=False)
class Words:
    """Words of many texts. Text i has words offsets[i] to offsets[i + 1]; starts and ends are bytes of text i."""

    hashes: Hashes
    starts: Offsets
    ends: Offsets
    offsets: Offsets
    either: npt.NDArray[np.bool_]  # texts with a character that may join words or separate them


def split(texts: pa.Array, mode: Mode, zero_width_space_separates: bool = False) -> Words:
    """Return the words of a string or large_string array; a null has none.

    A word's 64-bit hash depends on its folded characters alone. Two of 10 million distinct words share a hash with
    odds of 1 in 370,000.
    """
    data, offsets = text_buffers(texts)
    fold = fold_table(mode, zero_width_space_separates)
    hashes, starts, ends, word_offsets, flags = chosen().split(data, offsets, fold)
    slow = {int(row): texts[int(row)].as_py() for row in np.flatnonzero(flags & 1)}
    if not zero_width_space_separates:  # the kernel leaves a slow text at the first character that makes it one
        flags[[row for row, text in slow.items() if _ZERO_WIDTH_SPACE in text]] |= 2
    words = Words(hashes, starts, ends, word_offsets, (flags & 2) != 0)
    return _with_slow(words, {row: _split_slowly(text, fold) for row, text in slow.items()}) if slow else words


def text_buffers(texts: pa.Array) -> tuple[Bytes, Offsets]:
    """Return the UTF-8 bytes of a string array and the len + 1 offsets of its values; a null is an empty range."""
    texts = texts.cast(pa.large_string())
    if texts.null_count:
        texts = texts.fill_null("")
    _, offset_buffer, data_buffer = texts.buffers()
    if offset_buffer is None or not len(texts):
        return np.zeros(0, np.uint8), np.zeros(len(texts) + 1, np.int64)
    offsets = np.frombuffer(offset_buffer, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.zeros(0, np.uint8)
    return data, offsets


@cache
def fold_table(mode: Mode, zero_width_space_separates: bool = False) -> FoldTable:
    """Build the table of a word rule from Python's Unicode database (about 0.3 s, once per process)."""
    codes = np.zeros(sys.maxunicode + 1, np.uint32)
    sequences: dict[tuple[int, ...], int] = {}
    for code_point in (c for block in _ASSIGNED for c in block):
        folded = tuple(_folded_codes(chr(code_point), mode))
        if len(folded) == 1:
            codes[code_point] = folded[0]
        elif any(folded):
            codes[code_point] = EXPANSION + sequences.setdefault(folded, len(sequences))
    if mode == "extended":
        codes[[ord(c) for c in _characters(_depends_on_neighbours())]] = DEPENDS
        codes[[ord(c) for c in _characters(_NO_WIDTH)]] = IGNORED
        codes[ord(_ZERO_WIDTH_SPACE)] = SEPARATOR if zero_width_space_separates else EITHER
    lengths = [len(sequence) for sequence in sequences]
    return FoldTable(
        codes,
        np.array([code for sequence in sequences for code in sequence], np.uint32),
        np.cumsum([0, *lengths]).astype(np.int64),
    )


def unicode_version() -> str:
    """Return the version of the database that decides what a word is: it belongs into the key of a stage."""
    return unicodedata.unidata_version


def _folded_codes(text: str, mode: Mode) -> Iterator[int]:
    folded = _casefold(text) if mode == "extended" else text.lower().replace("ς", "σ")
    return (ord(c) if c.isalnum() or c == "_" else SEPARATOR for c in folded)  # exactly the \w of `re`


def _casefold(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _characters(ranges: str) -> list[str]:
    return re.findall(f"[{ranges}]", "".join(map(chr, [*range(0xD800), *range(0xE000, 0x20000), *_ASSIGNED[1]])))


@cache
def _depends_on_neighbours() -> str:
    """Return the characters that may combine with what stands before them, as the inside of a regular expression."""
    combining, seconds = set(), set()
    for character in (chr(c) for block in _ASSIGNED for c in block):
        canonical = unicodedata.decomposition(character)
        if " " in canonical and not canonical.startswith("<"):
            seconds.add(chr(int(canonical.split()[1], 16)))
        if unicodedata.combining(unicodedata.normalize("NFKD", character)[0]):
            combining.add(character)
    hangul = {chr(c) for block in (range(0x1161, 0x1176), range(0x11A8, 0x11C3)) for c in block}  # vowels and finals
    halfwidth_hangul = {chr(c) for c in range(0xFFA0, 0xFFDD)}
    return "".join(map(re.escape, sorted(combining | seconds | hangul | halfwidth_hangul)))


@cache
def _clusters() -> re.Pattern[str]:
    """Return the pattern of a character with everything that may combine with it: clusters fold independently."""
    attached = f"[{_depends_on_neighbours()}{_NO_WIDTH}]"
    return re.compile(f".{attached}*", re.DOTALL)


def _split_slowly(text: str, fold: FoldTable) -> tuple[Hashes, Offsets, Offsets]:
    """Return the words of a text with combining characters, cluster by cluster."""
    separates = fold.codes[ord(_ZERO_WIDTH_SPACE)] == SEPARATOR
    codes: list[int] = []
    lengths: list[int] = []
    sizes: list[int] = []
    for match in _clusters().finditer(text):
        cluster_codes, size = _fold_cluster(match.group(), bool(separates))
        codes += cluster_codes
        lengths.append(len(cluster_codes))
        sizes.append(size)
    ends = np.cumsum(sizes)
    repeats = np.array(lengths)
    return chosen().split_codes(
        np.array(codes, np.uint32), np.repeat(ends - np.array(sizes), repeats), np.repeat(ends, repeats)
    )


@lru_cache(maxsize=1 << 16)
def _fold_cluster(cluster: str, zero_width_space_separates: bool) -> tuple[list[int], int]:
    visible = re.sub(f"[{_NO_WIDTH}]", "", cluster)
    if not zero_width_space_separates:
        visible = visible.replace(_ZERO_WIDTH_SPACE, "")
    return list(_folded_codes(visible, "extended")), len(cluster.encode())


def _with_slow(words: Words, slow: dict[int, tuple[Hashes, Offsets, Offsets]]) -> Words:
    """Put the words of the slow texts where the kernel left none."""
    counts = np.diff(words.offsets)
    columns: list[list[npt.NDArray[np.generic]]] = [[], [], []]
    done = 0
    for row, found in sorted(slow.items()):
        here = int(words.offsets[row])
        for column, fast, late in zip(columns, (words.hashes, words.starts, words.ends), found, strict=True):
            column += [fast[done:here], late]
        counts[row], done = len(found[0]), here
    tails = (words.hashes[done:], words.starts[done:], words.ends[done:])
    hashes, starts, ends = (np.concatenate([*column, tail]) for column, tail in zip(columns, tails, strict=True))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return Words(hashes, starts, ends, offsets, words.either)
