"""What the trainer's tests share: shards, and the curves of one process that others are compared with."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainer import tiny

Lines = list[dict[str, Any]]


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the shards of three small sources."""
    return tiny.write_shards(tmp_path_factory.mktemp("shards"))


@pytest.fixture(scope="session")
def alone(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Lines]:
    """A function that returns the metrics of twenty steps on one process; each kind of run is trained once."""
    pytest.importorskip("torch")
    done: dict[str, Lines] = {}

    def train(**changes: object) -> Lines:
        key = repr(sorted(changes.items()))
        if key not in done:
            done[key] = tiny.run(tiny.twenty_steps(**changes), shards, tmp_path_factory.mktemp("alone"))
        return done[key]

    return train


@pytest.fixture(scope="session")
def eight(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of twenty steps on 2 × 2 × 2 processes, in float64, with a checkpoint after ten."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("eight") / "run"
    tiny.run(tiny.twenty_steps(2, 2, 2, **tiny.precise("float64")), shards, folder)
    return folder


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Compute on one thread, as the processes of a run do: tiny matrices on many threads are slow on a busy machine."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
