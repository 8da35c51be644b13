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
from typing import NamedTuple

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
_LONGEST_REMEMBERED = 64  # characters: a word in any script that puts spaces between words


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
        codes[[ord(c) for c in _characters(_marks().composing)]] = DEPENDS
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


class _Marks(NamedTuple):
    """What stands with the character before it, as insides of regular expressions."""

    composing: str  # may become one character with it: a text with one of these is folded by cluster
    inert: str  # no composition has these: they separate words wherever reordering puts them


@cache
def _marks() -> _Marks:
    """Return the two kinds of combining characters, from Python's Unicode database."""
    seconds, combining = set(), set()
    for character in (chr(c) for block in _ASSIGNED for c in block):
        first, _, second = unicodedata.decomposition(character).partition(" ")
        if second and not first.startswith("<"):
            pair = chr(int(first, 16)) + chr(int(second, 16))
            seconds |= {pair[1]} if unicodedata.normalize("NFC", pair) != pair else set()
        if unicodedata.combining(unicodedata.normalize("NFKD", character)[0]):
            combining.add(character)
    inert = {c for c in combining if not seconds & set(_parts(c)) and not any(map(str.isalnum, _parts(c)))}
    hangul = {chr(c) for block in (range(0x1161, 0x1176), range(0x11A8, 0x11C3)) for c in block}  # vowels and finals
    halfwidth_hangul = {chr(c) for c in range(0xFFA0, 0xFFDD)}
    composing = (combining | seconds | hangul | halfwidth_hangul) - inert
    return _Marks(*("".join(map(re.escape, sorted(kind))) for kind in (composing, inert)))


def _parts(character: str) -> str:
    return unicodedata.normalize("NFKD", character) + unicodedata.normalize("NFKD", character.casefold())


@cache
def _clusters() -> re.Pattern[str]:
    """Return the pattern of a character with everything that may compose with it: clusters fold independently."""
    return re.compile(f".{_attached()}", re.DOTALL)


@cache
def _stretches() -> re.Pattern[str]:
    """Return the pattern of whole clusters up to a space, which is mostly one word: few enough to be remembered."""
    return re.compile(f"[^ \n]+(?:[ \n]{_attached()})?|[ \n]{_attached()}")


def _attached() -> str:
    marks = _marks()
    return f"(?:(?:[{marks.inert}]*[{marks.composing}{_NO_WIDTH}])+[{marks.inert}]*)?"


def _split_slowly(text: str, fold: FoldTable) -> tuple[Hashes, Offsets, Offsets]:
    """Return the words of a text with combining characters, cluster by cluster."""
    separates = bool(fold.codes[ord(_ZERO_WIDTH_SPACE)] == SEPARATOR)
    folded, sizes = [], []
    for match in _stretches().finditer(text):
        stretch = match.group()
        fold_stretch = _fold_stretch if len(stretch) <= _LONGEST_REMEMBERED else _fold_stretch.__wrapped__
        folded.append(fold_stretch(stretch, separates))
        sizes.append(folded[-1].size)
    lengths = [len(stretch.codes) for stretch in folded]
    shifts = np.repeat(np.cumsum([0, *sizes[:-1]]), lengths)
    starts, ends = (np.concatenate([getattr(stretch, name) for stretch in folded]) for name in ("starts", "ends"))
    return chosen().split_codes(np.concatenate([stretch.codes for stretch in folded]), starts + shifts, ends + shifts)


class _Folded(NamedTuple):
    codes: npt.NDArray[np.uint32]
    starts: Offsets  # of the cluster that each code comes from, in bytes
    ends: Offsets
    size: int


@lru_cache(maxsize=1 << 16)
def _fold_stretch(stretch: str, zero_width_space_separates: bool) -> _Folded:
    codes, starts, ends, at = [], [], [], 0
    for cluster in _clusters().findall(stretch):
        own = _fold_cluster(cluster, zero_width_space_separates)
        size = len(cluster.encode())
        codes += own
        starts += [at] * len(own)
        ends += [at + size] * len(own)
        at += size
    return _Folded(np.array(codes, np.uint32), np.array(starts, np.int64), np.array(ends, np.int64), at)


def _fold_cluster(cluster: str, zero_width_space_separates: bool) -> list[int]:
    visible = re.sub(f"[{_NO_WIDTH}]", "", cluster)
    if not zero_width_space_separates:
        visible = visible.replace(_ZERO_WIDTH_SPACE, "")
    return list(_folded_codes(visible, "extended"))


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
