"""Tasks are read from their files, and their clean examples told by the contamination table of a run."""

import json

import pytest

pytest.importorskip("torch")

from curation.decontamination.benchmarks import Benchmark
from curation.shards.errors import RecipeError
from curation.shards.tokenizer import TokenizerSpec, load
from tests.trainer import examples
from tests.trainer.test_ranking import Even
from trainer.tasks import Task, questions, read_contaminated, read_tasks, score_task


@pytest.fixture
def files(tmp_path):
    return examples.write(tmp_path)


@pytest.fixture(scope="module")
def tokenizer():
    return load(TokenizerSpec(builtin="gpt2"), lambda path: b"")


def table(path, **tasks):
    path.write_text(json.dumps(tasks))
    return read_contaminated(str(path))


@pytest.mark.parametrize("task", examples.RECORDS)
def test_every_record_of_a_file_is_asked(task, files):
    asked = questions(Benchmark(path=str(files[task])), None)
    records = examples.RECORDS[task]
    assert len(asked) == sum(len(record.get("questions", [0])) for record in records)


def test_labels_come_from_a_file_of_their_own(files, tmp_path):
    bare = [{key: value for key, value in record.items() if key != "label"} for record in examples.RECORDS["piqa"]]
    files["piqa"].write_text("".join(f"{json.dumps(record)}\n" for record in bare))
    benchmark = Benchmark(path=str(files["piqa"]))
    with pytest.raises(RecipeError, match="example 0 lacks"):
        questions(benchmark, None)
    labels = tmp_path / "labels.lst"
    labels.write_text("1\n0\n1\n0\n1\n")
    assert [question.right for question in questions(benchmark, str(labels))] == [1, 0, 1, 0, 1]
    labels.write_text("1\n0\n")
    with pytest.raises(RecipeError, match="2 labels, but"):
        questions(benchmark, str(labels))


@pytest.mark.parametrize("shots", [0, 1, 3])
def test_the_clean_score_leaves_out_what_was_found_and_what_was_not_looked_for(shots, files, tokenizer, tmp_path):
    task = Task(benchmark=Benchmark(path=str(files["piqa"])))
    about = table(tmp_path / "table.json", piqa={"examples": 5, "found": [0], "unprotected": [2, 4]})
    score = score_task(task, shots, Even(), tokenizer, 64, about)
    assert (score.task, score.shots) == ("piqa", shots)
    assert score.all.questions == 5
    assert score.clean.questions == 2
    assert score_task(task, shots, Even(), tokenizer, 64, None).clean is None


def test_a_table_of_another_file_is_refused(files, tokenizer, tmp_path):
    task = Task(benchmark=Benchmark(path=str(files["piqa"])))
    other = table(tmp_path / "table.json", piqa={"examples": 6, "found": [], "unprotected": []})
    with pytest.raises(RecipeError, match="6 examples in the contamination table and 5 here"):
        score_task(task, 0, Even(), tokenizer, 64, other)
    with pytest.raises(RecipeError, match="no task piqa; it has boolq"):
        score_task(task, 0, Even(), tokenizer, 64, {"boolq": other["piqa"]})


def test_a_recipe_of_tasks_names_files_beside_it(files, tmp_path):
    path = tmp_path / "tasks.toml"
    path.write_text('[[task]]\nbenchmark = "piqa.jsonl"\nlabels = "piqa.lst"\nshots = "piqa.jsonl"\nfew = 5\n')
    (task,) = read_tasks(str(path)).task
    assert task.benchmark.path == task.shots.path == str(files["piqa"])
    assert (task.labels, task.few) == (str(tmp_path / "piqa.lst"), 5)
    path.write_text("[[task]]\nfew = 5\n")
    with pytest.raises(RecipeError, match="not a recipe of tasks"):
        read_tasks(str(path))


def test_what_is_no_contamination_table_is_refused(tmp_path):
    path = tmp_path / "table.json"
    path.write_text('{"tasks": []}')
    with pytest.raises(RecipeError, match="curate contamination WORK --examples --json"):
        read_contaminated(str(path))
