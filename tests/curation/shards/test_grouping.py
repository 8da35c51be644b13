"""Groups: few pairs a source, contiguous, and none changed by what comes later."""

from hypothesis import given
from hypothesis import strategies as st

from curation.parts import Part
from curation.shards.grouping import MOST_PAIRS, groups
from curation.shards.pairs import Group

GIB = 1 << 30
sizes_lists = st.lists(st.integers(0, 300 << 20), min_size=1, max_size=400)


def sized(source: str, generation: int, sizes: list[int], empty: tuple[int, ...] = ()) -> list[tuple[Part, int, int]]:
    return [
        (
            Part("corpus", f"{source}{generation}.{n}", 0 if n in empty else 1, 1, "", "", {"source": source}),
            generation,
            size,
        )
        for n, size in enumerate(sizes)
    ]


@given(sizes_lists)
def test_a_source_has_at_most_16_pairs_and_every_part_once_in_order(sizes: list[int]) -> None:
    parts = sized("web", 0, sizes)
    found = groups(parts, None)
    assert len(found) <= MOST_PAIRS
    assert [part for group in found for part in group.parts] == [part for part, _, _ in parts]
    assert [group.ordinal for group in found] == list(range(len(found)))


@given(st.lists(sizes_lists, min_size=2, max_size=3))
def test_three_generations_share_the_allowance_and_leave_earlier_pairs_alone(generations: list[list[int]]) -> None:
    parts = [part for number, sizes in enumerate(generations) for part in sized("web", number, sizes)]
    found = groups(parts, None)
    assert len(found) <= MOST_PAIRS
    first = groups(sized("web", 0, generations[0]), None)
    assert found[: len(first)] == first


@given(st.lists(st.integers(1, 80), min_size=2, max_size=24), st.sampled_from([(), ("web",)]))
def test_any_number_of_generations_has_16_pairs_of_which_only_the_last_changes(
    sizes: list[int], shuffled: tuple[str, ...]
) -> None:
    generations = [sized("web", number, [256 << 20] * size) for number, size in enumerate(sizes)]
    before: list[Group] = []
    for end in range(1, len(generations) + 1):
        found = groups([part for each in generations[:end] for part in each], None, shuffled)
        assert [group.ordinal for group in found] == list(range(len(found)))
        assert len(found) <= MOST_PAIRS
        kept = before[: MOST_PAIRS - 1]
        assert found[: len(kept)] == kept
        before = found
    if not shuffled:
        assert [part for group in before for part in group.parts] == [part for each in generations for part, *_ in each]


def test_a_size_in_the_recipe_gives_every_generation_pairs_of_its_own() -> None:
    generations = [part for number in range(30) for part in sized("web", number, [256 << 20])]
    assert len(groups(generations, GIB)) == 30
    assert len(groups(generations, None)) == MOST_PAIRS


def test_a_small_source_is_one_pair_and_a_large_one_twelve() -> None:
    assert len(groups(sized("a", 0, [256 << 20] * 4), None)) == 1
    assert len(groups(sized("a", 0, [256 << 20] * 5), None)) == 2
    assert len(groups(sized("a", 0, [256 << 20] * 4000), None)) == 12


def test_a_size_in_the_recipe_says_otherwise() -> None:
    found = groups(sized("a", 0, [256 << 20] * 80), GIB)
    assert [len(group.parts) for group in found] == [4] * 20
    assert [len(group.parts) for group in groups(sized("a", 0, [3 * GIB, 1, 1]), GIB)] == [1, 2]


def test_a_part_that_lost_its_last_document_moves_no_other() -> None:
    whole = groups(sized("a", 0, [GIB] * 6), None)
    less = groups(sized("a", 0, [GIB] * 6, empty=(2,)), None)
    assert [(group.ordinal, len(group.parts)) for group in whole] == [(n, 1) for n in range(6)]
    assert [group.ordinal for group in less] == [0, 1, 3, 4, 5]
    assert [group.parts[0].file for group in less] == ["a0.0", "a0.1", "a0.3", "a0.4", "a0.5"]


def test_each_pair_of_a_shuffled_source_is_a_share_of_the_generation() -> None:
    parts = [*sized("a", 0, [GIB] * 3), *sized("b", 0, [GIB])]
    found = groups(parts, None, ["a"])
    assert [(group.item, group.share, len(group.parts)) for group in found] == [
        ("a-00000", (0, 3), 3),
        ("a-00001", (1, 3), 3),
        ("a-00002", (2, 3), 3),
        ("b-00000", None, 1),
    ]
