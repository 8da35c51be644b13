"""The classifier: what it sees, that it is the same each time, and that it counts right."""

import random
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.errors import InfrastructureError, RecipeError
from curation.text import quality

SMALL = quality.Parameters(dimensions=8, buckets=1000, epochs=5, min_count=1, learning_rate=0.5)
GOOD = ["the", "committee", "published", "its", "report", "on", "the", "history", "of", "the", "town"]
POOR = ["click", "here", "buy", "now", "best", "price", "free", "shipping", "order", "today"]


def examples(count: int, seed: int = 0) -> list[tuple[str, bool]]:
    chance = random.Random(seed)
    return [
        (" ".join(chance.choices(GOOD if positive else POOR, k=30)), positive)
        for positive in (chance.random() < 0.5 for _ in range(count))
    ]


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "quality.bin"
    quality.train(examples(200), SMALL, path)
    return path


@pytest.fixture(scope="module")
def model(model_file: Path) -> quality.Model:
    return quality.load(model_file)


noisy = st.lists(
    st.sampled_from(["__label__", "__LABEL__", "_", "label", "</s>", "</", "s>", "\0", " ", "\n", "\u2028", "İ", "Σ"])
    | st.text(max_size=5)
).map("".join)


@given(noisy)
def test_a_normalised_text_is_one_line_that_gives_fasttext_no_commands(text: str) -> None:
    line = quality.normalise(text)
    assert line == " ".join(line.split())
    assert not any(command in line for command in ("__label__", "</s>", "\0"))


@given(noisy)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert quality.normalise(quality.normalise(text)) == quality.normalise(text)


@pytest.mark.parametrize(
    "other",
    [
        'The  CAT,\r\n\u00a0sat\u2028down - it\'s "here".',  # spacing, case, line ends
        "the cat , sat down -- it ' s “here” ...",  # a tokeniser's marks, a typesetter's
        'the cat, sat down\n----------\nit’s "here"…',  # ruled lines, an ellipsis
    ],
)
def test_layout_and_typography_do_not_matter(other: str) -> None:
    assert quality.normalise(other) == 'the cat , sat down - it \' s " here " .'


@given(st.text(), st.integers(0, 40))
def test_the_head_of_a_text_is_its_longest_beginning_that_fits(text: str, limit: int) -> None:
    cut = quality.head(text, limit)
    assert text.startswith(cut)
    assert len(cut.encode()) <= limit
    assert cut == text or len(text[: len(cut) + 1].encode()) > limit


