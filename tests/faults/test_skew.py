"""Many copies of one text and many texts of one template: the copies go, the family stays, and guards are asked."""

import json
import random
from pathlib import Path

import pytest
from conftest import run
from corpus import NOUNS, prose

from curation.errors import DataBudgetError
from curation.ledger import ledger
from curation.registry import read_registry

COPIES, FAMILY, OTHERS = 5_000, 500, 200
RECIPE = """
name = "skew"
[[source]]
name = "copies"
reader = "jsonl"
inputs = ["copies.jsonl"]
[[source]]
name = "family"
reader = "jsonl"
inputs = ["family.jsonl"]
[[source]]
name = "others"
reader = "jsonl"
inputs = ["others.jsonl"]
[dedup]
"""


def member(number: int) -> str:
    """Return a page of a family: half of it is the template, half its own."""
    rng = random.Random(number)
    return f"{prose(1, 4)} {' '.join(f'{rng.choice(NOUNS)}{rng.randrange(900)}' for _ in range(70))}"


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    texts = {
        "copies": [prose(5, 4)] * COPIES,
        "family": [member(number) for number in range(FAMILY)],
        "others": [prose(100 + number, 4) for number in range(OTHERS)],
    }
    for name, own in texts.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in own))
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE)
    return path


def test_a_cluster_of_copies_leaves_one_and_a_template_wipes_out_nobody(recipe: Path, tmp_path: Path) -> None:
    """AT-15."""
    work = tmp_path / "work"
    found = run(recipe, work)
    names = {number: name for name, number in read_registry(str(work)).numbers.items()}
    kept = {e.source: e.out.units for e in ledger(str(work), found.manifests, names) if e.stage == "dedup"}
    assert kept == {"copies": 1, "family": FAMILY, "others": OTHERS}
    with pytest.raises(DataBudgetError, match="copies: 4,999 of 5,000 documents"):
        run(recipe, work, "--set", "max_removed.dedup=0.9")
