"""A removal list that grew: only what held the text is written anew, and training is told which samples read it."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import run
from corpus import write_corpus, write_recipe

from curation.lookup import open_folder
from curation.shards.reader import PairReader
from curation.trace import trace_sequence
from jobs import cli


def inodes(work: Path, pattern: str) -> dict[str, tuple[int, int]]:
    """Return the files of a folder with what would change if they were written again."""
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in work.glob(pattern)}


def test_a_takedown_rewrites_only_what_held_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(tmp_path)
    recipe, work = write_recipe(tmp_path), tmp_path / "work"
    run(recipe, work)
    parts = {stage: inodes(work, f"{stage}/parts/*") for stage in ("ingest", "signals", "assemble", "tokenize")}
    before = next(work.glob("shards/*"))
    words = (before / "books-train-00000.bin").read_bytes()
    named = [trace_sequence(open_folder(str(work)), "books-train-00000", number).story.locator for number in (0, 1)]
    with (tmp_path / "removal.txt").open("a") as file:
        file.write(next(name for name in named if not name.endswith(":2")) + "\n")  # book 2 has a near-duplicate
    order = ["--sequence-tokens", "64", "--samples", "2000"]
    capsys.readouterr()
    assert cli.main(["takedown", str(recipe), "--work", str(work), "--json", *order]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["doc_ids"]) == 1
    assert len(told["shards"]) == 1
    assert told["pairs"] == ["books-train-00000"]
    assert told["kept_pairs"] >= 3
    for stage, old in parts.items():
        new = {name for name in inodes(work, f"{stage}/parts/*") if name not in old}
        assert old.items() <= inodes(work, f"{stage}/parts/*").items()
        assert len(new) == {"ingest": 0, "signals": 0, "assemble": 1, "tokenize": 6}[stage]
    after = next(folder for folder in work.glob("shards/*") if folder != before)
    assert (after / "books-train-00000.bin").read_bytes() != words
    assert (before / "books-train-00000.bin").read_bytes() == words
    _check_samples(before, told["held"])
    assert cli.main(["verify", str(work)]) == 0
    assert cli.main(["takedown", str(recipe), "--work", str(work), *order]) == 0
    assert "0 documents removed" in capsys.readouterr().out


def _check_samples(before: Path, held: list[dict[str, object]]) -> None:
    """Samples hold the text if and only if they hold eight of its tokens in a row, or lie at its edges."""
    from curation.shards.blend import Blend
    from curation.shards.training import BlendedSamples, Order

    [found] = held
    pair = PairReader(before / str(found["pair"]))
    [sequence] = found["sequences"]  # type: ignore[misc]
    removed = pair[int(sequence)].tolist()
    others = [pair[number].tolist() for number in range(len(pair)) if number != int(sequence)]
    elsewhere = {tuple(ids[at : at + 8]) for ids in others for at in range(len(ids) - 7)}
    own = {tuple(removed[at : at + 8]) for at in range(len(removed) - 7)} - elsewhere
    blend = Blend.model_validate_json((before / "blend.json").read_text())
    samples = BlendedSamples(blend.train, Order(2000, 64), before)
    reads = []
    for number in range(len(samples)):
        if blend.train[samples.place(number)[0]].name == found["pair"]:
            tokens = samples[number].tolist()
            reads += [number] * any(tuple(tokens[at : at + 8]) in own for at in range(len(tokens) - 7))
    listed = np.array(found["samples"])
    assert len(reads) > 10
    assert set(reads) <= set(listed.tolist())
    for number in set(listed.tolist()) - set(reads):
        member, sample = samples.place(number)
        assert any(span.sequence == sequence and span.tokens < 10 for span in samples.member(member).spans(sample))


def test_a_recipe_without_a_removal_list_is_told_to_have_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text("")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('name = "x"\n[[source]]\nname = "a"\nreader = "jsonl"\ninputs = ["a.jsonl"]\n')
    assert cli.main(["takedown", str(recipe), "--work", str(tmp_path / "work")]) == 2
    assert "names no removal_list" in capsys.readouterr().err
