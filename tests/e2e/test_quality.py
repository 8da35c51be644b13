"""The recipe's own language model, a solved alpha, keep rates that coins explain, and what the report shows."""

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import run
from corpus import prose

from curation.identity import coin
from curation.latest import Latest
from curation.parts import read_table
from curation.report import collect, render
from curation.text import quality
from jobs.cli import main

GOAL_TOKENS = 9_000
RECIPE = """
name = "quality"
seed = 11
shard_mib = 1

[language]
detector = "fasttext"
model = "lid.bin"
min_letters = 40

[[source]]
name = "books"
reader = "jsonl"
inputs = ["books.jsonl"]

[[source]]
name = "web"
reader = "jsonl"
inputs = ["web/*.jsonl"]
profile = "web"

[[source]]
name = "crawl"
reader = "jsonl"
inputs = ["crawl.jsonl"]
profile = "crawl"

[profile.web]
language = { keep = ["en"] }
pareto = { alpha = "auto", goal_tokens = GOAL }

[profile.crawl]
length = { min_words = 15 }
pareto = { alpha = 2.0 }

[quality_model]
positives = { books = 60 }
negatives = ["web"]
parameters = { dimensions = 8, buckets = 1000, min_count = 1 }
"""
SPAM = (
    "buy",
    "cheap",
    "tickets",
    "now",
    "best",
    "price",
    "offer",
    "free",
    "shipping",
    "order",
    "today",
    "click",
    "deal",
)
GERMAN = "Der Fluss war in jenem Winter ganz zugefroren und die Kinder liefen jeden Morgen zur Schule"


def spam(number: int) -> str:
    return " ".join(random.Random(number).choices(SPAM, k=80))


def mixed(number: int) -> str:
    """Return a text of which a varying part is prose, so that scores are spread."""
    words = prose(number, 2).split()
    return " ".join(words[: number % 7 * 12]) + " " + " ".join(spam(number).split()[: 80 - number % 7 * 12])


