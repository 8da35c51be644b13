"""The whole deduplication, through its jobs, against the rule itself in ten lines."""

import argparse
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curation.commits import Manifest, load_manifest
from curation.dedup import tasks
from curation.errors import DataBudgetError
from curation.identity import unpack
from jobs import annotate, dedup, dedup_components, filter, ingest
from jobs.job import Job, add_run_arguments, open_job

THRESHOLD = 0.8
RECIPE = """
name = "clusters"
seed = 3
shard_mib = 1

[[source]]
name = "first"
reader = "jsonl"
inputs = ["first/*.jsonl"]
weight = 0.5

[[source]]
name = "second"
reader = "jsonl"
inputs = ["second/*.jsonl"]
weight = 0.5

[[source]]
name = "old"
reader = "jsonl"
inputs = ["old/*.jsonl"]
role = "reference"

[dedup]
bands = 26
rows = 10
threshold = 0.8
removal = "REMOVAL"
"""


@dataclass(frozen=True)
class Document:
    """What the rule needs to know of a document."""

    doc_id: int
    reference: bool
    grams: frozenset[str]
    bands: frozenset[bytes]

    def duplicates(self, other: "Document") -> bool:
        """Whether two documents met and are similar enough."""
        shared = len(self.grams & other.grams)
        similar = shared >= THRESHOLD * (len(self.grams) + len(other.grams) - shared)
        return similar and bool(self.bands & other.bands)


def greedy(ranked: list[Document]) -> dict[int, int]:
    """Return doc_id -> the kept document it names, for every one that goes."""
    kept: list[Document] = []
    named: dict[int, int] = {}
    for one in ranked:
        match = None if one.reference else next((other for other in kept if one.duplicates(other)), None)
        if match is None:
            kept.append(one)
        else:
            named[one.doc_id] = match.doc_id
    return named


def component(ranked: list[Document]) -> dict[int, int]:
    """Return the same where the first of each connected component stays."""
    label = list(range(len(ranked)))
    for place, one in enumerate(ranked):
        for before in range(place):
            if label[before] != label[place] and one.duplicates(ranked[before]):
                low, high = sorted((label[before], label[place]))
                label = [low if own == high else own for own in label]
    going = [place for place, one in enumerate(ranked) if label[place] != place and not one.reference]
    return {ranked[place].doc_id: ranked[label[place]].doc_id for place in going}


def write_clusters(root: Path, name: str, seed: int) -> None:
    """Write pages in chains of edits, exact copies, windows of each other and lone ones, spread over the sources."""
    random = np.random.default_rng(seed)
    pages: list[list[str]] = []
    for _ in range(30):
        family = [[f"w{x}" for x in random.integers(0, 4000, random.integers(60, 200))]]
        for _ in range(random.integers(0, 9)):
            words = list(family[random.integers(len(family))])
            for place in random.choice(len(words), random.integers(0, 5), replace=False):
                words[place] = f"e{random.integers(1 << 30)}"
            family.append(words[random.integers(0, 12) :])
        pages += family
    shares = {"first": [], "second": [], "old": []}
    for words in pages:
        shares[["first", "second", "old"][random.choice(3, p=[0.45, 0.45, 0.1])]].append(" ".join(words))
    for source, texts in shares.items():
        (root / source).mkdir(exist_ok=True)
        lines = "".join(
            json.dumps({"text": text.upper() if n % 7 == 0 else text}) + "\n" for n, text in enumerate(texts)
        )
        (root / source / f"{name}.jsonl").write_text(lines)


def opened(root: Path, work: str = "work", *more: str) -> Job:
    """Return the job over the folder."""
    parser = argparse.ArgumentParser()
    add_run_arguments(parser)
    return open_job(parser.parse_args([str(root / "recipe.toml"), "--work", str(root / work), *more]))


def deduplicate(root: Path) -> Job:
    """Run the jobs from ingest to dedup over the folder."""
    job = opened(root)
    job.register()
    for stage in (ingest, annotate, filter, dedup):
        stage.run(job)
    return job


def columns(job: Job, stage: str, table: str, *names: str) -> list[tuple[object, ...]]:
    tables = [
        pq.read_table(Path(job.root) / part.file, columns=list(names)) for part in job.manifest(stage).parts(table)
    ]
    return [row for t in tables for row in zip(*(t[name].to_pylist() for name in names), strict=True)]


def ranked(job: Job) -> list[Document]:
    """Return all documents in rank order: by generation, in it references first, then by source and doc_id."""
    keys = dict(columns(job, "signatures", "signatures", "doc_id", "bands"))
    generation = {shard.first_doc_id: shard.generation for shard in job.shards()}
    found = []
    for doc_id, source, text in columns(job, "ingest", "documents", "doc_id", "source", "text"):
        words = [word for word in re.split(r"[\x00-\x20]+", str(text).lower()) if word]
        grams = frozenset(" ".join(words[i : i + 5]) for i in range(max(1, len(words) - 4)))
        packed = keys[doc_id]
        bands = frozenset(packed[at : at + 8] for at in range(0, len(packed), 8))
        order = generation[max(first for first in generation if first <= doc_id)]
        rank = (order, source != "old", ["first", "second", "old"].index(source), doc_id)
        found.append((rank, Document(doc_id, source == "old", grams, bands)))
    return [document for _, document in sorted(found, key=lambda pair: pair[0])]


def named(job: Job) -> dict[int, int]:
    """Return what the job decided."""
    rows = columns(job, "dedup", "verdicts", "doc_id", "fate", "other")
    return {doc_id: other for doc_id, fate, other in rows if fate == "drop"}


