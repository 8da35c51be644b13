"""Benchmark readers: every original layout, what protects in each mode, and errors that say what to write."""

import bz2
import gzip
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from curation.decontamination.benchmarks import Benchmark, BenchmarkError, read, records, resolve

RACE = {
    "id": "high1.txt",
    "article": "A story.",
    "questions": ["Who _ ?", "Why?"],
    "options": [["He", "She"], ["So", "Thus"]],
    "answers": ["A", "B"],
}
HANS = (
    'gold_label\tsentence1\tsentence2\tpairID\theuristic\nentailment\tThe "actor slept.\tHe slept.\tex0\tsubsequence\n'
)
ORIGINALS = [
    ("lambada_test.jsonl", {"text": "Once more"}, ["Once more"], []),
    ("middle/1.txt", RACE, ["Who _ ?"], ["A story.", "Who _ ? He", "Who _ ? She"]),
    ("dev.jsonl", {"question": "is it", "title": "T", "answer": True, "passage": "It is"}, ["is it"], []),
    ("tests.jsonl", {"goal": "Fry", "sol1": "hot", "sol2": "cold"}, ["Fry"], ["Fry hot", "Fry cold"]),
    ("val.jsonl", {"ind": 1, "ctx": "He", "endings": ["runs", "sits"]}, ["He"], ["He runs", "He sits"]),
    (
        "dev.jsonl",
        {"qID": "1", "sentence": "As _ won.", "option1": "Al", "option2": "Bo", "answer": "1"},
        ["As _ won."],
        ["As Al won.", "As Bo won."],
    ),
    ("R1/test.jsonl", {"uid": "u", "context": "C", "hypothesis": "H", "label": "e"}, ["C", "H"], ["C H"]),
    ("heuristics_evaluation_set.txt", HANS, ['The "actor slept.', "He slept."], ['The "actor slept. He slept.']),
    ("wic/dev.data.txt", "place\tN\t2-3\tDo you\tThe place\n", ["Do you", "The place"], ["Do you The place"]),
    ("val.jsonl", {"word": "w", "sentence1": "S one", "sentence2": "S two"}, ["S one", "S two"], ["S one S two"]),
]


def examples(content, mode="paper", **entry):
    data = content if isinstance(content, bytes) else content.encode()
    return list(read(Benchmark(**{"path": "dir/file.jsonl", **entry}), lambda _: io.BytesIO(data), mode))


def lines(*records):
    return "\n".join(map(json.dumps, records))


@pytest.mark.parametrize(("path", "content", "paper", "more"), ORIGINALS)
def test_an_original_file_is_known_by_name_or_content_and_protects_by_mode(path, content, paper, more):
    text = content if isinstance(content, str) else json.dumps(content)
    assert list(examples(text, path=path)[0].texts) == paper
    assert list(examples(text, "extended", path=path)[0].texts) == paper + more


def test_each_question_of_a_race_article_is_an_example():
    found = examples(json.dumps(RACE), path="RACE/test/high/1.txt")
    assert [(e.task, e.row, e.texts) for e in found] == [("race", 0, ("Who _ ?",)), ("race", 1, ("Why?",))]


def test_the_file_that_names_a_benchmark_as_a_word_decides():
    opened = []
    for path, layout in [
        ("piqa/tests.jsonl", "piqa"),
        ("a/anli_v1.0/R1.jsonl", "anli"),
        ("race-lambada/wic.tsv", "wic"),
    ]:
        assert resolve(Benchmark(path=path), opened.append).format == layout
    assert opened == []


def test_a_bare_path_is_a_benchmark():
    assert Benchmark.model_validate("s3://b/piqa.jsonl") == Benchmark(path="s3://b/piqa.jsonl")


def test_a_key_that_does_not_exist_is_refused():
    with pytest.raises(ValidationError, match="field"):
        Benchmark(path="a", field="text")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", b'{"q": "one"}\n\n{"q": "two"}\n'),
        ("a.jsonl", b'\xef\xbb\xbf{"q": "one"}\r\n{"q": "two"}'),
        ("a.json", b'[{"q": "one"}, {"q": "two"}]'),
        ("a.json", b'{"version": 1, "data": [{"q": "one"}, {"q": "two"}]}'),
        ("a.json", b'{"q": "one"}\n{"q": "two"}\n'),
        ("a.csv", b'n,q\n1,"one"\n2,two\n'),
        ("a.tsv", b"n\tq\n1\tone\n2\ttwo\n"),
        ("a", b'[{"q": "one"}, {"q": "two"}]'),
        ("a.jsonl.gz", gzip.compress(b'{"q": "one"}\n{"q": "two"}')),
        ("a.jsonl", bz2.compress(b'{"q": "one"}\n{"q": "two"}')),
    ],
)
def test_the_general_reader_reads_every_container(name, content):
    found = examples(content, path=name, fields=("q",))
    assert [(e.task, e.row, e.texts) for e in found] == [("a", 0, ("one",)), ("a", 1, ("two",))]


