"""A module with one comparison flipped, and tests that are called one by one: whether any of them notices.

Flips of a comparison are its negation and, for < <= > >=, its neighbour that differs on equality alone.
"""

import ast
import importlib.util
import inspect
import itertools
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

_FLIPS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.GtE: (ast.Lt, ast.Gt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_CPU_SECONDS = 2.0  # a mutant may loop for ever


@dataclass(frozen=True)
class Mutant:
    """A module in which `before` has become `after`."""

    before: str
    after: str
    module: ModuleType


def mutants(module: ModuleType) -> Iterator[Mutant]:
    """Yield the module once for each flip of each comparison, but for that which asks whether it is the program."""
    source = Path(str(module.__file__)).read_text("utf-8")
    places = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Compare) and "__name__" not in ast.unparse(n)]
    for number in range(len(places)):
        for flip in itertools.chain.from_iterable(_FLIPS[type(op)] for op in places[number].ops[:1]):
            tree = ast.parse(source)
            found = [n for n in ast.walk(tree) if isinstance(n, ast.Compare) and "__name__" not in ast.unparse(n)]
            before = ast.unparse(found[number])
            found[number].ops[0] = flip()
            made = ModuleType(module.__name__)
            made.__file__ = module.__file__
            with standing_in(module.__name__, made):
                exec(compile(tree, str(module.__file__), "exec"), made.__dict__)
            yield Mutant(before, ast.unparse(found[number]), made)


@contextmanager
def standing_in(name: str, module: ModuleType) -> Iterator[None]:
    """Let `import name` give this module."""
    package, _, own = name.rpartition(".")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, name, module)
        patch.setattr(sys.modules[package], own, module, raising=False)
        yield


def notices(check: Callable[[], None]) -> bool:
    """Return whether a check fails, which it does too if it takes too long."""
    before = signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, _CPU_SECONDS)
    try:
        check()
    except (Exception, pytest.fail.Exception):  # noqa: BLE001 - whatever a mutant does wrong
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return False


def _too_long(*_: Any) -> None:
    raise TimeoutError


def checks(path: Path) -> Iterator[Callable[[], None]]:
    """Yield the tests of a file, every case of a parametrised one, without those that hypothesis draws for."""
    spec = importlib.util.spec_from_file_location(f"mutated_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, test in vars(module).items():
        if name.startswith("test_") and not hasattr(test, "hypothesis"):
            for case in _cases(test):
                yield lambda test=test, case=case: _call(test, case)  # type: ignore[misc]


def _cases(test: Any) -> Iterator[dict[str, Any]]:
    given = []
    for mark in getattr(test, "pytestmark", []):
        names = mark.args[0].replace(" ", "").split(",") if isinstance(mark.args[0], str) else list(mark.args[0])
        given.append([dict(zip(names, row if len(names) > 1 else [row], strict=True)) for row in mark.args[1]])
    for rows in itertools.product(*given):
        yield {name: value for row in rows for name, value in row.items()}


def _call(test: Any, case: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        needs = inspect.signature(test).parameters
        test(**case, **({"monkeypatch": patch} if "monkeypatch" in needs else {}))
