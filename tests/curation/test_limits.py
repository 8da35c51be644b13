"""Limits: what is a bomb, and which member names are safe."""

import pytest

from curation.limits import MIB, Limits, is_safe_member_name


@pytest.mark.parametrize("name", ["a.txt", "./a.txt", "books/a b.txt", "a..b.txt", "...", "C.txt", "dir/"])
def test_a_name_below_its_folder_is_safe(name: str) -> None:
    assert is_safe_member_name(name)


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../a", "a/../../b", "..", "C:\\a", "\\\\host\\a", "a\0b"])
def test_a_name_that_may_leave_its_folder_is_not(name: str) -> None:
    assert not is_safe_member_name(name)


def test_small_members_may_expand_as_they_like() -> None:
    assert not Limits().is_bomb(64 * MIB, 1)


def test_a_large_member_may_not_expand_beyond_the_ratio() -> None:
    assert Limits().is_bomb(64 * MIB + 1, 1000)
    assert not Limits().is_bomb(64 * MIB + 1, MIB)
