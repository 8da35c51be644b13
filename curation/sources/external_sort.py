"""Sorting more rows than memory holds: sorted runs go to anonymous temporary files and are merged back."""

import heapq
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Any, Self

import orjson
from backports import zstd

RUN_BYTES = 128 << 20  # of values held before a run is written; Stack Overflow makes about 400 runs
_ROW_BYTES = 200  # what a row costs beside its value
_LEVEL = 1  # of zstd: runs are written once and read once

Row = list[Any]  # JSON values; the first `keys` of them are integers and decide the order


class ExternalSort:
    """Takes rows of JSON values in any order and gives them back in the order of their first `keys` values.

    A context manager: what it wrote is gone when it is left, and nothing of it ever had a name.
    """

    def __init__(self, keys: int, run_bytes: int = RUN_BYTES) -> None:
        self._keys, self._run_bytes = keys, run_bytes
        self._held: list[Row] = []
        self._held_bytes = 0
        self._runs: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for run in self._runs:
            run.close()

    def add(self, row: Row, value_bytes: int) -> None:
        """Take one row; `value_bytes` is about what its strings hold."""
        self._held.append(row)
        self._held_bytes += value_bytes + _ROW_BYTES
        if self._held_bytes >= self._run_bytes:
            self._spill()

    def __iter__(self) -> Iterator[Row]:
        self._held.sort(key=self._key)
        return heapq.merge(*map(_rows, self._runs), iter(self._held), key=self._key)

    def _key(self, row: Row) -> Row:
        return row[: self._keys]

    def _spill(self) -> None:
        self._held.sort(key=self._key)
        run = tempfile.TemporaryFile()  # noqa: SIM115  closed when the sort is left
        with zstd.open(run, "wb", level=_LEVEL) as packed:
            packed.writelines(orjson.dumps(row) + b"\n" for row in self._held)
        self._runs.append(run)
        self._held, self._held_bytes = [], 0


def _rows(run: IO[bytes]) -> Iterator[Row]:
    run.seek(0)
    with zstd.open(run, "rb") as packed:
        for line in packed:
            yield orjson.loads(line)
