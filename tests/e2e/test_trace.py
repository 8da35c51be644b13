"""From a row of a training step back to the bytes of an input file, which are opened here with nothing of ours."""

import gzip
import json
import random
from functools import cache, partial
from pathlib import Path

import pytest
from conftest import Finished

from curation import trace
from curation.errors import RecipeError
from curation.explain import story
from curation.lookup import Folder, open_folder
from curation.shards.tokenizer import TokenizerSpec, load
from curation.trace import Origin, blended, trace_sample, trace_sequence
from jobs import cli

BATCH, SEQUENCE_TOKENS = 16, 128


@pytest.fixture(scope="module")
def folder(finished: Finished) -> Folder:
    return open_folder(str(finished.work))


@cache
def content(path: Path) -> bytes:
    """A file as its bytes, decompressed; offsets of compressed lines and archives count in that stream."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def text_at(root: Path, place: dict[str, object]) -> bytes:
    """What stands at a recorded place: the text of a JSON line, or the bytes of an archive member."""
    begin, size = int(str(place["offset"])), int(str(place["raw_bytes"]))
    found = content(root / str(place["uri"]))[begin : begin + size]
    return json.loads(found)["text"].encode() if found.startswith(b"{") else found


def test_a_thousand_training_rows_lead_back_to_the_bytes_of_their_files(
    finished: Finished, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = load(TokenizerSpec(builtin="gpt2"), lambda path: Path(path).read_bytes())
    stories = cache(partial(story, folder))
    monkeypatch.setattr(trace, "story", lambda _, doc_id: stories(doc_id))
    samples = blended(folder, SEQUENCE_TOKENS, 4_000, 1234)
    rng = random.Random(1)
    for _ in range(1_000):
        number = rng.randrange(len(samples) // BATCH) * BATCH + rng.randrange(BATCH)
        tokens = samples[number]
        read = 0
        for origin in trace_sample(folder, samples, number):
            mine = tokens[read : read + origin.tokens]
            read += origin.tokens
            told = origin.to_json()
            where = text_at(finished.root, told)
            begin = where.find(b"\0" * 100) if told["member"] else 0  # an archive's header comes first
            whole = where[max(begin, 0) :] if told["member"] else where[told["start"] : told["end"]]
            text = tokenizer.decode(mine[mine != tokenizer.eod])
            assert text.strip("\ufffd").encode() in whole
        assert read == SEQUENCE_TOKENS + 1


def test_a_sequence_names_its_document_and_its_verdicts(finished: Finished, folder: Folder) -> None:
    origin = trace_sequence(folder, "news-train-00000", 3)
    assert isinstance(origin, Origin)
    told = origin.to_json()
    assert [step["stage"] for step in told["steps"]][-1] == "tokenize"
    assert told["steps"][-1]["sequences"][told["piece"]]["sequence"] == 3
    assert told["uri"].startswith("news/")


@pytest.mark.parametrize(
    ("pair", "sequence", "message"),
    [("nowhere-train-00000", 0, "no such pair"), ("books-train-00000", 999, "numbered from 0; there is no 999")],
)
def test_what_is_not_there_is_named(folder: Folder, pair: str, sequence: int, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        trace_sequence(folder, pair, sequence)


def test_the_command_prints_both_forms(finished: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    work = str(finished.work)
    assert cli.main(["trace", work, "books-train-00000", "1", "--json"]) == 0
    [origin] = json.loads(capsys.readouterr().out)
    assert origin["uri"] == "books/a.tar.gz"
    order = ["--batch", "8", "--sequence-tokens", "64", "--samples", "500"]
    assert cli.main(["trace", work, "--blend", "7", "3", *order]) == 0
    assert "tokens" in capsys.readouterr().out
    assert cli.main(["trace", work, "--blend", "7", "8", *order]) == 2
    assert cli.main(["trace", work, "--blend", "9999", "0", *order]) == 2
    assert cli.main(["trace", work]) == 2
    assert "give PAIR SEQUENCE, or --blend STEP ROW" in capsys.readouterr().err


def test_the_blend_command_gives_megatrons_arguments(finished: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["blend", str(finished.work), "--root", "/data", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert abs(sum(map(float, told["splits"]["train"][::2])) - 1) < 1e-9
    assert all(word.startswith("/data/") for word in told["splits"]["valid"][1::2])
    assert told["splits"]["test"] is None
    assert cli.main(["blend", str(finished.work)]) == 0
    assert "--train-data-path" in capsys.readouterr().out
    published = next(finished.work.glob("shards/*/megatron.json"))
    assert set(json.loads(published.read_text())) == {"train", "valid", "test"}
