"""docs/decontamination.md tells the truth: its recipes parse, and its entries read the files they are for."""

import os
import re
import tomllib
from pathlib import Path

import pytest

from curation.decontamination.benchmarks import Benchmark, read
from curation.decontamination.settings import DecontaminationSettings
from curation.decontamination.tasks import NAMED

PAGE = (Path(__file__).parents[3] / "docs/decontamination.md").read_text()
FIRST, OTHERS = (tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
# Files in their original layout among the real data, and the examples they have.
REAL = {
    "squad": ("format-samples/squad2.json", 0),
    "quac": ("format-samples/quac_sample.json", 0),
    "drop": ("format-samples/drop.json", 0),
    "natural_questions": ("nq/NQ-open.dev.jsonl", 3610),
    "web_questions": ("webquestions/test.json", 2032),
    "copa": ("copa.val.jsonl", 100),
    "rte": ("rte.val.jsonl", 277),
    "cb": ("cb.val.jsonl", 56),
    "multirc": ("multirc.val.jsonl", 83),
    "record": ("record.dev32.jsonl", 32),
    "wsc": ("wsc.val.jsonl", 104),
}


def opened(path):
    return Path(path).open("rb")


def test_its_first_recipe_is_one():
    assert DecontaminationSettings(**FIRST["decontamination"]).common == "megatron"


def test_its_table_has_every_format():
    rows = re.findall(r"^\| .*?\(`(\w+)`\) \|", PAGE, re.MULTILINE)
    assert set(rows) == set(NAMED)


@pytest.mark.parametrize("entry", OTHERS["benchmarks"], ids=lambda entry: entry["task"])
def test_each_entry_for_another_task_reads_its_file(entry):
    benchmark = Benchmark(**entry)
    if not (real := os.environ.get("CURATION_REAL_DATA")):
        pytest.skip("CURATION_REAL_DATA is not set")
    if benchmark.task not in REAL:
        pytest.skip("there is no such file among the real data")
    name, count = REAL[benchmark.task]
    found = list(read(benchmark.model_copy(update={"path": str(Path(real) / "bench" / name)}), opened, "paper"))
    assert len(found) == count or (count == 0 and found)
    assert all(example.texts and all(example.texts) for example in found)