def write(path: Path, texts: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


@dataclass(frozen=True)
class Run:
    root: Path
    work: str
    latest: Latest

    def column(self, stage: str, table: str, source: str, name: str) -> list[Any]:
        parts = [part for part in self.latest.manifests[stage].parts(table) if part.facts["source"] == source]
        return [value for part in parts for value in read_table(self.work, part, [name])[name].to_pylist()]

    def kept(self, source: str) -> set[int]:
        rows = zip(*(self.column("filter", "verdicts", source, name) for name in ("doc_id", "fate")), strict=True)
        return {doc_id for doc_id, fate in rows if fate == "keep"}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("quality")
    write(root / "books.jsonl", [prose(n, 6) for n in range(70)])
    write(root / "web/a.jsonl", [mixed(n) for n in range(1000, 1300)] + [f"{GERMAN} {n}" for n in range(9)] + ["ok so"])
    write(root / "web/b.jsonl", [mixed(n) for n in range(2000, 2200)])
    write(root / "crawl.jsonl", [mixed(n) for n in range(3000, 3400)] + ["too short"])
    english = [" ".join(prose(n, 1).split()) for n in range(30)] + [spam(n) for n in range(30)]
    lines = [*(f"__label__en {text}" for text in english), *[f"__label__de {GERMAN}"] * 40]
    (root / "lid.txt").write_text("\n".join(lines) + "\n")
    parameters = quality.Parameters(dimensions=8, epochs=20, buckets=1000, min_count=1)
    quality._run_fasttext(root / "lid.txt", parameters, root / "lid.bin")
    return finish(root, GOAL_TOKENS)


def finish(root: Path, goal_tokens: int) -> Run:
    (root / "recipe.toml").write_text(RECIPE.replace("GOAL", str(goal_tokens)))
    return Run(root, str(root / "work"), run(root / "recipe.toml", root / "work"))


def test_the_language_model_of_the_recipe_decides_and_short_texts_are_undetermined(first: Run) -> None:
    codes = first.column("signals", "signals", "web", "language")
    assert (codes.count("de"), codes.count("und")) == (9, 1)
    reasons = zip(*(first.column("filter", "verdicts", "web", name) for name in ("reason", "detail")), strict=True)
    assert sorted(detail for reason, detail in reasons if reason == "language") == ["de"] * 9 + ["und"]


def test_alpha_is_solved_for_the_goal_and_what_was_reached_is_said(first: Run) -> None:
    solved = first.latest.manifests["filter"].notes["alpha"]["web"]
    assert solved["goal_tokens"] == GOAL_TOKENS
    assert solved["survival"] == {"web": 1.0}
    assert solved["expected_tokens"] == pytest.approx(GOAL_TOKENS, rel=0.01)
    assert solved["reached_tokens"] == pytest.approx(GOAL_TOKENS, rel=0.15)
    sizes = dict(zip(*(first.column("filter", "verdicts", "web", n) for n in ("doc_id", "text_bytes")), strict=True))
    assert solved["reached_tokens"] == round(sum(sizes[doc_id] for doc_id in first.kept("web")) / 4)


def test_the_observed_keep_rate_of_every_source_is_what_its_coins_explain(first: Run) -> None:
    rates = first.latest.manifests["filter"].notes["pareto"]
    assert {name: rate["judged"] for name, rate in rates.items()} == {"web": 500, "crawl": 400}
    for source, rate in rates.items():
        scores = dict(
            zip(*(first.column("quality", "quality", source, n) for n in ("doc_id", "quality_ppm")), strict=True)
        )
        reasons = dict(zip(*(first.column("filter", "verdicts", source, n) for n in ("doc_id", "reason")), strict=True))
        keys = dict(zip(*(first.column("signals", "signals", source, n) for n in ("doc_id", "doc_key")), strict=True))
        met = [doc_id for doc_id, reason in reasons.items() if reason in ("", "pareto")]
        chance = {doc_id: (2 - scores[doc_id] / 1e6) ** -rate["alpha"] for doc_id in met}
        assert first.kept(source) == {d for d in met if coin(11, keys[d], "pareto") < chance[d]}
        assert len({scores[doc_id] for doc_id in met}) > 50  # scores are spread
        error = sum(p * (1 - p) for p in chance.values()) ** 0.5
        assert abs(rate["kept"] - sum(chance.values())) <= 3 * error
        assert rate["expected_billionths"] / 1e9 == pytest.approx(sum(chance.values()), abs=1e-4)


def test_a_larger_goal_has_a_smaller_alpha_and_keeps_all_that_the_smaller_one_kept(first: Run) -> None:
    larger = finish(first.root, GOAL_TOKENS * 3 // 2)
    alphas = [one.latest.manifests["filter"].notes["alpha"]["web"]["alpha"] for one in (first, larger)]
    assert alphas[0] > alphas[1]
    assert first.kept("web") < larger.kept("web")
    assert first.kept("crawl") == larger.kept("crawl")
    assert first.latest.manifests["quality"].digest == larger.latest.manifests["quality"].digest


def test_the_documents_nearest_to_every_limit_of_the_run_can_be_read(
    first: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", first.work, "--json"]) == 0
    [sides] = json.loads(capsys.readouterr().out)
    assert (sides["source"], sides["signal"], sides["threshold"], sides["bound"]) == ("crawl", "words", 15, "minimum")
    assert [row["value"] for row in sides["up_to"]] == [2]
    assert len(sides["above"]) == 20
    assert all(row["value"] >= 15 for row in sides["above"])
    assert main(["sample", first.work, "-n", "1"]) == 0
    assert "crawl: words below the minimum of 15" in capsys.readouterr().out
    assert main(["sample", first.work, "--signal", "digit_ppm"]) == 2  # no profile of this run limits it
    assert main(["sample", first.work, "--threshold", "3"]) == 2


def test_the_report_shows_scores_keep_rates_limits_and_languages(first: Run) -> None:
    report = collect(first.work)
    found = report.distributions
    assert found is not None
    assert {rate.source: rate.plausible for rate in found.keep_rates} == {"web": True, "crawl": True}
    assert {(row.source, row.code): row.documents for row in found.languages}["web", "de"] == 9
    assert [(picture.source, picture.column, picture.minimum) for picture in found.signals] == [("crawl", "words", 15)]
    page = render(report)
    for heading in ("Scores and keep rates", "Signals and their limits", "Languages", "The classifier more closely"):
        assert f"<h2>{heading}</h2>" in page
    assert re.search(r"<polyline [^>]*points=\"[0-9., ]+\"", page)
