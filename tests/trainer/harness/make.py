"""Make `golden.json` anew: what lm-evaluation-harness says of the same model and the same examples.

    python -m tests.trainer.harness.make --harness PYTHON [--real FOLDER]

PYTHON is the interpreter of an environment of its own with lm_eval and transformers; README.md names the versions.
"""

import argparse
import io
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from curation.decontamination.benchmarks import Benchmark, records
from curation.shards.tokenizer import _package_folder
from tests.trainer import examples
from tests.trainer.harness.model import model
from trainer.export import export

HERE = Path(__file__).parent
FILES = {  # of the harness, beside its own tasks' package
    "lambada": "lambada/lambada_standard.yaml",
    "piqa": "piqa/piqa.yaml",
    "boolq": "super_glue/boolq/default.yaml",
    "hellaswag": "hellaswag/hellaswag.yaml",
    "winogrande": "winogrande/default.yaml",
    "anli": "anli/anli_r1.yaml",
    "wic": "super_glue/wic/default.yaml",
}
REAL = {
    "lambada": ("lambada/lambada_test.jsonl", None),
    "piqa": ("piqa/valid.jsonl", "piqa/valid-labels.lst"),
    "boolq": ("boolq.val.jsonl", None),
    "hellaswag": ("hellaswag.sample1000.jsonl", None),
    "wic": ("wic.val.jsonl", None),
}
REAL_ROWS = 60  # of each file: the first


def their_record(task: str, record: dict[str, Any], label: str | None) -> dict[str, Any]:
    """Return a record with the names and types that the harness's data sets have."""
    record = dict(record)
    if label is not None:
        record["label"] = int(label)
    if task in ("boolq", "wic"):
        record["label"] = int(record.pop("answer") if "answer" in record else record["label"])
    if task == "anli":
        label_number = "enc".index(record["label"])
        return {"premise": record["context"], "hypothesis": record["hypothesis"], "label": label_number}
    return record


def their_files(task: str, path: Path, labels: Path | None, rows: int, folder: Path) -> Path:
    """Write the examples as the harness reads them."""
    answers = labels.read_text().split() if labels else None
    benchmark = Benchmark.model_validate({"path": str(path), "format": task})
    found = islice(records(benchmark, lambda name: io.BytesIO(Path(name).read_bytes())), rows)
    lines = [json.dumps(their_record(task, record, answers[row] if answers else None)) for row, record in found]
    target = folder / f"{task}.data.jsonl"
    target.write_text("\n".join(lines) + "\n", "utf-8")
    return target


def recipe(task: str, data: Path, theirs: Path, shots: Path | None) -> dict[str, Any]:
    """Return a task of the harness: its own, on a local file."""
    files = {"validation": str(data)} | ({"train": str(shots)} if shots else {})
    return {
        "include": str(theirs / FILES[task]),
        "task": f"local_{task}",
        "tag": None,
        "dataset_path": "json",
        "dataset_name": None,
        "dataset_kwargs": {"data_files": files},
        "training_split": "train" if shots else None,
        "validation_split": "validation",
        "test_split": None,
        "fewshot_split": "train" if shots else None,
        "fewshot_config": {"sampler": "first_n"} if shots else None,
    }


def export_for_harness(folder: Path) -> None:
    """Write the model with GPT-2's tokenizer beside it."""
    config, gpt = model()
    export(gpt, config.model, folder, eod=50_256)
    for ours, name in (("encoder.json", "vocab.json"), ("vocab.bpe", "merges.txt")):
        (folder / name).write_bytes((_package_folder() / ours).read_bytes())
    told = {"tokenizer_class": "GPT2Tokenizer", "model_max_length": config.model.sequence_tokens}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))


RUN = """
import json, sys
import lm_eval
from lm_eval.tasks import TaskManager
model, folder, names, shots, out = sys.argv[1:]
done = lm_eval.simple_evaluate(
    model="hf", model_args=f"pretrained={model},dtype=float32", tasks=names.split(","), num_fewshot=int(shots),
    batch_size=1, device="cpu", task_manager=TaskManager(include_path=folder), log_samples=True, bootstrap_iters=0)
found = {}
for task, samples in done["samples"].items():
    scores = {key.split(",")[0]: value for key, value in done["results"][task].items() if key.endswith(",none")}
    scores = {key: value for key, value in scores.items() if key in ("acc", "acc_norm", "perplexity")}
    samples.sort(key=lambda sample: sample["doc_id"])
    found[task.removeprefix("local_")] = {
        "scores": scores, "log_likelihoods": [[round(float(r[0]), 5) for r in s["filtered_resps"]] for s in samples]}
json.dump(found, open(out, "w"))
"""


def run(harness: str, exported: Path, folder: Path, names: list[str], shots: int) -> dict[str, Any]:
    """Let the harness score the tasks of a folder."""
    out = folder / "out.json"
    words = [
        harness,
        "-c",
        RUN,
        str(exported),
        str(folder),
        ",".join(f"local_{name}" for name in names),
        str(shots),
        str(out),
    ]
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "home"), "PYTHONPATH": ""}
    subprocess.run(words, check=True, env={**os.environ, **offline})
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def sets(real: Path | None, folder: Path) -> Iterator[tuple[str, dict[str, tuple[Path, Path | None]], int]]:
    """Yield name, files and rows of each set of examples."""
    yield "made up", {task: (path, None) for task, path in examples.write(folder).items() if task in FILES}, 1000
    if real:
        files = {task: (real / path, real / labels if labels else None) for task, (path, labels) in REAL.items()}
        yield "real", files, REAL_ROWS


def main() -> None:
    """Write golden.json."""
    one = argparse.ArgumentParser()
    one.add_argument("--harness", required=True)
    one.add_argument("--real", type=Path, help="folder with the original files")
    options = one.parse_args()
    theirs = Path(
        subprocess.run(
            [options.harness, "-c", "import lm_eval.tasks as t; print(t.__path__[0])"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    )
    golden: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        export_for_harness(folder / "model")
        for name, files, rows in sets(options.real, folder):
            for shots in (0, 2):
                tasks = folder / f"{name.replace(' ', '')}-{shots}"
                tasks.mkdir()
                chosen = [task for task in files if not (shots and task == "lambada")]  # README.md says why
                for task in chosen:
                    path, labels = files[task]
                    data = their_files(task, path, labels, rows, tasks)
                    few = tasks / f"{task}.shots.jsonl"
                    few.write_text("".join(data.read_text().splitlines(keepends=True)[:2]))
                    text = json.dumps(recipe(task, data, theirs, few if shots else None))
                    (tasks / f"{task}.yaml").write_text(text)
                golden[f"{name}, {shots} shots"] = run(options.harness, folder / "model", tasks, chosen, shots)
    text = json.dumps(golden, sort_keys=True, separators=(",", ":")).replace('},"', '},\n"')
    (HERE / "golden.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
