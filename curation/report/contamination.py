"""What a run found of its benchmarks: what could not be protected first, then what was found and what went."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from curation import storage
from curation.commits import Manifest
from curation.decontamination.examples import index_url, read_examples
from curation.decontamination.index import Index
from curation.decontamination.wording import wording
from curation.report.numbers import share

_LISTS = ("matrix", "most_found", "set_aside", "exempted")


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
    """The tasks, those with the largest unprotected share first; `matrix` is as in `curation.decontamination.tally`.

    `set_aside` are the n-grams that count as phrases, with their `words`; `exempted` the examples found by those alone.
    """

    tasks: tuple[Task, ...]
    matrix: tuple[Mapping[str, Any], ...]
    counters: Mapping[str, Mapping[str, int]]
    most_found: tuple[Mapping[str, Any], ...]
    set_aside: tuple[Mapping[str, Any], ...]
    exempted: tuple[Mapping[str, Any], ...]

    @property
    def total(self) -> dict[str, int]:
        """The paper's counters over all sources."""
        names = list(next(iter(self.counters.values()), {}))
        return {name: sum(counted[name] for counted in self.counters.values()) for name in names}

    def of_task(self, name: str | None) -> "Contamination":
        """Return what concerns one task, or all for None; the counters are of all tasks."""
        if name is None:
            return self
        own: dict[str, Any] = {key: tuple(row for row in getattr(self, key) if row["task"] == name) for key in _LISTS}
        return replace(self, tasks=tuple(task for task in self.tasks if task.task == name), **own)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        tasks = [
            {**asdict(task), "unprotected_share": task.unprotected_share, "found_share": task.found_share}
            for task in self.tasks
        ]
        lists = {name: list(getattr(self, name)) for name in _LISTS}
        return {"tasks": tasks, "counters": {"all": self.total, **self.counters}, **lists}


def contamination(root: str, manifests: Mapping[str, Manifest]) -> Contamination | None:
    """Return what the manifest of decontaminate tells; None where no benchmark was looked for.

    Raises:
        RecipeError: n-grams were set aside, and the examples that hold their words are missing.
    """
    manifest = manifests.get("decontaminate")
    notes = manifest.notes.get("contamination") if manifest is not None else None
    if notes is None:
        return None
    exempted = Counter(row["task"] for row in notes["exempted"])
    tasks = [
        Task(row["task"], row["examples"], row["examples"] - row["protected"], row["found"], exempted[row["task"]])
        for row in notes["tasks"]
    ]
    tasks.sort(key=lambda task: (-(task.unprotected_share or 0), task.task))
    lists = {name: tuple(notes[name]) for name in _LISTS}
    lists["set_aside"] = _in_words(root, manifests["matches"], lists["set_aside"])
    return Contamination(tuple(tasks), counters=notes["counters"], **lists)


def _in_words(root: str, matches: Manifest, set_aside: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    if not set_aside:
        return ()
    owners = {row["ngram"]: (row["task"], row["row"]) for row in set_aside}
    index = Index.from_bytes(storage.read_bytes(index_url(root, matches.key)))
    words = wording(owners, read_examples(root, matches.key), index.mode)
    return tuple({**row, "words": words.get(row["ngram"], "")} for row in set_aside)
