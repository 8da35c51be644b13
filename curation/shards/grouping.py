"""Which corpus parts form a pair: few pairs a source, and as good as never another pair for what was there before.

Megatron opens every pair when it starts, and somebody waited 2,000 s for 2,419 of them; so a source has at most
`MOST_PAIRS` unless the recipe gives a size. The parts of one generation are known once it is ingested, so they are
divided by that generation alone: files that come later make pairs of their own, from what the earlier ones left of the
allowance. The first generation takes three quarters of it, the next the same share of the rest, and none less than one.
The last pair of the allowance takes all generations that are left: it alone is written anew when another one comes.
"""

import itertools
from collections.abc import Iterator, Sequence

from curation.parts import Part
from curation.shards.pairs import Group

MOST_PAIRS = 16
_LEAST_BYTES = 1 << 30  # of text, about 500 MB of tokens: smaller pairs only where a source is smaller
_FIRST_SHARE = 3, 4  # of what is left: 12 pairs, then 3, then 1 for the third generation and all later ones

Sized = tuple[Part, int, int]


def groups(parts: Sequence[Sized], target_bytes: int | None, shuffled: Sequence[str] = ()) -> list[Group]:
    """Return the groups that become pairs, in order; those of parts without rows are left out, and leave their number.

    Args:
        parts: all corpus parts as (part, generation, text bytes of its shard), in order of doc_id.
        target_bytes: the text of a pair; None divides a source into at most 16 pairs.
        shuffled: sources whose documents are permuted: each of their groups is a share of a whole generation.
    """
    found: list[Group] = []
    for source, members in itertools.groupby(parts, lambda sized: str(sized[0].facts["source"])):
        for first, divided in _numbered(list(members), target_bytes):
            if source in shuffled:
                everything = tuple(part for group in divided for part in group if part.rows)
                shares = [everything] * len(divided)
            else:
                shares = [tuple(part for part in group if part.rows) for group in divided]
            for number, share in enumerate(shares):
                if share:
                    of = (number, len(shares)) if source in shuffled else None
                    found.append(Group(source, first + number, share, of))
    return found


def _numbered(members: Sequence[Sized], target_bytes: int | None) -> Iterator[tuple[int, list[list[Part]]]]:
    """Yield, of each generation of a source, the number of its first pair and the parts of every pair."""
    used = 0
    while members:
        last = target_bytes is None and used == MOST_PAIRS - 1
        own = [sized for sized in members if last or sized[1] == members[0][1]]
        members = members[len(own) :]
        divided = _divide(own, target_bytes, used)
        yield used, divided
        used += len(divided)


def _divide(members: Sequence[Sized], target_bytes: int | None, used: int) -> list[list[Part]]:
    if target_bytes is not None:
        return list(_up_to(members, target_bytes))
    total = sum(size for _, _, size in members)
    allowed = max(1, (MOST_PAIRS - used) * _FIRST_SHARE[0] // _FIRST_SHARE[1])
    return list(_evenly(members, total, min(allowed, -(-total // _LEAST_BYTES), len(members))))


def _up_to(members: Sequence[Sized], target_bytes: int) -> Iterator[list[Part]]:
    """Close a group when the next part would take it over the target."""
    group: list[Part] = []
    held = 0
    for part, _, size in members:
        if group and held + size > target_bytes:
            yield group
            group, held = [], 0
        group.append(part)
        held += size
    yield group


def _evenly(members: Sequence[Sized], total: int, count: int) -> Iterator[list[Part]]:
    """Put each part where its middle falls when the text is cut into `count` equal stretches."""
    begin = 0
    numbered = []
    for part, _, size in members:
        numbered.append(((2 * begin + size) * max(count, 1) // max(2 * total, 1), part))
        begin += size
    for _, group in itertools.groupby(numbered, lambda pair: pair[0]):
        yield [part for _, part in group]
