"""The judge: fates as the rules in plain Python say, and edits that tile each text."""

import functools

import decontamination_oracle as oracle
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_matcher import FILLER, INDEX, LONG, NGRAMS, SHORT, documents

from curation.decontamination import tally
from curation.decontamination.cuts import CutRule, judge, pieces
from curation.decontamination.matcher import find
from schemas.tables import CUTS, VERDICTS

NOTHING = np.zeros(0, np.uint64)
RULE = CutRule()


def tables(texts, first_id=100):
    hits = find(pa.array(texts, pa.large_string()), INDEX)
    doc_ids = pa.array([first_id + 10 * row for row in hits["row"].to_pylist()], pa.int64())
    matches = pa.table([doc_ids, *hits.columns[1:]], names=["doc_id", *hits.schema.names[1:]])
    narrow = {
        "doc_id": pa.array([first_id + 10 * row for row in range(len(texts))], pa.int64()),
        "text_bytes": pa.array([len(text.encode()) for text in texts], pa.int64()),
        "characters": pa.array([len(text) for text in texts], pa.int64()),
    }
    return matches, pa.table(narrow)


def verdict(text, spared=NOTHING):
    verdicts, cuts, _ = judge(*tables([text]), INDEX, spared, RULE)
    row = verdicts.to_pylist()[0]
    return row["fate"], row["reason"], row["value"], row["threshold"], cuts.to_pylist()


@settings(deadline=None)  # the first example compiles
@given(st.lists(documents, max_size=6))
def test_what_stays_is_what_the_plain_rules_leave(texts):
    matches, narrow = tables(texts)
    verdicts, cuts, _ = judge(matches, narrow, INDEX, NOTHING, RULE)
    for row, (text, told) in enumerate(zip(texts, verdicts.to_pylist(), strict=True)):
        own = cuts.filter(pa.array(cuts["doc_id"].to_numpy() == 100 + 10 * row))
        left = [text.encode()[a:b].decode() for a, b in pieces(own, len(text.encode()))]
        assert ([] if told["fate"] == "drop" else left if told["fate"] == "split" else [text]) == oracle.pieces(
            text, NGRAMS
        )
        assert (told["fate"] == "keep") == (not oracle.cuts(text, NGRAMS))


@settings(deadline=None)  # the first example compiles
@given(st.lists(documents, max_size=6))
def test_edits_and_pieces_tile_the_text(texts):
    verdicts, cuts, _ = judge(*tables(texts), INDEX, NOTHING, RULE)
    for told in verdicts.to_pylist():
        own = [row for row in cuts.to_pylist() if row["doc_id"] == told["doc_id"]]
        assert bool(own) == (told["fate"] == "split")
        edges = [edge for row in own for edge in (row["start"], row["end"])]
        assert edges == sorted(edges)
        assert all(row["start"] < row["end"] for row in own)
        assert not own or (edges[0] >= 0 and edges[-1] <= told["text_bytes"])


def test_a_clean_document_is_kept_without_a_number():
    assert verdict(FILLER * 9) == ("keep", "", None, None, [])


def test_a_hit_in_the_middle_splits_and_one_at_an_edge_trims():
    fate, reason, parts, allowed, cuts = verdict(FILLER * 9 + SHORT + ". " + FILLER * 9)
    assert (fate, reason, parts, allowed) == ("split", "contaminated", 2, 10)
    assert [(row["reason"], row["task"], row["action"]) for row in cuts] == [("contaminated", "task", "remove")]
    assert verdict(SHORT + ". " + FILLER * 9)[:3] == ("split", "contaminated", 1)


def test_a_document_without_room_beside_the_hit_is_contaminated():
    assert verdict(SHORT)[:4] == ("drop", "contaminated", 0, 200)


def test_a_document_that_leaves_crumbs_is_too_short_after_cuts():
    assert verdict("x" * 199 + "." + "y" * 199 + " " + SHORT) == ("drop", "too_short_after_cuts", 200, 200, [])
    assert verdict("x" * 200 + "." + "y" * 199 + " " + SHORT)[:3] == ("split", "contaminated", 1)


def test_a_crumb_beside_a_piece_is_an_edit_of_its_own():
    cuts = verdict("Crumb." + "y" * 199 + " " + SHORT + ". " + FILLER * 9)[4]
    assert [(row["reason"], row["start"]) for row in cuts] == [("too_short_after_cuts", 0), ("contaminated", 6)]


@pytest.mark.parametrize(
    ("plants", "fate"), [(9, ("split", "contaminated", 10)), (10, ("drop", "too_many_pieces", 11))]
)
def test_ten_pieces_stay_and_eleven_drop_the_document(plants, fate):
    assert verdict((FILLER * 20 + SHORT + ". ") * plants + FILLER * 20)[:3] == fate


