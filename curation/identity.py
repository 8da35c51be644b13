"""Who a document is, and every choice that chance makes about it.

`doc_id` is the join key: it says where the document lies and sorts like the registry. `doc_key` is
the document's name on any machine and in any order of arrival. Coins are tossed with the key and never
with the id, so that a sample does not change when files arrive later.
"""

from dataclasses import dataclass

from xxhash import xxh3_64_intdigest

from curation.errors import RecipeError

SOURCE_BITS, FILE_BITS, RECORD_BITS = 12, 24, 27  # 63 bits together: an int64 that is never negative
_TWO_53 = 1 << 53  # what a float tells apart: more bits would round up to 1.0


class IdentityOverflow(RecipeError):
    """A source, file or record number that `doc_id` has no room for."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Registry numbers of a document's source and file, and its ordinal among the units of that file."""

    source: int
    file: int
    record: int


def pack(place: Place) -> int:
    """Return the doc_id of a place, 0 <= doc_id < 2**63.

    >>> pack(Place(source=1, file=0, record=5))
    2251799813685253

    Raises:
        IdentityOverflow: a number is negative or needs more bits than it has.
    """
    _check("source", place.source, SOURCE_BITS)
    _check("file", place.file, FILE_BITS)
    _check("record", place.record, RECORD_BITS)
    return first_doc_id(place.source, place.file) | place.record


def first_doc_id(source: int, file: int) -> int:
    """Return the doc_id that record 0 of a file has; the others of that file follow it."""
    return source << FILE_BITS + RECORD_BITS | file << RECORD_BITS


def unpack(doc_id: int) -> Place:
    """Return the place of a doc_id; the inverse of `pack`."""
    file = doc_id >> RECORD_BITS & (1 << FILE_BITS) - 1
    return Place(doc_id >> FILE_BITS + RECORD_BITS, file, doc_id & (1 << RECORD_BITS) - 1)


def doc_key(source: str, path: str, member: str, record: int) -> int:
    """Return a document's 64-bit name, made from what it is called and not from when it was registered.

    `path` is relative to the input root; `member` is empty outside archives; `record` counts within the file.
    Keys may collide (about 3 pairs among 10 billion documents): they decide coins and ties, they never join.
    """
    name = "\0".join((source, path, member, str(record)))
    return xxh3_64_intdigest(name.encode("utf-8", "surrogateescape"))


def coin(seed: int, key: int, purpose: str) -> float:
    """Return the document's uniform number in [0, 1) for one purpose: the same everywhere, for ever.

    Two purposes are independent, so that the validation split does not follow the quality filter.
    """
    return (xxh3_64_intdigest(f"{purpose}\0{key}".encode(), seed=seed) >> 11) / _TWO_53


def _check(name: str, number: int, bits: int) -> None:
    if not 0 <= number < 1 << bits:
        raise IdentityOverflow(
            f"{name} number {number} does not fit into {bits} bits; split the {name} or begin a new work folder"
        )
