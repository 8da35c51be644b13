"""Explain tells a unit's whole story from committed rows, whatever it is called by."""

import json
from pathlib import Path

import pytest

from curation import lookup
from curation.errors import IntegrityError, RecipeError
from curation.explain import Step, evidence, explain, measured_in_words, text_of
from curation.identity import Place, pack
from tests.workfolder import BEFORE, PASSAGE, WEB, WorkFolder, make_work_folder

FIELDS = {"stage", "fate", "reason", "value", "threshold", "other", "offsets", "uri", "member", "offset", "manifest"}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> WorkFolder:
    return make_work_folder(tmp_path_factory.mktemp("work"))


def steps(work: WorkFolder, name: str) -> dict[str, dict[str, object]]:
    [story] = explain(work.root, name)
    return {step["stage"]: step for step in json.loads(json.dumps(story.to_json()))}


def test_a_kept_document_has_a_step_for_every_stage_in_order(work: WorkFolder) -> None:
    [story] = explain(work.root, str(work.web[0]))
    assert [step.stage for step in story.steps] == [
        "ingest",
        "filter",
        "dedup",
        "decontaminate",
        "assemble",
        "tokenize",
    ]
    assert {step.fate for step in story.steps} == {"keep"}


def test_every_step_has_the_fields_that_checks_rely_on(work: WorkFolder) -> None:
    for step in steps(work, str(work.web[4])).values():
        assert set(step) >= FIELDS
        assert Path(work.url(str(step["manifest"]))).is_file()
        assert (step["uri"], step["member"], step["offset"]) == ("web/a.warc.gz", "", 2000)


@pytest.mark.parametrize(
    ("record", "stage", "reason", "value", "threshold"),
    [
        (1, "filter", "language", None, None),
        (2, "filter", "signal", 950_000, 300_000),
        (3, "dedup", "near_duplicate", 913_043, 800_000),
        (5, "filter", "pareto", 871_000_000, 145_793_847),
        (6, "dedup", "exact_duplicate", 1_000_000, 1_000_000),
        (7, "decontaminate", "too_short_after_cuts", 1, 200),
    ],
)
def test_a_dropped_document_ends_where_it_was_dropped(
    work: WorkFolder, record: int, stage: str, reason: str, value: int | None, threshold: int | None
) -> None:
    found = steps(work, str(work.web[record]))
    last = found[stage]
    assert list(found)[-1] == stage
    assert (last["fate"], last["reason"], last["value"], last["threshold"]) == ("drop", reason, value, threshold)


def test_a_duplicate_names_the_kept_document_by_id_and_by_place(work: WorkFolder) -> None:
    step = steps(work, str(work.web[3]))["dedup"]
    assert step["other"] == work.wiki[0]
    assert step["other_locator"] == "wiki:wiki/00.jsonl.gz:0"
    [kept] = explain(work.root, str(step["other_locator"]))
    assert kept.doc_id == work.wiki[0]


def test_a_split_document_shows_its_cuts_its_pieces_and_its_sequences(work: WorkFolder) -> None:
    found = steps(work, str(work.web[4]))
    start, end, whole = len(BEFORE.encode()), len((BEFORE + PASSAGE).encode()), len(WEB[4].encode())
    assert found["decontaminate"]["fate"] == "split"
    assert found["decontaminate"]["offsets"] == [[start, end]]
    assert found["decontaminate"]["cuts"][0]["task"] == "lambada"  # type: ignore[index]
    assert found["assemble"]["offsets"] == [[0, start], [end, whole]]
    sequences = [(s["pair"], s["sequence"]) for s in found["tokenize"]["sequences"]]  # type: ignore[attr-defined]
    assert sequences == [("web-train-00000", 1), ("web-train-00000", 2)]


@pytest.mark.parametrize("name", ["{id}", "wiki:wiki/00.jsonl.gz:2"])
def test_a_quarantined_unit_is_found_by_number_and_by_place(work: WorkFolder, name: str) -> None:
    [story] = explain(work.root, name.format(id=work.quarantined))
    [step] = story.to_json()
    assert (step["stage"], step["fate"], step["reason"], step["detail"]) == (
        "ingest",
        "quarantine",
        "decode",
        "invalid_utf8",
    )
    assert (step["uri"], step["offset"], step["bytes"]) == ("wiki/00.jsonl.gz", 1000, 321)
    assert story.doc_id == work.quarantined
    assert text_of(work.root, story) is None


