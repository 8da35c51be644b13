"""Identity: ids decode and sort, keys do not depend on the registry, coins are fair, independent and fixed for ever."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.identity import (
    FILE_BITS,
    RECORD_BITS,
    SOURCE_BITS,
    IdentityOverflow,
    Place,
    coin,
    doc_key,
    first_doc_id,
    pack,
    unpack,
)

PLACES = st.builds(
    Place,
    source=st.integers(0, (1 << SOURCE_BITS) - 1),
    file=st.integers(0, (1 << FILE_BITS) - 1),
    record=st.integers(0, (1 << RECORD_BITS) - 1),
)
KEY = 17685297728806097165
COINS = [0.6501271811701604, 0.7308569431765156]


@given(PLACES)
def test_a_doc_id_decodes_to_the_place_it_came_from(place):
    assert unpack(pack(place)) == place
    assert 0 <= pack(place) < 1 << 63


@given(PLACES, PLACES)
def test_doc_ids_sort_like_their_places(a, b):
    assert (pack(a) < pack(b)) == (a < b)


@given(PLACES)
def test_a_files_doc_ids_follow_its_first(place):
    assert pack(place) == first_doc_id(place.source, place.file) + place.record


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        (Place(1 << SOURCE_BITS, 0, 0), "source number 4096 does not fit into 12 bits"),
        (Place(0, 1 << FILE_BITS, 0), "file number 16777216 does not fit into 24 bits"),
        (Place(0, 0, 1 << RECORD_BITS), "record number 134217728 does not fit into 27 bits"),
        (Place(0, 0, -1), "record number -1 does not fit"),
    ],
)
def test_a_number_that_does_not_fit_is_refused_by_its_name(place, problem):
    with pytest.raises(IdentityOverflow, match=problem):
        pack(place)


def test_a_path_that_is_not_utf8_still_has_a_key():
    assert doc_key("books3", b"\xff.txt".decode("utf-8", "surrogateescape"), "", 0)


def test_the_parts_of_a_name_cannot_be_confused():
    names = [("s", "a", "b", 0), ("s", "ab", "", 0), ("sa", "", "b", 0), ("s", "a", "b0", 0), ("s", "a", "b", 1)]
    assert len({doc_key(*name) for name in names}) == len(names)


def test_keys_and_coins_are_those_of_the_first_release():
    """Every sample and every split ever made rests on these numbers."""
    assert doc_key("wikipedia", "wiki/00.jsonl.zst", "", 7) == KEY
    assert [coin(1234, KEY, purpose) for purpose in ("pareto", "validation")] == COINS


def test_coins_are_fair():
    heads = sum(coin(1, key, "pareto") < 0.125 for key in range(40_000))
    assert abs(heads - 5_000) < 4 * (40_000 * 0.125 * 0.875) ** 0.5


@pytest.mark.parametrize(("one", "other"), [((1, "pareto"), (1, "validation")), ((1, "pareto"), (2, "pareto"))])
def test_coins_of_two_purposes_or_seeds_are_independent(one, other):
    def tails(coin_of: tuple[int, str], key: int) -> bool:
        seed, purpose = coin_of
        return coin(seed, key, purpose) < 0.5

    both = sum(tails(one, key) and tails(other, key) for key in range(40_000))
    assert abs(both - 10_000) < 4 * (40_000 * 0.25 * 0.75) ** 0.5
