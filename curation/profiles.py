"""What a source asks of its documents: languages, lengths, signal thresholds, the Pareto filter.

A profile is plain, frozen data out of the recipe, and this module reads it strictly: an unknown key, a threshold on a
signal that does not exist, a number in the wrong unit or a minimum above its maximum is an error. Applying a profile
is `curation.filtering`'s.

Thresholds are named `min_<column>` and `max_<column>`, are whole numbers in the column's unit (a ratio in parts per
million), and are inclusive: a document that has exactly the minimum or the maximum stays.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from curation.pareto import MAX_ALPHA
from curation.published import merged
from schemas.tables import SIGNAL_FIELDS

# what a recipe calls a thing -> the column of the signals table that holds it, in the order of judging
LENGTHS = {"tokens": "tokens_estimated", "exact_tokens": "tokens_exact", "words": "words", "characters": "characters"}
SIGNALS = {field.name: field.name for field in SIGNAL_FIELDS}


@dataclass(frozen=True, slots=True)
class Threshold:
    """A bound on one column of the signals table."""

    name: str  # as in the recipe, e.g. max_digit_ppm
    column: str
    limit: int

    @property
    def is_minimum(self) -> bool:
        """Whether values below the limit fail; if not, values above it do."""
        return self.name.startswith("min_")


def _read_thresholds(columns: Mapping[str, str], given: object) -> object:
    """Turn a recipe's table of names and numbers into thresholds, in the order of the columns, minimum first."""
    if not isinstance(given, Mapping):
        return given
    names = {f"{bound}_{name}": column for name, column in columns.items() for bound in ("min", "max")}
    for name, limit in given.items():
        if name not in names:
            raise ValueError(f"there is no threshold {name}: did you mean {_nearest(name, names)}?")
        if type(limit) is not int or limit < 0:
            raise ValueError(f"{name} is a whole number of {_unit(names[name])}, 0 or more")
    for name in columns:
        if given.get(f"min_{name}", 0) > given.get(f"max_{name}", float("inf")):
            raise ValueError(f"min_{name} is above max_{name}: no document can pass")
    return tuple(Threshold(name, column, given[name]) for name, column in names.items() if name in given)


def _write_thresholds(thresholds: tuple[Threshold, ...]) -> dict[str, int]:
    return {threshold.name: threshold.limit for threshold in thresholds}


def _thresholds_schema(columns: Mapping[str, str]) -> dict[str, Any]:
    names = [f"{bound}_{name}" for name in columns for bound in ("min", "max")]
    numbers = {name: {"type": "integer", "minimum": 0} for name in names}
    return {"type": "object", "properties": numbers, "additionalProperties": False}


def _nearest(name: str, names: Iterable[str]) -> str:
    closest: list[str] = get_close_matches(name, list(names), n=1, cutoff=0)
    return closest[0]


def _unit(column: str) -> str:
    suffixes = {"_ppm": "parts per million", "_milli": "thousandths"}
    return next((unit for suffix, unit in suffixes.items() if column.endswith(suffix)), column)


class Rules(BaseModel):
    """A frozen part of a recipe in which an unknown key is an error that names the nearest known one."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _keys_are_known(cls, given: Any) -> Any:
        for key in given if isinstance(given, Mapping) else ():
            if key not in cls.model_fields:
                raise ValueError(f"there is no key {key}: did you mean {_nearest(str(key), cls.model_fields)}?")
        return given


Code = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")]
Languages = Annotated[tuple[Code, ...], Field(strict=False, min_length=1)]


class Language(Rules):
    """Which languages stay, and how much of a document has to be in its own.

    `und`, the code of texts whose language cannot be told, is dropped like any other code unless `keep` lists it; where
    it does, such texts stay whatever `min_score`, for they have no score.
    """

    keep: Languages = Field(description="ISO 639 codes, and und", examples=[["en"]])
    min_score: float = Field(default=0.0, ge=0, le=1, description="least share of the text in its main language")

    @property
    def min_score_ppm(self) -> int:
        """`min_score` in parts per million, rounded half up from the number as the recipe writes it."""
        return int((Decimal(repr(self.min_score)) * 1_000_000).to_integral_value(ROUND_HALF_UP))


class Pareto(Rules):
    """The Pareto filter on the classifier's score: kept with probability (2 - score)**-alpha."""

    alpha: Annotated[float, Field(gt=0, le=MAX_ALPHA)] | Literal["auto"] = Field(
        description="the paper: 3; GPT-3: 9; the larger, the fewer are kept; auto: solved for goal_tokens"
    )
    goal_tokens: int | None = Field(default=None, gt=0, description="tokens to keep of the profile's sources together")

    @model_validator(mode="after")
    def _auto_has_a_goal(self) -> "Pareto":
        if (self.alpha == "auto") != (self.goal_tokens is not None):
            raise ValueError('pareto: alpha = "auto" and goal_tokens go together')
        return self

    @property
    def solved_alpha(self) -> float:
        """The number. Raises ValueError where it is still to be solved."""
        return float(self.alpha)


Length = Annotated[
    tuple[Threshold, ...],
    BeforeValidator(partial(_read_thresholds, LENGTHS)),
    PlainSerializer(_write_thresholds, return_type=dict[str, int]),
    WithJsonSchema(_thresholds_schema(LENGTHS)),
]
Signals = Annotated[
    tuple[Threshold, ...],
    BeforeValidator(partial(_read_thresholds, SIGNALS)),
    PlainSerializer(_write_thresholds, return_type=dict[str, int]),
    WithJsonSchema(_thresholds_schema(SIGNALS)),
]


class Profile(Rules):
    """What a source asks of its documents; what is not set is not asked."""

    like: str | None = Field(default=None, description="published profile it builds on, own thresholds on top: gopher")
    language: Language | None = Field(default=None, description="languages that stay")
    length: Length = Field(default=(), description="bounds on estimated and exact tokens, words and characters")
    signals: Signals = Field(default=(), description="bounds on signals, min_ or max_ and the name of the column")
    pareto: Pareto | None = Field(default=None, description="the Pareto filter on the classifier's score")

    def language_and_length(self) -> "Profile":
        """Return the part that a document passes before the classifier may learn from it; exact tokens are not counted
        for that."""
        return Profile(language=self.language, length=tuple(r for r in self.length if r.column != "tokens_exact"))

    @model_validator(mode="before")
    @classmethod
    def _builds_on_a_published_one(cls, given: Any) -> Any:
        plain = isinstance(given, Mapping) and all(isinstance(given.get(k, {}), Mapping) for k in ("length", "signals"))
        return merged(given["like"], given) if plain and given.get("like") else given
