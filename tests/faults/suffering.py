"""Runs that suffer a planted fault, and what must hold after any of them."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from conftest import Finished, digests
from corpus import write_corpus, write_recipe
from program import HERE, ROOT, commits, digests_of, start, wait_for_jvm

from curation.latest import read_latest
from curation.ledger import ledger
from curation.registry import read_registry
from curation.verify import verify

PLANTED = Path(__file__).parent / "planted"
STAGES = ("ingest", "quality_model", "signals", "filter", "dedup", "decontaminate", "assemble", "tokenize")


@dataclass(frozen=True)
class Fault:
    """What happens at a point of a stage, when it is passed for the `after`-th time, counted from 0."""

    stage: str
    point: str
    action: str
    after: int = 0


@dataclass
class Sufferer:
    """A corpus, its work folder, and the runs that were made to suffer on it."""

    root: Path
    work: Path
    options: tuple[str, ...]
    recipe: Path
    struck: int = 0
    before: dict[str, tuple[int, int]] = field(default_factory=dict)

    def run(self, *faults: Fault) -> subprocess.CompletedProcess[str]:
        """Run until the faults have struck or the run has ended; nothing of it is alive afterwards."""
        self.before = commits(self.work)
        told = [vars(fault) | {"marks": str(self.root / f"fault-{self.struck + n}")} for n, fault in enumerate(faults)]
        self.struck += len(faults)
        path = os.pathsep.join(map(str, (PLANTED, ROOT, HERE)))
        errors = self.root / "errors.txt"
        with errors.open("w") as stream:
            process = start(
                self.recipe, str(self.work), *self.options, stderr=stream, FAULT=json.dumps(told), PYTHONPATH=path
            )
            output, _ = process.communicate(timeout=500)
        wait_for_jvm(process)
        for about in told:
            assert Path(f"{about['marks']}.{about['after']}").exists(), f"{about} was never reached"
        return subprocess.CompletedProcess(process.args, process.returncode, output.decode(), errors.read_text())

    def recover(self) -> dict[str, str]:
        """Run undisturbed and return the digests."""
        self.before = commits(self.work)
        return digests_of(start(self.recipe, str(self.work), *self.options))

    def rewritten(self) -> list[str]:
        """Return the commits and manifests from before that are not the same files any more."""
        now = commits(self.work)
        return [f"{path} was written again" for path, state in self.before.items() if now.get(path) != state]

    def assert_whole(self, finished: Finished) -> None:
        """Nothing differs from an undisturbed run, every byte is as committed, and the ledger balances."""
        assert self.rewritten() + problems_of(self.work) == []
        assert digests_of_folder(self.work) == digests(finished.latest)


def sufferer(root: Path) -> Sufferer:
    """Write the small corpus and return a run of it that has not begun."""
    write_corpus(root)
    return Sufferer(root, root / "work", ("--master", "local[1,4]"), write_recipe(root))


def digests_of_folder(work: Path) -> dict[str, str]:
    """Return the digests of the last run that a folder holds."""
    return digests(read_latest(str(work)))


def problems_of(work: Path) -> list[str]:
    """Return what verify finds, and what of the ledger does not balance."""
    found = [problem for stage in verify(str(work)).stages for problem in stage.problems]
    names = {number: name for name, number in read_registry(str(work)).numbers.items()}
    lines = ledger(str(work), read_latest(str(work)).manifests, names)
    return found + [problem for line in lines for problem in line.problems]