def test_one_long_text_is_one_cut_however_many_hits_it_has():
    cuts = verdict(FILLER * 9 + LONG + ". " + FILLER * 9)[4]
    assert len(cuts) == 1


def test_a_spared_ngram_cuts_nothing():
    matches, _ = tables([SHORT])
    assert verdict(FILLER * 9 + SHORT + ". " + FILLER * 9, np.unique(matches["ngram"].to_numpy()))[:2] == ("keep", "")


def test_matches_of_documents_that_were_not_received_are_passed_over():
    matches, narrow = tables([SHORT, FILLER * 9, SHORT])
    verdicts, *_ = judge(matches, narrow.slice(1, 1), INDEX, NOTHING, RULE)
    assert verdicts["fate"].to_pylist() == ["keep"]


def test_the_order_of_matches_changes_nothing():
    matches, narrow = tables([FILLER * 9 + LONG + FILLER * 9 + SHORT, SHORT, LONG + FILLER * 40])
    shuffled = matches.take(np.random.default_rng(1).permutation(len(matches)))
    for one, other in zip(
        judge(matches, narrow, INDEX, NOTHING, RULE), judge(shuffled, narrow, INDEX, NOTHING, RULE), strict=True
    ):
        assert one.equals(other)


def test_no_documents_make_empty_tables_of_the_right_schema():
    verdicts, cuts, _ = judge(*tables([]), INDEX, NOTHING, RULE)
    assert verdicts.schema.equals(VERDICTS)
    assert cuts.schema.equals(CUTS)
    assert len(verdicts) == len(cuts) == 0


@pytest.mark.parametrize(
    ("removal", "fates", "reasons"),
    [("flag", ["keep"] * 3, [""] * 3), ("document", ["keep", "drop", "drop"], ["", "contaminated", "contaminated"])],
)
def test_a_rule_may_flag_a_document_or_drop_it_instead_of_cutting(removal, fates, reasons):
    texts = [FILLER * 9, FILLER * 9 + SHORT + ". " + FILLER * 9, SHORT]
    verdicts, cuts, removed = judge(*tables(texts), INDEX, NOTHING, CutRule(removal=removal))
    assert (verdicts["fate"].to_pylist(), verdicts["reason"].to_pylist()) == (fates, reasons)
    assert verdicts["detail"].to_pylist() == ["", "task", "task"]
    assert verdicts["value"].null_count == 3
    assert len(cuts) == 0
    assert removed["characters"].to_pylist() == ([len(text) for text in texts[1:]] if removal == "document" else [])


@settings(deadline=None)  # the first example compiles
@given(st.lists(documents, max_size=6))
def test_what_is_removed_is_counted_in_code_points(texts):
    verdicts, cuts, removed = judge(*tables(texts), INDEX, NOTHING, RULE)
    raw = {100 + 10 * row: text.encode() for row, text in enumerate(texts)}
    gone = sum(len(raw[row["doc_id"]][row["start"] : row["end"]].decode()) for row in cuts.to_pylist())
    gone += sum(len(raw[row["doc_id"]].decode()) for row in verdicts.to_pylist() if row["fate"] == "drop")
    assert sum(removed["characters"].to_pylist()) == gone


@settings(deadline=None)  # the first example compiles
@given(st.lists(documents, max_size=8), st.data())
def test_verdicts_cuts_and_tallies_do_not_depend_on_how_documents_are_divided(texts, data):
    matches, narrow = tables(texts)
    marks = sorted(data.draw(st.lists(st.integers(0, len(texts)), max_size=3)))
    shards = [narrow.slice(a, b - a) for a, b in zip([0, *marks], [*marks, len(texts)], strict=True)]
    whole = judge(matches, narrow, INDEX, NOTHING, RULE)
    parts = [judge(matches, shard, INDEX, NOTHING, RULE) for shard in shards]
    assert pa.concat_tables([part.verdicts for part in parts]).equals(whole.verdicts)
    assert pa.concat_tables([part.cuts for part in parts]).equals(whole.cuts)
    held = [matches.filter(pa.array(np.isin(matches["doc_id"], shard["doc_id"].to_numpy()))) for shard in shards]
    cells = [tally.cells(m, part, INDEX, NOTHING).get("task", {}) for m, part in zip(held, parts, strict=True)]
    together = functools.reduce(tally.add, cells, {})
    assert together == tally.cells(matches, whole, INDEX, NOTHING).get("task", {})
    counted = functools.reduce(tally.add, (tally.counters(part.verdicts) for part in parts), {})
    assert counted == tally.counters(whole.verdicts)
