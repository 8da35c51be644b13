"""How far a running stage is: bytes, documents and losses of the items it has committed, or Spark's tasks.

Read from the store by a thread that watches, so that nothing is counted twice when tasks are tried again, and that a
cluster needs no channel back. A judge commits once: while it runs, only the tasks of Spark's current step are known.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from curation import commits, storage
from curation.commits import Commit
from curation.report.numbers import bytes_text, percent
from curation.s3 import is_s3
from curation.stages import Item
from jobs.log import Log

_REDRAWN_SECONDS = 0.5
_TOLD_SECONDS = 10.0  # between lines where nothing is redrawn
_STORE_SECONDS = 2.0  # between listings of a remote store, which cost money

Tasks = Callable[[], tuple[int, int]]  # (finished, all) tasks of what Spark runs now


@dataclass
class Tally:
    """What the committed items of a stage hold."""

    items: int = 0
    bytes: int = 0
    documents: int = 0
    received: int = 0
    quarantined: int = 0

    def add(self, commit: Commit, size: int) -> None:
        """Count one more commit; of ingest it says as well what readers found."""
        self.items += 1
        self.bytes += size
        rows = [part.rows for part in commit.parts if part.table not in ("quarantine", "bin", "idx")]
        self.documents += sum(rows)
        self.received += sum(units for units, _ in commit.counts.get("in", {}).values())
        self.quarantined += sum(commit.counts.get("quarantined", {}).values())


@dataclass(frozen=True)
class Snapshot:
    """Where a stage stands. `kept` and `quarantined` are known of ingest, bytes of stages that commit by item."""

    stage: str
    seconds: float
    items: int = 0
    of_items: int = 0
    bytes: int = 0
    of_bytes: int = 0
    new_bytes: int = 0
    documents: int = 0
    received: int = 0
    quarantined: int = 0
    tasks: tuple[int, int] = (0, 0)

    @property
    def documents_per_second(self) -> float:
        """Of this run."""
        return self.documents / self.seconds if self.seconds > 0 else 0.0

    @property
    def kept(self) -> float | None:
        """Share of the units read that became documents."""
        return self.documents / self.received if self.received else None

    @property
    def seconds_left(self) -> float | None:
        """By the speed so far; None before the first item is committed."""
        left = self.of_bytes - self.bytes
        return self.seconds * left / self.new_bytes if self.new_bytes and left > 0 else None

    def details(self) -> str:
        """Return all but the bytes, in words."""
        found = [f"{self.documents_per_second:,.0f} documents/s"] if self.documents else []
        found += [f"kept {percent(self.kept)}", f"{self.quarantined:,} quarantined"] if self.received else []
        found += [f"{self.tasks[0]:,} of {self.tasks[1]:,} tasks"] if self.tasks[1] and not self.of_items else []
        found += [f"{duration(self.seconds_left)} left"] if self.seconds_left is not None else []
        return ", ".join(found)

    def line(self) -> str:
        """Return one line."""
        share = f" ({percent(self.bytes / self.of_bytes)})" if self.of_bytes else ""
        size = f"{bytes_text(self.bytes)} of {bytes_text(self.of_bytes)}{share}" if self.of_items else ""
        told = ", ".join(part for part in (size, self.details()) if part)
        return f"{self.stage}: {told or 'at work'}, {duration(self.seconds)} so far"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        left = self.seconds_left
        return {
            **vars(self),
            "tasks": list(self.tasks),
            "seconds": round(self.seconds, 1),
            "documents_per_second": round(self.documents_per_second, 1),
            "kept": self.kept,
            "seconds_left": None if left is None else round(left, 1),
        }


@dataclass
class Watched:
    """The items of one stage, those that stood before and those that came since."""

    root: str
    stage: str
    items: Mapping[str, Item]
    standing: frozenset[str]
    seen: dict[str, Commit] = field(default_factory=dict)

    def look(self) -> None:
        """Read what was committed since the last look."""
        missing = {name: i.key for name, i in self.items.items() if name not in self.seen and name not in self.standing}
        self.seen |= commits.read_commits(self.root, self.stage, missing) if missing else {}

    def snapshot(self, seconds: float, tasks: tuple[int, int]) -> Snapshot:
        """Return where the stage stands after so many seconds."""
        tally, before = Tally(), sum(self.items[name].bytes for name in self.standing)
        for name, commit in self.seen.items():
            tally.add(commit, self.items[name].bytes)
        whole = sum(item.bytes for item in self.items.values())
        return Snapshot(
            self.stage, seconds, tally.items + len(self.standing), len(self.items), tally.bytes + before, whole,
            tally.bytes, tally.documents, tally.received, tally.quarantined, tasks,
        )  # fmt: skip


def watched(root: str, stage: str, items: Sequence[Item]) -> Watched:
    """Return a stage to watch; what is committed now stood before."""
    names = set(storage.list_names(storage.join(root, stage, "commits")))
    standing = {i.name for i in items if commits.commit_path(stage, i.name, i.key).rpartition("/")[2] in names}
    return Watched(root, stage, {item.name: item for item in items}, frozenset(standing))


class Progress:
    """Tells how far a stage is for as long as the block runs; `last` is where it ended."""

    def __init__(self, log: Log, watch: Watched, tasks: Tasks) -> None:
        self._log, self._watch, self._tasks = log, watch, tasks
        self._started = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)
        self.last = Snapshot(watch.stage, 0)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if kind is None:
            self.last = self._look((0, 0))

    def _look(self, tasks: tuple[int, int]) -> Snapshot:
        self._watch.look()
        return self._watch.snapshot(time.monotonic() - self._started, tasks)

    def _tell(self) -> None:
        """Run in the thread: an unreadable store is the stage's to report, so the watcher just ends."""
        whole = sum(item.bytes for item in self._watch.items.values())
        bar = self._log.bar(self._watch.stage, whole, self._look((0, 0)).bytes)
        pause = _TOLD_SECONDS if bar is None else _STORE_SECONDS if is_s3(self._watch.root) else _REDRAWN_SECONDS
        try:
            while not self._ended.wait(pause):
                now = self._look(self._tasks())
                if bar is None:
                    self._log.say(now.line(), "progress", **now.to_json())
                else:
                    bar.set_postfix_str(now.details(), refresh=False)
                    bar.n = now.bytes
                    bar.refresh()
        finally:
            if bar is not None:
                bar.close()


def duration(seconds: float | None) -> str:
    """Return a time as people say it.

    >>> duration(8.2), duration(200), duration(9_000)
    ('8 s', '3 min 20 s', '2 h 30 min')
    """
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