def test_the_general_reader_reads_parquet():
    stream = io.BytesIO()
    pq.write_table(pa.table({"q": [{"text": "one"}, {"text": "two"}], "choices": [["a", "b"], []]}), stream)
    found = examples(stream.getvalue(), path="mmlu.parquet", fields=("q.text", "choices"))
    assert [e.texts for e in found] == [("one", "a", "b"), ("two",)]


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_members_of_an_archive_are_chosen_by_pattern_and_read_in_the_order_of_their_names(kind):
    stream = io.BytesIO()
    files = {"r/test/b.jsonl": b'{"q": "two"}', "r/test/a.jsonl": b'{"q": "one"}', "r/train/a.jsonl": b'{"q": "no"}'}
    if kind == "zip":
        with zipfile.ZipFile(stream, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    else:
        with tarfile.open(fileobj=stream, mode="w:gz") as tar:
            for name, data in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    found = examples(stream.getvalue(), path=f"data.{kind}", fields=("q",), members="r/test/*")
    assert [(e.row, e.texts) for e in found] == [(0, ("one",)), (1, ("two",))]


def test_examples_inside_a_record_are_taken_apart():
    squad = {"data": [{"paragraphs": [{"context": "c", "qas": [{"question": "one"}, {"question": "two"}]}]}]}
    found = examples(json.dumps(squad), path="squad.json", each="paragraphs.qas", fields=("question",))
    assert [e.texts for e in found] == [("one",), ("two",)]
    drop = {"history_1": {"qa_pairs": [{"question": "one"}]}, "nfl_2": {"qa_pairs": [{"question": "two"}]}}
    found = examples(json.dumps(drop), path="drop.json", each="*.qa_pairs", fields=("question",))
    assert [e.texts for e in found] == [("one",), ("two",)]


SECRET = "the content nobody may see"


@pytest.mark.parametrize(
    ("content", "entry", "message"),
    [
        (lines({"q": SECRET}, {"r": SECRET}), {"fields": ("q",)}, "line 2: no field 'q'"),
        (lines({"q": SECRET}) + "\n{" + SECRET, {"fields": ("q",)}, "line 2 is not JSON at character 1"),
        (json.dumps({"q": SECRET}).encode() + b"\n\xff", {"fields": ("q",)}, "line 2 is not UTF-8 at byte 0"),
        (lines({"q": {"a": SECRET}}), {"fields": ("q",)}, "line 1: field 'q' is no text"),
        (lines({"q": None, "s": SECRET}), {"fields": ("q",)}, "line 1: field 'q' is no text"),
        (lines([SECRET]), {"fields": ("q",)}, "line 1 is not an object"),
        (f"q,r\n{SECRET}\n", {"path": "a.csv", "fields": ("q",)}, "line 2 has 1 columns instead of 2"),
        (gzip.compress(SECRET.encode() * 9)[:-9], {"fields": ("q",)}, "the file is damaged"),
        (f"PAR1 {SECRET}", {"path": "a.parquet", "fields": ("q",)}, "is no Parquet"),
        ("", {"fields": ("q",)}, "holds no examples"),
        (SECRET, {"path": "a.bin", "fields": ("q",)}, "write container ="),
        (lines({"text": SECRET}), {}, r'write \{ path = "dir/file.jsonl", task = "…", fields = \["…"\] \}'),
        (lines({"text": SECRET}), {"format": "general"}, "no fields; write fields ="),
        (lines({"text": SECRET}), {"format": "piqa"}, "line 1: no field 'goal'; read as format \"piqa\""),
        (lines({**RACE, "options": [[SECRET]]}), {"format": "race"}, "not lists of one length"),
    ],
)
def test_an_error_names_file_and_record_and_what_to_write_but_no_content(content, entry, message):
    with pytest.raises(BenchmarkError, match=message) as caught:
        examples(content, **entry)
    assert entry.get("path", "dir/file.jsonl") in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.exit_code == 2


# Task and number of examples of each real file.
REAL = {
    "lambada/lambada_test.jsonl": ("lambada", 5153),
    "race.sample1000.jsonl": ("race", 1000),
    "boolq.val.jsonl": ("boolq", 3270),
    "piqa/tests.jsonl": ("piqa", 3084),
    "hellaswag.sample1000.jsonl": ("hellaswag", 1000),
    "anli/ANLI_analysis_r1_dev.csv": ("anli", 1000),
    "anli/ANLI_analysis_r3_dev.csv": ("anli", 1198),
    "wic.val.jsonl": ("wic", 638),
}


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("mode", ["paper", "extended"])
def test_real_files_are_read_by_their_bare_paths(name, mode):
    if not (real := os.environ.get("CURATION_REAL_DATA")):
        pytest.skip("CURATION_REAL_DATA is not set")
    path = str(Path(real) / "bench" / name)
    found = list(read(Benchmark(path=path), lambda p: io.BytesIO(Path(p).read_bytes()), mode))
    assert (found[0].task, len(found)) == REAL[name]
    assert all(example.texts and all(example.texts) for example in found)


def test_whole_records_come_with_the_rows_of_their_texts():
    lines = [RACE, {key: value for key, value in RACE.items() if key != "answers"}]
    data = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    benchmark = Benchmark(path="race.jsonl")
    found = list(records(benchmark, lambda name: io.BytesIO(data)))
    texts = list(read(benchmark, lambda name: io.BytesIO(data), "paper"))
    assert [row for row, _ in found] == [example.row for example in texts] == [0, 1, 2, 3]
    assert [record["answer"] for _, record in found] == ["A", "B", None, None]
