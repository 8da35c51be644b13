"""Scores and log-likelihoods equal those of lm-evaluation-harness on the exported model; harness/README.md says how."""

import json
import os
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from curation.decontamination.benchmarks import Benchmark
from curation.shards.tokenizer import TokenizerSpec, load
from tests.trainer import examples
from tests.trainer.harness.make import REAL, REAL_ROWS
from tests.trainer.harness.model import model
from trainer.ranking import ask, summary
from trainer.scorers import WholeModel
from trainer.tasks import questions

GOLDEN = json.loads((Path(__file__).parent / "harness" / "golden.json").read_text())
CASES = [(name, task) for name, tasks in GOLDEN.items() if name.startswith("made up") for task in tasks]
REAL_CASES = [("real, 0 shots", "lambada"), ("real, 0 shots", "piqa")]
HERE = os.environ.get("CURATION_REAL_DATA")


@pytest.fixture(scope="module")
def scored():
    config, gpt = model()
    tokenizer = load(TokenizerSpec(builtin="gpt2"), lambda path: b"")
    scorer = WholeModel(gpt, config.model.vocabulary)

    def score(asked, shots):
        return ask(asked, lambda number: asked[:shots], tokenizer, config.model.sequence_tokens, scorer)

    return score


def compare(scored, name, task, asked):
    expected = GOLDEN[name][task]
    outcomes = scored(asked, shots=int(name.split(", ")[1][0]))
    for question, outcome, likelihoods in zip(asked, outcomes, expected["log_likelihoods"], strict=True):
        assert -outcome.loss == pytest.approx(likelihoods[question.right], abs=2e-4)
    found = summary(outcomes)
    ours = {"acc": found.accuracy, "acc_norm": found.accuracy_normalised, "perplexity": found.perplexity}
    assert {key: ours[key] for key in expected["scores"]} == pytest.approx(expected["scores"], rel=1e-4)


@pytest.mark.parametrize(("name", "task"), CASES)
def test_a_task_scores_as_in_the_harness(name, task, scored, tmp_path):
    path = examples.write(tmp_path)[task]
    compare(scored, name, task, questions(Benchmark(path=str(path)), None))


@pytest.mark.skipif(not HERE, reason="CURATION_REAL_DATA names no folder with the original files")
@pytest.mark.parametrize(("name", "task"), REAL_CASES)
def test_an_original_file_scores_as_in_the_harness(name, task, scored):
    path, labels = (Path(HERE) / "bench" / file if file else None for file in REAL[task])
    asked = questions(Benchmark(path=str(path), format=task), str(labels) if labels else None)
    compare(scored, name, task, asked[:REAL_ROWS])
