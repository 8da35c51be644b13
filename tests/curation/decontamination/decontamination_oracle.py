"""The rules of decontamination in plain Python, slow and simple, with the historic tool's defects as switches.

With no defect this is what we promise; with all of them it is the tool that made MT-NLG's corpus. A document where
the two differ is explained by the smallest set of defects that turns our result into the tool's.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property

MARGIN, MIN_PIECE, MAX_PIECES, SHORTEST, LONGEST = 200, 200, 10, 8, 13
NO_WIDTH = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)

# The tool cuts at the first hit and searches what is behind the cut anew, so a long text leaves its last words.
RESUMES = "resumes behind the cut"
# It measures the right margin from the n-gram's words joined by single spaces, not from the text.
NORMALISED_LENGTH = "length of the joined words"
# It searches nothing of fewer than 13 words, and looks for shorter n-grams in its own order.
SHORT_TEXTS = "short texts unsearched"
# It applies positions in the lower-cased text to the original.
LOWER_CASE_SHIFT = "lower case shifts"
DEFECTS = (RESUMES, NORMALISED_LENGTH, SHORT_TEXTS, LOWER_CASE_SHIFT)

Span = tuple[int, int]
Word = tuple[str, int, int]


class Ngrams(frozenset[tuple[str, ...]]):
    """N-grams, and how they begin: a word that begins none need not be looked up at six lengths."""

    @cached_property
    def beginnings(self) -> frozenset[tuple[str, ...]]:
        return frozenset(ngram[:SHORTEST] for ngram in self)


def paper_words(text: str, defects: frozenset[str] = frozenset()) -> list[Word]:
    """Return words with their first and last position, in characters."""
    lowered = text.lower()
    origins: Sequence[int] = range(len(lowered))
    if len(lowered) > len(text) and LOWER_CASE_SHIFT not in defects:  # no character has a lower case of no characters
        origins = [i for i, c in enumerate(text) for _ in c.lower()]
    return [
        (m.group().replace("ς", "σ"), origins[m.start()], origins[m.end() - 1] + 1)
        for m in re.finditer(r"\w+", lowered)
    ]


def extended_words(text: str) -> list[str]:
    """Return the words of the extended mode, without positions."""
    folded = unicodedata.normalize("NFKC", NO_WIDTH.sub("", text)).casefold()
    return re.findall(r"\w+", unicodedata.normalize("NFKC", folded))


def ngrams_of(words: list[str]) -> Iterator[tuple[str, ...]]:
    """Return what protects a benchmark text of these words."""
    if len(words) >= SHORTEST:
        length = min(len(words), LONGEST)
        yield from (tuple(words[i : i + length]) for i in range(len(words) - length + 1))


def hits(words: list[str], ngrams: Ngrams, defects: frozenset[str] = frozenset()) -> Iterator[Span]:
    """Yield first word and length of every hit, in the order in which the tool meets them."""
    lengths = (LONGEST, *range(SHORTEST, LONGEST))
    begun = (i for i in range(len(words) - SHORTEST + 1) if tuple(words[i : i + SHORTEST]) in ngrams.beginnings)
    windows = ((i, n) for i in begun for n in lengths if i + n <= len(words))
    if SHORT_TEXTS in defects:
        whole = len(words) - LONGEST + 1
        windows = (pair for pair in windows if pair[0] < whole)
        tail = ((i, n) for n in range(SHORTEST, LONGEST) for i in range(whole - 1, len(words) - n + 1))
        windows = itertools.chain(windows, tail if whole > 1 else ())
    return (pair for pair in windows if tuple(words[pair[0] : sum(pair)]) in ngrams)


def cut(text: str, start: int, end: int) -> Span:
    """Return the characters a hit takes with it."""
    left = start - MARGIN
    while left >= 0 and text[left] not in ".!?":
        left -= 1
    right = end + MARGIN
    while right < len(text) and text[right] not in ".!?":
        right += 1
    return max(left, -1) + 1, min(right + 1, len(text))


def cuts(text: str, ngrams: Ngrams, defects: frozenset[str] = frozenset()) -> list[Span]:
    """Return the characters each hit takes with it, in the order of hits; resuming, the hits behind each cut."""
    found, offset, rest = [], 0, text
    while rest:
        words = paper_words(rest, defects)
        names = [word for word, _, _ in words]
        spans = []
        for first, length in hits(names, ngrams, defects):
            start, end = words[first][1], words[first + length - 1][2]
            if NORMALISED_LENGTH in defects:
                end = start + len(" ".join(names[first : first + length]))
            a, b = cut(rest, start, end)
            spans.append((offset + a, offset + b))
            if RESUMES in defects:
                break
        found += spans
        if RESUMES not in defects or not spans or len(rest) - (spans[0][1] - offset) <= MIN_PIECE:
            break
        offset, rest = spans[0][1], text[spans[0][1] :]
    return found


def pieces(text: str, ngrams: Ngrams, defects: frozenset[str] = frozenset()) -> list[str]:
    """Return what remains of a document."""
    spans = sorted(cuts(text, ngrams, defects))
    if not spans:
        return [text]
    kept, done = [], 0
    for start, end in [*spans, (len(text), len(text))]:
        if start - done > MIN_PIECE:
            kept.append(text[done:start])
        done = max(done, end)
    return kept if len(kept) <= MAX_PIECES else []


def explain(text: str, ngrams: Ngrams, theirs: list[str]) -> tuple[str, ...] | None:
    """Return the fewest defects that make the tool's result, None if no set of them does."""
    for count in range(len(DEFECTS) + 1):
        for chosen in itertools.combinations(DEFECTS, count):
            if pieces(text, ngrams, frozenset(chosen)) == theirs:
                return chosen
    return None
