"""The filter's judgement: numbers and a profile in, one verdict a document out, and no text.

The rules stand in one order, and a document gets the first reason that applies:

1. `language`: nothing of it was extracted, because its markup was in a language the source does not keep
2. `empty`: no words. This is all that happens to a source without a profile
3. `not_sampled`: its source has more documents than it may have, and others have smaller coins
4. `damaged_file`: it comes from a file that the source gives up
5. `removal_list`: somebody asked for it to be removed
6. `language`: its language is not kept; then: too little of it is in its language
7. `length`: estimated tokens, exact tokens, words, characters; minimum before maximum
8. `signal`: in the order of the columns; minimum before maximum
9. `pareto`: its coin is not below its keep probability, both in billionths

`value` and `threshold` are the integers that were compared: the document fails where value < a minimum, value > a
maximum, or coin >= probability. Both are null where a reason rests on no number. `detail` is what was compared (a
column, or `coin_billionths`), the language code, or what is wrong with the file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.errors import RecipeError
from curation.pareto import coin_billionths, keep_billionths
from curation.profiles import Language, Pareto, Profile, Threshold
from curation.reasons import Drop, Fate
from curation.text.language import UNDETERMINED
from schemas.tables import VERDICTS

Bools = npt.NDArray[np.bool_]
Int64 = npt.NDArray[np.int64]
Words = npt.NDArray[np.object_]

SCHEMA = pa.schema([VERDICTS.field(name) for name in ("fate", "reason", "detail", "value", "threshold")])


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything the judgement rests on, of n documents in one order."""

    signals: pa.RecordBatch  # columns of schemas.tables.SIGNALS
    language_hint: pa.Array  # string, language of the markup before extraction, empty where nobody asked
    quality_ppm: pa.Array | None = None  # int32, null where no classifier ran
    coins: npt.NDArray[np.float64] | None = None  # in [0, 1), for the Pareto filter alone
    damage: pa.Array | None = None  # string, empty unless the source gives up the document's file
    surplus: pa.Array | None = None  # bool, whether the source has enough documents of smaller coins
    removal: pa.Array | None = None  # bool, whether a removal list names the document

    def __post_init__(self) -> None:
        columns = (self.language_hint, self.quality_ppm, self.coins, self.damage, self.surplus, self.removal)
        if any(column is not None and len(column) != self.signals.num_rows for column in columns):
            raise ValueError("every column of evidence has one entry for each row of signals")

    def column(self, name: str) -> Int64:
        """Return a column of the signals table as int64. Raises RecipeError if it was not measured."""
        column = self.signals.column(name)
        if column.null_count:
            raise RecipeError(f"a profile asks for {name}, which was not counted: set count_exactly under [tokens]")
        numbers: Int64 = column.cast(pa.int64()).to_numpy()
        return numbers


def judge(profile: Profile, evidence: Evidence, extracted_languages: Sequence[str] = ()) -> pa.RecordBatch:
    """Return the verdict on each document: fate, reason, detail, value, threshold as in `schemas.tables.VERDICTS`.

    Args:
        profile: what the source asks; `Profile()` for a source without one.
        evidence: numbers of n documents; the verdicts are n in the same order, and each rests on its own row alone.
        extracted_languages: the markup languages that ingest extracted. If none are given, those that the profile keeps
            decide whether a document without words is `language` or `empty`.

    Raises:
        RecipeError: the profile has a Pareto filter, and a document has no quality score.
    """
    verdicts = _Verdicts.all_kept(evidence.signals.num_rows)
    for charge in _charges(profile, evidence, extracted_languages):
        verdicts.charge(charge)
    return verdicts.batch()


@dataclass(frozen=True, slots=True)
class _Charge:
    """The documents that one rule fails, with the words and numbers of the verdict; a scalar stands for all rows."""

    reason: Drop
    fails: Bools
    detail: str | Words
    value: Int64 | None = None
    threshold: int | Int64 | None = None