def test_a_document_is_found_by_each_of_its_names(work: WorkFolder) -> None:
    names = [str(work.web[4]), "web:web/a.warc.gz:4", "https://example.org/walk"]
    found = [explain(work.root, name) for name in names]
    assert found[0] == found[1] == found[2]
    assert text_of(work.root, found[0][0]) == WEB[4]


def test_numbers_by_id_and_by_place_read_no_other_shard(work: WorkFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    read = lookup.open_part
    monkeypatch.setattr(lookup, "open_part", lambda root, part: opened.append(part) or read(root, part))
    explain(work.root, str(work.web[0]))
    assert {part.facts["source"] for part in opened} == {"web"}


def test_a_url_reads_the_url_column_and_ids_of_hits_only(work: WorkFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    read = lookup.read_batches
    monkeypatch.setattr(
        lookup,
        "read_batches",
        lambda root, part, columns, **more: asked.append(columns) or read(root, part, columns, **more),
    )
    folder = lookup.open_folder(work.root)
    assert lookup.candidates(folder, "https://example.org/walk") == [work.web[4]]
    assert asked.count(["url"]) == 2  # one row group a shard
    assert asked.count(["doc_id", "url"]) == 1


def test_the_measured_numbers_stand_beside_the_filter(work: WorkFolder) -> None:
    measured = steps(work, str(work.web[1]))["filter"]["measured"]
    assert (measured["language"], measured["language_ppm"]) == ("de", 970_000)  # type: ignore[index]
    assert measured_in_words(measured)[0] == "language de 97.0 %"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("web:web/b.warc.gz:4", "no such file of web"),
        ("wbe:web/a.warc.gz:4", "there are: web, wiki"),
        ("https://example.org/nothing", "no document has this URL"),
        (str(pack(Place(1, 1, 100))), "4 not_sampled"),
        (str(pack(Place(5, 9, 0))), "no such document"),
        ("99999999999999999999", "too large for a doc_id"),
        ("web:web/a.warc.gz:999999999999", "no file has so many records"),
    ],
)
def test_a_name_that_means_nothing_says_why(work: WorkFolder, name: str, told: str) -> None:
    with pytest.raises(RecipeError, match=told):
        explain(work.root, name)


def test_a_document_without_a_verdict_is_an_error_and_no_silence(tmp_path: Path) -> None:
    work = make_work_folder(tmp_path)
    work.mend("dedup", "verdicts", lambda rows: rows[1:])
    with pytest.raises(IntegrityError, match=f"no verdict on document {work.wiki[0]}"):
        explain(work.root, str(work.wiki[0]))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Step("filter", "drop", "", "language", "de", None, None), "de"),
        (Step("filter", "drop", "", "language", "en", 420_000, 500_000), "en 42.00 % < 50.00 %"),
        (Step("filter", "drop", "", "length", "tokens_estimated", 90, 128), "tokens_estimated 90 < 128"),
        (
            Step("filter", "drop", "", "signal", "mean_word_length_milli", 12_345, 10_000),
            "mean_word_length 12.35 > 10.00",
        ),
        (
            Step("filter", "drop", "", "pareto", "coin_billionths", 5 * 10**8, 125 * 10**6),
            "coin 50.00 % ≥ chance to stay 12.50 %",
        ),
        (Step("dedup", "drop", "", "near_duplicate", None, 800_000, 800_000), "similarity 80.00 % ≥ 80.00 %"),
        (Step("dedup", "drop", "", "near_duplicate", None, 700_000, 800_000), "similarity 70.00 % < 80.00 %"),
        (Step("dedup", "keep", "", None, "cluster_size", 3), "stands for 3 documents"),
        (Step("decontaminate", "split", "", "contaminated", "race", 2, 10), "race: 2 pieces, at most 10"),
        (Step("ingest", "keep", ""), ""),
    ],
)
def test_numbers_are_told_in_their_units_beside_their_thresholds(step: Step, words: str) -> None:
    assert evidence(step) == words
