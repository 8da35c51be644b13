"""A work folder up to the filter, made without Spark: every source and rule that `jobs.filter` distinguishes.

`books` has no profile, an empty document and three on the removal list, each named in another way. `capped` and `full`
may have twelve documents; `capped` has more. `cut` and `mended` come from damaged files, of which `cut` gives up its
own. `web` is judged by an alpha that is solved, `crawl` by a given one, `old` is a reference of `web`'s profile.
"""

import argparse
import gzip
import json
import random
import shutil
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from curation.commits import Manifest
from curation.identity import coin, unpack
from curation.ledger import Count, Entry
from curation.parts import read_table
from jobs import annotate, ingest, job, quality_model
from jobs import filter as filter_job

SEED = 5
GOAL_TOKENS = 3_000
WORDS = ["river", "captain", "winter", "school", "garden", "walked", "children", "village", "buy", "cheap", "now"]
RECIPE = f"""
name = "filter"
seed = {SEED}
removal_list = "removal.txt"
quality_model.positives = {{ books = 30 }}
quality_model.negatives = ["web"]
quality_model.parameters = {{ dimensions = 8, buckets = 1000, min_count = 1 }}
profile.web.pareto = {{ alpha = "auto", goal_tokens = {GOAL_TOKENS} }}
profile.crawl.pareto = {{ alpha = 2.0 }}
profile.crawl.length = {{ min_words = 15 }}
source = [
  {{ name = "books", reader = "jsonl", inputs = ["books.jsonl"] }},
  {{ name = "capped", reader = "jsonl", inputs = ["capped.jsonl"], max_documents = 12 }},
  {{ name = "full", reader = "jsonl", inputs = ["full.jsonl"], max_documents = 12 }},
  {{ name = "cut", reader = "jsonl", inputs = ["cut.jsonl.gz"], damage = "quarantine_file" }},
  {{ name = "mended", reader = "jsonl", inputs = ["mended.jsonl.gz"] }},
  {{ name = "web", reader = "jsonl", inputs = ["web.jsonl"], profile = "web" }},
  {{ name = "crawl", reader = "jsonl", inputs = ["crawl.jsonl"], profile = "crawl" }},
  {{ name = "old", reader = "jsonl", inputs = ["old.jsonl"], profile = "web", role = "reference" }},
]
"""


class Case:
    """The folder, and one judgement after another in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        _write(root)
        self.removed: list[int] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(job.Job, "spark", None)
            for stage in (ingest, quality_model, annotate):
                patch.setattr(stage, "run_shards", run_here)
            self._prepare()

    def _prepare(self) -> None:
        first = self._open()
        first.register()
        for stage in (ingest, quality_model, annotate):
            stage.run(first)
        (self.root / "removal.txt").write_text("")
        books = [part for part in first.manifest("ingest").parts("documents") if part.facts["source"] == "books"]
        ids = [doc_id for part in books for doc_id in read_table(first.root, part, ["doc_id"])["doc_id"].to_pylist()]
        self.removed = ids[3:6]
        names = [str(ids[3]), "https://books.example/4", f"books:books.jsonl:{unpack(ids[5]).record}"]
        (self.root / "removal.txt").write_text("\n".join(names) + "\n")

    def _open(self) -> job.Job:
        parser = argparse.ArgumentParser()
        job.add_run_arguments(parser)
        return job.open_job(parser.parse_args([str(self.root / "recipe.toml"), "--work", str(self.root / "work")]))

    def judged(self, module: ModuleType = filter_job) -> Manifest:
        """Return the manifest that `module`, as jobs.filter, makes of the folder."""
        shutil.rmtree(self.root / "work/filter", ignore_errors=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(job.Job, "spark", None)
            patch.setattr(module, "run_shards", run_here)
            patch.setattr(module, "read_latest", lambda root: SimpleNamespace(manifests={"dedup": None}))
            patch.setattr(module, "ledger", lambda *about: [_passed("dedup", "web", 50), _passed("filter", "web", 7)])
            done: Manifest = module.run(self._open())
        return done

    def rows(self, manifest: Manifest, source: str) -> list[dict[str, Any]]:
        """Return the verdicts on a source, with key, words, score and size."""
        opened = self._open()
        found = []
        for stage, table in (("filter", "verdicts"), ("signals", "signals"), ("quality", "quality")):
            of = manifest if stage == "filter" else opened.manifest(stage)
            parts = [part for part in of.parts(table) if part.facts["source"] == source]
            found.append([row for part in parts for row in read_table(opened.root, part).to_pylist()])
        return [verdict | signals | score for verdict, signals, score in zip(*found, strict=True)]


def run_here(_: Any, work: Any, payloads: Any) -> list[Any]:
    """Stand in for jobs.spark.run_shards."""
    return [json.loads(json.dumps(work(payload))) for payload in payloads]


def smallest(keys: list[int], count: int) -> set[int]:
    """Return the keys of the smallest coins."""
    return set(sorted(keys, key=lambda key: coin(SEED, key, "sample"))[:count])


def chance(score_ppm: int, alpha: float) -> float:
    """Return the Pareto filter's keep probability."""
    return float((2 - np.float64(score_ppm) / 1e6) ** -alpha)


def _passed(stage: str, source: str, out: int) -> Entry:
    return Entry(stage, source, received=Count(100, 100), out=Count(out, out))


def _write(root: Path) -> None:
    root.joinpath("recipe.toml").write_text(RECIPE)
    root.joinpath("removal.txt").write_text("")
    texts = {
        "books": [_text(n, 0.0) for n in range(40)] + [""],
        "capped": [_text(100 + n, 0.5) for n in range(20)],
        "full": [_text(200 + n, 0.5) for n in range(12)],
        "web": [_text(300 + n, n % 10 / 9) for n in range(120)],
        "crawl": [_text(500 + n, n % 10 / 9) for n in range(120)] + ["too short"],
        "old": [_text(700 + n, 0.5) for n in range(10)],
    }
    for name, own in texts.items():
        lines = [json.dumps({"text": text, "url": f"https://{name}.example/{n}"}) for n, text in enumerate(own)]
        root.joinpath(f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    for number, name in enumerate(("cut", "mended")):
        lines = [json.dumps({"text": _text(900 + 50 * number + n, 0.5)}) for n in range(40)]
        data = gzip.compress("\n".join(lines).encode(), mtime=0)
        root.joinpath(f"{name}.jsonl.gz").write_bytes(data[: len(data) * 2 // 3])


def _text(seed: int, poor: float) -> str:
    chances = random.Random(seed)
    return " ".join(chances.choice(WORDS[8:] if chances.random() < poor else WORDS[:8]) for _ in range(60))
