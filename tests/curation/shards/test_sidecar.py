"""Papers: the contract's keys, strict models, schemas that say what is valid."""

import json
from collections.abc import Callable

import jsonschema
import pytest
from pydantic import ValidationError

from curation.shards.blend import Blend
from curation.shards.sidecar import PairEntry, PairSidecar, Shards, json_schema
from curation.shards.writer import PairCounts


@pytest.fixture
def sidecar(sidecar_of: Callable[..., PairSidecar]) -> PairSidecar:
    """The sidecar of a pair of two documents."""
    return sidecar_of(PairCounts(2, 2, 9, 18, "a" * 64, "b" * 64))


def test_shards_json_has_the_keys_that_others_rely_on(sidecar: PairSidecar) -> None:
    shards = Shards(tokenizer=sidecar.tokenizer, dtype="uint16", eod=50256, pairs=(sidecar.entry(),))
    content = json.loads(shards.model_dump_json())
    assert list(content) == ["version", "tokenizer", "dtype", "eod", "pairs"]
    assert list(content["pairs"][0]) == [
        *("name", "source", "split", "sequences", "documents", "tokens", "bytes", "sha256_bin", "sha256_idx")
    ]
    assert Shards.model_validate_json(shards.model_dump_json()) == shards


def test_a_sidecar_says_all_that_its_entry_says(sidecar: PairSidecar) -> None:
    assert sidecar.entry().model_dump().items() <= sidecar.model_dump().items()
    assert type(sidecar.entry()) is PairEntry


@pytest.mark.parametrize(
    "change",
    [{"split": "test"}, {"documents": 0}, {"sha256_bin": "A" * 64}, {"dtype": "uint8"}, {"more": 1}, {"version": 2}],
)
def test_a_sidecar_that_says_something_else_is_refused(sidecar: PairSidecar, change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        PairSidecar.model_validate(sidecar.model_dump() | change)


def test_the_schemas_accept_what_we_write_and_nothing_else(sidecar: PairSidecar) -> None:
    content = json.loads(sidecar.model_dump_json())
    schema = json_schema(PairSidecar)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(content, schema)
    for wrong in ({**content, "more": 1}, {key: value for key, value in content.items() if key != "eod"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


@pytest.mark.parametrize("model", [Shards, Blend, PairSidecar])
def test_every_schema_is_one(model: type) -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema(model))