@dataclass(frozen=True, slots=True)
class _Verdicts:
    kept: Bools
    reason: Words
    detail: Words
    numbered: Bools  # whether value and threshold hold
    value: Int64
    threshold: Int64

    @classmethod
    def all_kept(cls, rows: int) -> "_Verdicts":
        words, numbers = np.full((2, rows), "", object), np.zeros((2, rows), np.int64)
        return cls(np.ones(rows, bool), words[0], words[1], np.zeros(rows, bool), numbers[0], numbers[1])

    def charge(self, charge: _Charge) -> None:
        """Drop the documents that the charge fails, unless an earlier one has dropped them."""
        rows = self.kept & charge.fails
        self.kept[rows] = False
        self.reason[rows] = str(charge.reason)
        self.detail[rows] = _of(charge.detail, rows)
        if charge.value is not None:
            self.numbered[rows] = True
            self.value[rows], self.threshold[rows] = charge.value[rows], _of(charge.threshold, rows)

    def batch(self) -> pa.RecordBatch:
        fate = np.where(self.kept, str(Fate.KEEP), str(Fate.DROP))
        numbers = [pa.array(column, pa.int64(), mask=~self.numbered) for column in (self.value, self.threshold)]
        words = [pa.array(column, pa.string()) for column in (fate, self.reason, self.detail)]
        return pa.RecordBatch.from_arrays([*words, *numbers], schema=SCHEMA)


def _of(column: Any, rows: Bools) -> Any:
    return column[rows] if isinstance(column, np.ndarray) else column


def _charges(profile: Profile, evidence: Evidence, extracted_languages: Sequence[str]) -> Iterator[_Charge]:
    kept_languages = tuple(extracted_languages) or (profile.language.keep if profile.language else ())
    yield from _empty(evidence, kept_languages)
    if evidence.surplus is not None:
        yield _Charge(Drop.NOT_SAMPLED, np.asarray(evidence.surplus, bool), "max_documents")
    if evidence.damage is not None:
        damage = _words(evidence.damage)
        yield _Charge(Drop.DAMAGED_FILE, damage != "", damage)
    if evidence.removal is not None:
        yield _Charge(Drop.REMOVAL_LIST, np.asarray(evidence.removal, bool), "")
    if profile.language:
        yield from _language(profile.language, evidence)
    for threshold in profile.length:
        yield _beyond(Drop.LENGTH, threshold, evidence)
    for threshold in profile.signals:
        yield _beyond(Drop.SIGNAL, threshold, evidence)
    if profile.pareto:
        yield _unlucky(profile.pareto, evidence)


def _empty(evidence: Evidence, kept_languages: Sequence[str]) -> Iterator[_Charge]:
    words = evidence.column("words")
    if kept_languages:
        hint = _words(evidence.language_hint)
        foreign = (hint != "") & ~np.isin(hint.astype(str), kept_languages)
        yield _Charge(Drop.LANGUAGE, (words == 0) & foreign, hint)
    yield _Charge(Drop.EMPTY, words < 1, "words", words, 1)


def _language(rule: Language, evidence: Evidence) -> Iterator[_Charge]:
    code, share = _words(evidence.signals.column("language")), evidence.column("language_ppm")
    yield _Charge(Drop.LANGUAGE, ~np.isin(code.astype(str), rule.keep), code)
    too_little = (share < rule.min_score_ppm) & (code != UNDETERMINED)
    yield _Charge(Drop.LANGUAGE, too_little, code, share, rule.min_score_ppm)


def _beyond(reason: Drop, threshold: Threshold, evidence: Evidence) -> _Charge:
    value = evidence.column(threshold.column)
    fails = value < threshold.limit if threshold.is_minimum else value > threshold.limit
    return _Charge(reason, fails, threshold.column, value, threshold.limit)


def _unlucky(rule: Pareto, evidence: Evidence) -> _Charge:
    if evidence.coins is None:
        raise ValueError("the Pareto filter needs a coin for each document")
    if evidence.quality_ppm is None or evidence.quality_ppm.null_count:
        raise RecipeError(
            "a profile has pareto, but documents of its source have no quality score: add [quality_model] to the "
            "recipe, or take pareto out of the profile"
        )
    coin, keeps = coin_billionths(evidence.coins), keep_billionths(evidence.quality_ppm.to_numpy(), rule.solved_alpha)
    return _Charge(Drop.PARETO, coin >= keeps, "coin_billionths", coin, keeps)


def _words(column: pa.Array) -> Words:
    words: Words = column.to_numpy(zero_copy_only=False)
    return words
