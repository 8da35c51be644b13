"""A fastText language model beside CLD2, the short-text policy, exact token counts."""

from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import ValidationError

from curation.annotate import exact_tokens
from curation.errors import RecipeError
from curation.shards.tokenizer import TokenizerSpec, load
from curation.text import lid, quality
from curation.text.language import LanguageSettings, detector

ENGLISH = "the weather in london was better than anybody had expected that morning"
GERMAN = "das wetter in hamburg war besser als alle es an jenem morgen erwartet hatten"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a tiny language model that tells English from German."""
    folder = tmp_path_factory.mktemp("lid")
    lines = folder / "lines.txt"
    lines.write_text(f"__label__en {ENGLISH}\n__label__deu_Latn {GERMAN}\n" * 60, "utf-8")
    parameters = quality.Parameters(dimensions=8, epochs=20, buckets=1000, min_count=1)
    quality._run_fasttext(lines, parameters, folder / "lid.bin")
    return str(folder / "lid.bin")


def test_a_model_by_path_says_code_and_probability(model: str) -> None:
    detect = detector(LanguageSettings(detector="fasttext", model=model), model)
    codes, shares = detect(pa.array([ENGLISH, f"\n{GERMAN}\0\n", "", " \n"], pa.large_string()))
    assert codes.to_pylist() == ["en", "deu", "und", "und"]
    assert shares.type == pa.int32()
    assert [share > 900_000 for share in shares.to_pylist()] == [True, True, False, False]


def test_only_the_beginning_is_read(model: str) -> None:
    text = pa.array([ENGLISH + (" " + GERMAN) * 9])
    assert (
        detector(LanguageSettings(detector="fasttext", model=model, max_characters=60), model)(text)[0][0].as_py()
        == "en"
    )
    assert detector(LanguageSettings(detector="fasttext", model=model), model)(text)[0][0].as_py() == "deu"


@pytest.mark.parametrize(("letters", "code"), [(0, "en"), (60, "en"), (61, "und")])
def test_a_text_of_fewer_letters_is_undetermined_whatever_the_detector_thinks(letters: int, code: str) -> None:
    settings = LanguageSettings(min_letters=letters)
    assert sum(map(str.isalpha, ENGLISH)) == 60
    codes, shares = detector(settings)(pa.array([ENGLISH]))
    assert codes.to_pylist() == [code]
    assert (shares[0].as_py() == 0) == (code == "und")


def test_a_file_that_is_no_language_model_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "no.bin"
    path.write_bytes(b"no model")
    with pytest.raises(RecipeError, match="not a fastText model"):
        lid.load(str(path))


@pytest.mark.parametrize("rules", [{"detector": "fasttext"}, {"model": "lid.bin"}, {"detector": "langid"}])
def test_settings_that_do_not_go_together_are_an_error(rules: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        LanguageSettings.model_validate(rules)


def test_exact_tokens_are_those_of_the_tokenizer() -> None:
    tokenizer = load(TokenizerSpec(builtin="gpt2"), lambda path: b"")
    assert exact_tokens(tokenizer, pa.array(["Hello world", "", "<|endoftext|>"])).to_pylist() == [2, 0, 7]