@pytest.mark.parametrize(("removal", "rule"), [("greedy", greedy), ("component", component)])
def test_the_job_decides_what_ten_lines_decide_and_later_documents_change_nothing(
    tmp_path: Path, removal: str, rule: object
) -> None:
    (tmp_path / "recipe.toml").write_text(RECIPE.replace("REMOVAL", removal))
    write_clusters(tmp_path, "a", 1)
    job = deduplicate(tmp_path)
    before = named(job)
    assert before == rule(ranked(job))  # type: ignore[operator]
    assert len(before) > 40
    old = {unpack(doc_id).source for doc_id in before.values()} - {unpack(doc_id).source for doc_id in before}
    assert old or removal == "component"  # some removals name a reference
    judged = {doc_id for (doc_id,) in columns(job, "dedup", "verdicts", "doc_id")}
    if removal == "component":
        return  # a later document can join two components: only the greedy rule promises more
    write_clusters(tmp_path, "b", 1)  # the same pages again, spread and edited as before
    write_clusters(tmp_path, "c", 2)
    job = deduplicate(tmp_path)
    after = named(job)
    assert after == rule(ranked(job))  # type: ignore[operator]
    assert {doc_id: other for doc_id, other in after.items() if doc_id in judged} == before
    check_that_little_was_done_and_nothing_lost(tmp_path, job)


def check_that_little_was_done_and_nothing_lost(root: Path, job: Job) -> None:
    """The run over the later generation re-read few candidates and wrote what a run over everything writes."""
    added = job.manifest("dedup")
    shutil.copytree(root / "work", root / "again", ignore=shutil.ignore_patterns("dedup"))
    whole = dedup.run(opened(root, "again"))
    assert whole.digest == added.digest
    assert (whole.notes["numbers"]["settled_shards"], added.notes["numbers"]["settled_shards"]) == (0, 3)
    assert 0 < added.notes["numbers"]["candidates"] < whole.notes["numbers"]["candidates"]
    standing = {part.file for part in added.parts("verdicts")} & {part.file for part in first_manifest(job).parts()}
    assert len(standing) == 2  # the verdicts of both judged sources, as they were


def first_manifest(job: Job) -> Manifest:
    """Return the manifest of the first generation's run."""
    found = [
        load_manifest(job.root, f"dedup/manifests/{name.name}") for name in Path(job.root).glob("dedup/manifests/*")
    ]
    return min(found, key=lambda manifest: len(manifest.notes["decided"]["shards"]))


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with everything but deduplication, and the digest of what that makes."""
    root = tmp_path_factory.mktemp("clusters")
    (root / "recipe.toml").write_text(RECIPE.replace("REMOVAL", "greedy"))
    write_clusters(root, "a", 5)
    digest = deduplicate(root).manifest("dedup").digest
    shutil.rmtree(root / "work/dedup")
    return root, digest


@pytest.mark.parametrize(("partitions", "adaptive"), [(1, True), (2, False), (7, True), (64, False)])
def test_partitions_and_replanning_change_nothing(
    clusters: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partitions: int, adaptive: bool
) -> None:
    job = copied(clusters[0], tmp_path)
    monkeypatch.setattr(Job, "partitions", partitions)
    monkeypatch.setattr(dedup_components, "width_of", lambda job, rows, rows_a_task: partitions)
    monkeypatch.setattr(dedup, "width_of", lambda job, rows, rows_a_task: partitions)
    job.spark.conf.set("spark.sql.adaptive.enabled", str(adaptive).lower())
    try:
        assert dedup.run(job).digest == clusters[1]
    finally:
        job.spark.conf.set("spark.sql.adaptive.enabled", "true")


def test_components_found_by_spark_are_those_of_the_driver(clusters: tuple[Path, str], tmp_path: Path) -> None:
    driver, spark = dedup.run(copied(clusters[0], tmp_path / "a")), copied(clusters[0], tmp_path / "b", 0)
    manifest = dedup.run(spark)
    assert (manifest.digest, manifest.key) == (clusters[1], driver.key)
    assert manifest.notes["numbers"] == driver.notes["numbers"]
    assert not list((tmp_path / "b/work/dedup").rglob("*.arrow"))


def test_a_worker_that_is_killed_changes_nothing(
    clusters: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = tmp_path / "killed"

    def dying(task: tasks.ShardTask) -> Iterator[pa.RecordBatch]:
        for batch in tasks.candidate_rows(task):
            yield batch
            if not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)

    job = copied(clusters[0], tmp_path)
    spread = dedup.shard_rows
    of_candidates = tasks.candidate_rows
    monkeypatch.setattr(
        dedup, "shard_rows", lambda spark, work, *rest: spread(spark, dying if work is of_candidates else work, *rest)
    )
    assert dedup.run(job).digest == clusters[1]
    assert killed.exists()


def test_a_cluster_that_is_too_large_stops_the_run(clusters: tuple[Path, str], tmp_path: Path) -> None:
    job = copied(clusters[0], tmp_path, share=0.01)
    with pytest.raises(DataBudgetError, match=r"a cluster of \d+ documents around .*max_cluster_share allows 1.0%"):
        dedup.run(job)
    assert not list((tmp_path / "work/dedup").glob("manifests/*"))


def copied(root: Path, to: Path, driver_pairs: int | None = None, share: float | None = None) -> Job:
    """Return the job over a copy of the work folder."""
    shutil.copytree(root / "work", to / "work")
    more = [] if driver_pairs is None else ["--set", f"dedup.driver_pairs={driver_pairs}"]
    more += [] if share is None else ["--set", f"dedup.max_cluster_share={share}"]
    return opened(root, str(to / "work"), *more)
