"""ingest: raw files in, sealed shards of documents out; every unit that is neither is counted with its reason."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from curation import commits
from curation.commits import Commit, Manifest, commit_from_json
from curation.ledger import Entry
from curation.parts import read_table
from curation.quarantine import check_budgets
from curation.sources.intake import UnitTask, ingest_unit
from curation.stages import Item, ingest_key
from jobs.job import Job, run_stage
from jobs.spark import run_shards

_WORST_FILES = 3  # named where a budget is exceeded


def items(job: Job) -> list[Item]:
    """Return the units of input files, in order."""
    stage = job.stages["ingest"]
    return [Item(u.item, ingest_key(job.recipe, stage, u, job.inputs.numbers), u.bytes) for u in job.units]


def run(job: Job) -> Manifest:
    """Ingest every unit that is not committed yet, largest first. Raises DataBudgetError if too much is unusable."""
    keys = {item.name: item.key for item in items(job)}
    done = commits.read_commits(job.root, "ingest", keys)
    todo = sorted((unit for unit in job.units if unit.item not in done), key=lambda unit: -unit.bytes)
    tasks = [UnitTask(job.root, job.input_root, job.recipe, unit, keys[unit.item], job.inputs.numbers) for unit in todo]
    if tasks:
        found = run_shards(job.spark, _ingest, tasks)
        done |= {commit.item: commit for commit in map(commit_from_json, found)}
    ordered = [done[unit.item] for unit in job.units]
    _check(job, _quarantined(ordered), ordered)
    return job.finish("ingest", ordered)


def _ingest(task: UnitTask) -> Mapping[str, Any]:
    standing = commits.read_commit(task.root, "ingest", task.unit.item, task.key)
    commit = standing or commits.put_commit(task.root, ingest_unit(task))
    return commit.to_json()


def check(job: Job, lines: Sequence[Entry]) -> None:
    """Check the budgets of this recipe against a finished run's ledger. Raises DataBudgetError."""
    own = [line for line in lines if line.stage == "ingest"]
    found = {line.source: (sum(c.units for c in line.quarantine.values()), line.received.units) for line in own}
    _check(job, found, job.manifest("ingest").commits)


def _check(job: Job, found: Mapping[str, tuple[int, int]], done: Sequence[Commit]) -> None:
    """Check quarantined units against the budgets, and name the files most of them are in."""

    def worst(source: str) -> list[tuple[str, int]]:
        parts = [part for commit in done for part in commit.table("quarantine")]
        tables = (read_table(job.root, part, ["source", "uri"]) for part in parts)
        counts = Counter(row["uri"] for table in tables for row in table.to_pylist() if row["source"] == source)
        return counts.most_common(_WORST_FILES)

    check_budgets(found, _budgets(job), worst)


def _quarantined(done: Sequence[Commit]) -> dict[str, tuple[int, int]]:
    """Return source -> (quarantined, all) units."""
    found: dict[str, tuple[int, int]] = {}
    for commit in done:
        for source, (units, _) in commit.counts["in"].items():
            bad = commit.counts["quarantined"].get(source, 0)
            before = found.get(source, (0, 0))
            found[source] = (before[0] + bad, before[1] + units)
    return found


def _budgets(job: Job) -> dict[str, float]:
    own = {source.name: source.max_quarantine_fraction for source in job.recipe.source}
    shared = {
        container.name: max(s.max_quarantine_fraction for s in job.recipe.source if s.from_ == container.name)
        for container in job.recipe.container
    }
    return own | shared


def main(argv: Sequence[str] | None = None) -> int:
    """Run this stage as a program."""
    return run_stage("ingest", __doc__ or "", argv, run)


if __name__ == "__main__":
    from jobs.ingest import main as imported  # tasks are pickled by the name of this module, not as __main__

    sys.exit(imported())
