"""What a run found of its benchmarks: what could not be protected first, then what was found and what went."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from curation.commits import Manifest
from curation.report.numbers import share


@dataclass(frozen=True)
class Task:
    """A benchmark: its examples; those with no text of 8 words, which nothing protects; those found before removal."""

    task: str
    examples: int
    unprotected: int
    found: int
    exempted: int  # found, but only by n-grams that were set aside as phrases

    @property
    def unprotected_share(self) -> float | None:
        """Of its examples."""
        return share(self.unprotected, self.examples)

    @property
    def found_share(self) -> float | None:
        """Of the examples that could be found."""
        return share(self.found, self.examples - self.unprotected)


@dataclass(frozen=True)
class Contamination:
    """The tasks, those with the largest unprotected share first; `matrix` is as in `curation.decontamination.tally`."""

    tasks: tuple[Task, ...]
    matrix: tuple[Mapping[str, Any], ...]
    counters: Mapping[str, Mapping[str, int]]
    most_found: tuple[Mapping[str, Any], ...]
    set_aside: tuple[Mapping[str, Any], ...]

    @property
    def total(self) -> dict[str, int]:
        """The paper's counters over all sources."""
        names = list(next(iter(self.counters.values()), {}))
        return {name: sum(counted[name] for counted in self.counters.values()) for name in names}

    def of_task(self, name: str | None) -> "Contamination":
        """Return what concerns one task, or all for None; the counters are of all tasks."""
        if name is None:
            return self
        lists = (
            [row for row in rows if row["task"] == name] for rows in (self.matrix, self.most_found, self.set_aside)
        )
        matrix, most_found, set_aside = map(tuple, lists)
        tasks = tuple(task for task in self.tasks if task.task == name)
        return Contamination(tasks, matrix, self.counters, most_found, set_aside)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        tasks = [
            {**asdict(task), "unprotected_share": task.unprotected_share, "found_share": task.found_share}
            for task in self.tasks
        ]
        lists = {name: list(getattr(self, name)) for name in ("matrix", "most_found", "set_aside")}
        return {"tasks": tasks, "counters": {"all": self.total, **self.counters}, **lists}


def contamination(manifest: Manifest | None) -> Contamination | None:
    """Return what the manifest of decontaminate tells; None where no benchmark was looked for."""
    notes = manifest.notes.get("contamination") if manifest is not None else None
    if notes is None:
        return None
    exempted = [row["task"] for row in notes["exempted"]]
    tasks = [
        Task(
            row["task"], row["examples"], row["examples"] - row["protected"], row["found"], exempted.count(row["task"])
        )
        for row in notes["tasks"]
    ]
    tasks.sort(key=lambda task: (-(task.unprotected_share or 0), task.task))
    lists = (tuple(notes[name]) for name in ("matrix", "most_found", "set_aside"))
    matrix, most_found, set_aside = lists
    return Contamination(tuple(tasks), matrix, notes["counters"], most_found, set_aside)