def test_the_same_examples_make_the_same_bytes(model_file: Path, tmp_path: Path) -> None:
    quality.train(iter(examples(200)), SMALL, tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == model_file.read_bytes()


def test_a_small_model_does_not_depend_on_what_its_memory_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_PERTURB_", "165")  # what malloc hands out is full of noise instead
    quality.train(examples(50), SMALL, tmp_path / "noise.bin")
    monkeypatch.delenv("MALLOC_PERTURB_")
    quality.train(examples(50), SMALL, tmp_path / "quiet.bin")
    assert (tmp_path / "noise.bin").read_bytes() == (tmp_path / "quiet.bin").read_bytes()


def test_other_examples_make_another_model(model_file: Path, tmp_path: Path) -> None:
    quality.train(examples(200, seed=1), SMALL, tmp_path / "other.bin")
    assert (tmp_path / "other.bin").read_bytes() != model_file.read_bytes()


def test_examples_are_prepared_before_training(model_file: Path, tmp_path: Path) -> None:
    loud = [(f"\n{text.upper()}\r\n".replace(" ", "  "), positive) for text, positive in examples(200)]
    quality.train(loud, SMALL, tmp_path / "loud.bin")
    assert (tmp_path / "loud.bin").read_bytes() == model_file.read_bytes()


def test_examples_without_a_word_are_left_out(model_file: Path, tmp_path: Path) -> None:
    quality.train([("\n", True), *examples(200), ("\0", False)], SMALL, tmp_path / "blank.bin")
    assert (tmp_path / "blank.bin").read_bytes() == model_file.read_bytes()


def test_the_defaults_use_word_pairs() -> None:
    assert quality.Parameters().word_ngrams == 2


@pytest.mark.parametrize(("missing", "name"), [(True, "positive"), (False, "negative")])
def test_training_without_one_class_is_an_error_that_names_it(missing: bool, name: str, tmp_path: Path) -> None:
    one_sided = [(text, positive) for text, positive in examples(20) if positive != missing]
    with pytest.raises(RecipeError, match=f"no {name} example"):
        quality.train([*one_sided, (" ", missing)], SMALL, tmp_path / "model.bin")


@pytest.mark.parametrize("min_count", [19, 10_000])  # the mark at the end of each of the 20 examples is no word
def test_a_vocabulary_that_min_count_empties_is_an_error_that_names_min_count(min_count: int, tmp_path: Path) -> None:
    texts = [(f"word{number}", number % 2 == 0) for number in range(20)]
    with pytest.raises(RecipeError, match="min_count"):
        quality.train(texts, SMALL.model_copy(update={"min_count": min_count}), tmp_path / "model.bin")


def test_training_that_diverges_is_an_error_that_names_the_learning_rate(tmp_path: Path) -> None:
    wild = SMALL.model_copy(update={"learning_rate": 1e30})
    with pytest.raises(RecipeError, match="learning_rate"):
        quality.train(examples(100), wild, tmp_path / "model.bin")


def test_a_failure_of_the_training_process_is_not_blamed_on_the_recipe(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="status"):
        quality.train(examples(20), SMALL, tmp_path / "no such folder" / "model.bin")


def test_a_score_is_the_probability_of_the_positive_label(model: quality.Model) -> None:
    lines = [text for text, _ in examples(50, seed=2)] + ["report click", "unheard of"]
    scores = model.score(pa.array(lines, pa.large_string()))
    assert scores.type == pa.int32()
    for line, score in zip(lines, scores.to_pylist(), strict=True):
        labels, shares = model.classifier.predict(line, k=2)
        expected = dict(zip(labels, shares, strict=True))[quality.POSITIVE]
        assert score == min(int(float(expected) * 1_000_000 + 0.5), 1_000_000)


def test_good_and_poor_texts_are_told_apart(model: quality.Model) -> None:
    good, poor = model.score(pa.array(["The committee's report", "BUY NOW!! free shipping"])).to_pylist()
    assert good > 500_000 > poor


def test_a_text_without_a_word_scores_zero(model: quality.Model) -> None:
    assert model.score(pa.array(["", " \n", "\0 \u2028"])).to_pylist() == [0, 0, 0]


def test_scores_stay_within_one_million(model: quality.Model) -> None:
    scores = model.score(pa.array([" ".join(GOOD * 50), " ".join(POOR * 50)])).to_pylist()
    assert all(0 <= score <= 1_000_000 for score in scores)


def test_a_text_is_scored_by_its_beginning(model: quality.Model) -> None:
    beginning = " ".join(GOOD) + " " * 1024
    whole = pa.array([beginning + " ".join(POOR * 1000)])
    assert model.score(whole, max_scored_kib=1).equals(model.score(pa.array([beginning])))
    assert model.score(whole, max_scored_kib=1).to_pylist() != model.score(whole).to_pylist()


def test_a_batch_is_scored_like_its_texts_alone_whatever_its_size(model: quality.Model) -> None:
    texts = pa.array([text for text, _ in examples(1100, seed=3)])
    together = model.score(texts)
    assert together.slice(500, 30).equals(model.score(texts.slice(500, 30)))
    assert together[1099] == model.score(texts.slice(1099))[0]
    assert len(model.score(texts.slice(0, 0))) == 0


def test_a_sixteen_mib_text_takes_no_longer_than_its_beginning(model: quality.Model) -> None:
    begin = time.process_time()
    model.score(pa.array(["word " * (16 * 2**20 // 5)]))
    assert time.process_time() - begin < 1.0  # 10 ms measured; reading all of it would take seconds


def test_a_model_is_loaded_once_until_its_file_changes(model_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(model_file.read_bytes())
    first = quality.load(path)
    assert quality.load(path) is first
    quality.train(examples(100, seed=4), SMALL, path)
    assert quality.load(path) is not first


def test_a_file_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "text.bin").write_bytes(b"not a model, though long enough to hold a header" * 10)
    with pytest.raises(RecipeError, match="not a fastText model"):
        quality.load(tmp_path / "text.bin")


def test_a_model_with_other_labels_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(quality, "POSITIVE", "__label__hq")
        quality.train(examples(50), SMALL, tmp_path / "other.bin")
    with pytest.raises(RecipeError, match="other labels"):
        quality.load(tmp_path / "other.bin")
