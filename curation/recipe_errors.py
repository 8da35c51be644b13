"""What is wrong with a recipe, in words a person can act on: the line, the key, what was meant, what is allowed."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Location = Sequence[int | str]

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\")(?:\s*\.\s*(?:[A-Za-z0-9_-]+|\"[^\"]*\"))*)\s*=")
_LONGEST = 40  # characters of a value that are repeated

# What pydantic calls an error -> what it says here; {input} and its context are filled in.
_WORDS = {
    "int_type": "has to be a whole number, not {input}",
    "int_parsing": "has to be a whole number, not {input}",
    "int_from_float": "has to be a whole number, not {input}",
    "float_type": "has to be a number, not {input}",
    "float_parsing": "has to be a number, not {input}",
    "bool_type": "has to be true or false, not {input}",
    "bool_parsing": "has to be true or false, not {input}",
    "string_type": "has to be a text in quotes, not {input}",
    "tuple_type": "has to be a list in brackets, not {input}",
    "list_type": "has to be a list in brackets, not {input}",
    "dict_type": "has to be a table, {{ key = value }}, not {input}",
    "mapping_type": "has to be a table, {{ key = value }}, not {input}",
    "model_type": "has to be a table, {{ key = value }}, not {input}",
    "dataclass_type": "has to be a table, {{ key = value }}, not {input}",
    "missing": "is missing",
    "greater_than": "has to be more than {gt}, not {input}",
    "greater_than_equal": "has to be at least {ge}, not {input}",
    "less_than": "has to be less than {lt}, not {input}",
    "less_than_equal": "has to be at most {le}, not {input}",
    "finite_number": "has to be a finite number, not {input}",
    "string_pattern_mismatch": "has to be made of small letters, digits and hyphens ({pattern}), not {input}",
    "string_too_long": "has to have at most {max_length} characters, not {input}",
    "too_short": "has to have at least {min_length} of them",
}


def in_words(item: Mapping[str, Any]) -> str:
    """Return what one of pydantic's errors says, in the recipe's terms."""
    if item["type"] == "literal_error":
        allowed = re.findall(r"'([^']*)'", str(item["ctx"]["expected"]))
        value = item["input"] if isinstance(item["input"], str) else ""
        return f"has to be one of {', '.join(allowed)}, not {_shown(item['input'])}{nearest(value, allowed)}"
    words = _WORDS.get(item["type"])
    if words is None:
        return str(item["msg"]).removeprefix("Value error, ")
    return words.format(input=_shown(item["input"]), **item.get("ctx", {}))


def worth_telling(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the errors without those that only follow from another inside the same value."""
    places = [tuple(item["loc"]) for item in items]
    return [
        item
        for item, place in zip(items, places, strict=True)
        if item["type"] != "too_short" or not any(p[: len(place)] == place and p != place for p in places)
    ]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a question after the closest of the known names, nothing if none is close."""
    close = difflib.get_close_matches(name, list(known), 1, 0.5)
    return f", did you mean {close[0]!r}?" if close else ""


def line_of(text: str, location: Location) -> int | None:
    """Return the line, from 1, on which a recipe says what stands at a location, or as much of it as it says.

    >>> line_of('name = "a"\\n[[source]]\\nname = "b"\\n\\n[[source]]\\nname = "c"', ("source", 1, "name"))
    6
    """
    best, line = 0, None
    for number, path in _paths(text):
        common = _common(path, location)
        if common > best and common == len(path):
            best, line = common, number
    return line


def _paths(text: str) -> Iterable[tuple[int, tuple[int | str, ...]]]:
    """Yield every line that opens a table or sets a key, with its place."""
    table: tuple[int | str, ...] = ()
    counts: dict[tuple[int | str, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = _indexed(_names(header[2]), counts)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield number, table
        elif key:
            yield number, (*table, *_names(key[1]))


def _indexed(names: Sequence[str], counts: Mapping[tuple[int | str, ...], int]) -> tuple[int | str, ...]:
    """Return a header's place: a table below an entry of a list belongs to the last entry."""
    place: tuple[int | str, ...] = ()
    for position, name in enumerate(names):
        place = (*place, name)
        if place in counts and position < len(names) - 1:
            place = (*place, counts[place])
    return place


def _names(dotted: str) -> list[str]:
    return [name.strip().strip('"') for name in dotted.split(".")]


def _common(path: Location, location: Location) -> int:
    """Return how many steps two places share from the start."""
    pairs = zip(path, location, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(path), len(location)))


def _shown(value: Any) -> str:
    """Return a value of a recipe as short as it can be recognised by."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    told = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return told if len(told) <= _LONGEST else told[: _LONGEST - 1] + "…"
