"""The tables: every field says what it is and shows one, and the tables are those of the design."""

import json

import pyarrow as pa
import pytest

from schemas.tables import TABLES

FIELDS = [(table, field) for table, schema in TABLES.items() for field in schema]

# "Tables" of the design: what each must have at least
DESIGN = {
    "registry": "uri bytes fingerprint file generation group",
    "shards": "shard source first_doc_id last_doc_id documents text_bytes",
    "documents": "doc_id doc_key source shard text_bytes raw_bytes language_hint url title timestamp metadata uri "
    "member offset text_digest damage text",
    "quarantine": "source uri member offset stage error bytes sha256",
    "signals": "doc_id doc_key text_bytes characters words language language_ppm content_hash",
    "quality": "doc_id quality_ppm",
    "signatures": "doc_id shingles bands",
    "matches": "doc_id ngram words start end cut_start cut_end",
    "verdicts": "doc_id text_bytes stage fate reason detail value threshold other",
    "pairs": "doc_id other jaccard_ppm accepted",
    "cuts": "doc_id stage reason task start end action",
    "corpus": "doc_id piece source text url title timestamp language quality_ppm start end cluster_size metadata",
    "token_documents": "doc_id piece pair sequence tokens",
}


@pytest.mark.parametrize(("table", "field"), FIELDS, ids=[f"{table}.{field.name}" for table, field in FIELDS])
def test_every_field_has_a_description_and_an_example_of_its_type(table, field):
    notes = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    assert len(notes["description"]) > 5
    assert not notes["description"].endswith(".")
    example = json.loads(notes["example"])
    assert pa.scalar(as_value(example, field.type), field.type).is_valid


def as_value(example: object, kind: pa.DataType) -> object:
    """Return an example as a value of its column; bytes are shown in hex, bands in words."""
    if pa.types.is_fixed_size_binary(kind):
        return bytes.fromhex(str(example))
    return str(example).encode() if pa.types.is_large_binary(kind) else example


@pytest.mark.parametrize("table", DESIGN)
def test_every_column_of_the_design_is_there(table):
    assert set(DESIGN[table].split()) <= set(TABLES[table].names)


def test_no_table_is_there_that_the_design_does_not_know_but_the_classifiers_sample_and_the_filters_histograms():
    assert set(TABLES) == {*DESIGN, "sample", "histograms"}


def test_the_text_is_the_last_column_of_documents():
    assert TABLES["documents"].names[-1] == "text"


@pytest.mark.parametrize(("table", "field"), FIELDS, ids=[f"{table}.{field.name}" for table, field in FIELDS])
def test_no_number_is_a_float(table, field):
    """What decides or enters a digest is an integer; so everything is."""
    assert not pa.types.is_floating(field.type)


def test_a_column_has_one_type_in_all_tables():
    kinds: dict[str, set[str]] = {}
    for _, field in FIELDS:
        kinds.setdefault(field.name, set()).add(str(field.type))
    assert {name for name, found in kinds.items() if len(found) > 1} == {"words"}  # of a document, and of an n-gram
