"""Globs: equal to a matcher that tries every way a pattern can be read, on patterns and paths made to collide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.globs import fixed_folder, matcher

TOKENS = st.sampled_from(["**/", "**", "*", "?", "/", "a", "b", ".", "[ab]", "[!a]", "[a-b]", "[", "]", "\n"])
PATTERNS = st.lists(TOKENS, max_size=7).map("".join)
PATHS = st.text("ab./[]\n", max_size=8)


def reference(pattern: str, path: str) -> bool:
    """Match by trying every prefix; slow and plain."""
    if not pattern:
        return not path
    if pattern.startswith("**/"):
        starts = [0, *(at + 1 for at, character in enumerate(path) if character == "/")]
        return any(reference(pattern[3:], path[start:]) for start in starts)
    if pattern.startswith("**"):
        return any(reference(pattern[2:], path[start:]) for start in range(len(path) + 1))
    if pattern.startswith("*"):
        stop = path.find("/") if "/" in path else len(path)
        return any(reference(pattern[1:], path[start:]) for start in range(stop + 1))
    width = set_width(pattern)
    if not path or (path[0] == "/" and (width or pattern[0] == "?")):
        return False
    if width:
        return in_set(pattern[1 : width - 1], path[0]) and reference(pattern[width:], path[1:])
    return pattern[0] in ("?", path[0]) and reference(pattern[1:], path[1:])


def set_width(pattern: str) -> int:
    """Return how long the set is that a pattern begins with, 0 if it begins with none."""
    if not pattern.startswith("["):
        return 0
    first = 2 if pattern.startswith("[!") else 1
    return pattern.find("]", first + 1) + 1


def in_set(inside: str, character: str) -> bool:
    if inside.startswith("!"):
        return not in_set(inside[1:], character)
    if "-" in inside[1:-1]:
        at = inside.index("-", 1)
        low, high = inside[at - 1], inside[at + 1]
        rest = inside[: at - 1] + inside[at + 2 :]
        return low <= character <= high or (bool(rest) and in_set(rest, character))
    return character in inside


@given(PATTERNS, PATHS)
def test_a_glob_matches_what_the_reference_matches(pattern, path):
    assert bool(matcher(pattern)(path)) == reference(pattern, path)


@given(PATTERNS, PATHS)
def test_a_path_that_matches_lies_in_the_fixed_folder(pattern, path):
    if matcher(pattern)(path):
        assert path.startswith(fixed_folder(pattern))


@pytest.mark.parametrize(
    ("pattern", "folder"), [("a.txt", ""), ("x/a.txt", "x/"), ("x/y*/z", "x/"), ("**/a", ""), ("x[1]/a", "")]
)
def test_the_fixed_folder_ends_before_the_first_wildcard(pattern, folder):
    assert fixed_folder(pattern) == folder
