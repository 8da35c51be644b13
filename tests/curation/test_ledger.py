"""The ledger: whatever happened to documents, it balances; whatever happened to a committed row, it does not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from curation.commits import Commit, Manifest
from curation.errors import DataBudgetError, IntegrityError
from curation.identity import Place, pack
from curation.ledger import Entry, check_guard, judged, ledger, require_balance
from curation.parts import write_part
from tests.tables import rows

Row = dict[str, Any]
NAMES = {0: "web", 1: "wiki"}
STAGES = {
    "ingest": ("documents", "quarantine"),
    "signals": ("signals",),
    "filter": ("verdicts",),
    "dedup": ("verdicts",),
    "decontaminate": ("verdicts", "cuts"),
    "assemble": ("corpus",),
    "tokenize": ("token_documents",),
}


@dataclass
class Story:
    """Every row that a run committed, by (stage, table, source), and what readers counted."""

    tables: dict[tuple[str, str, str], list[Row]] = field(default_factory=dict)
    counts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, stage: str, table: str, source: str, /, **row: Any) -> None:
        self.tables.setdefault((stage, table, source), []).append(row)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Make up what happened to some units of two sources."""
    story = Story()
    for number, source in NAMES.items():
        fates = draw(
            st.lists(
                st.sampled_from(["bad", "sampled", "filter", "dedup", "decontaminate", "split", "keep"]), max_size=6
            )
        )
        sizes = [(draw(st.integers(1, 50)), draw(st.integers(4, 40))) for _ in fates]
        skipped = draw(st.integers(0, 9))
        received = sum(raw for raw, _ in sizes)
        story.counts[source] = {
            "in": {source: [len(fates), received]} if fates else {},
            "drop": {},
            "files": [
                {"uri": source, "bytes": received + skipped, "records": received, "skipped": {"framing": skipped}}
            ],
        }
        for record, (fate, (raw_bytes, text_bytes)) in enumerate(zip(fates, sizes, strict=True)):
            tell(story, source, pack(Place(number, number, record)), fate, raw_bytes, text_bytes)
    return story


def tell(story: Story, source: str, doc_id: int, fate: str, raw_bytes: int, text_bytes: int) -> None:
    """Add the rows that one unit leaves behind."""
    document = {"doc_id": doc_id, "text_bytes": text_bytes}
    if fate == "bad":
        story.add("ingest", "quarantine", source, source=source, error="decode", bytes=raw_bytes)
        return
    if fate == "sampled":
        count = story.counts[source]["drop"].setdefault(source, {}).setdefault("not_sampled", [0, 0])
        count[0], count[1] = count[0] + 1, count[1] + raw_bytes
        return
    story.add("ingest", "documents", source, **document, raw_bytes=raw_bytes)
    story.add("signals", "signals", source, **document)
    for judge in ("filter", "dedup", "decontaminate"):
        verdict = "drop" if fate == judge else "split" if (fate, judge) == ("split", "decontaminate") else "keep"
        reason = "" if verdict == "keep" else "contaminated"
        story.add(judge, "verdicts", source, **document, fate=verdict, reason=reason)
        if verdict == "drop":
            return
    spans = [(0, text_bytes)]
    if fate == "split":
        spans = [(0, 1), (2, 3)] if doc_id % 2 else [(1, text_bytes - 1)]
        edges = [0, *(edge for span in spans for edge in span), text_bytes]
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            if end > start:
                story.add("decontaminate", "cuts", source, doc_id=doc_id, reason="contaminated", start=start, end=end)
    for piece, (start, end) in enumerate(spans):
        story.add("assemble", "corpus", source, doc_id=doc_id, piece=piece, start=start, end=end)
        story.add("tokenize", "token_documents", source, doc_id=doc_id, piece=piece)


def manifests(root: str, story: Story) -> dict[str, Manifest]:
    """Write the story down."""
    return {stage: manifest(root, stage, tables, story) for stage, tables in STAGES.items()}


def manifest(root: str, stage: str, tables: tuple[str, ...], story: Story) -> Manifest:
    done = []
    for source in NAMES.values():
        parts = []
        for table in tables:
            found = story.tables.get((stage, table, source), [])
            facts = {"shard": source, "source": source}
            if stage == "tokenize":  # what tokenize says of its input, which it has read
                facts["text_bytes"] = text_bytes(story, source)
            if found or table == "corpus":
                parts.append(write_part(root, stage, table, source, [rows(table, *found)], facts))
        counts = story.counts[source] if stage == "ingest" else {}
        done.append(Commit(stage, source, "k" * 32, tuple(parts), counts))
    return Manifest(stage, "k" * 32, "i" * 32, tuple(done))


def text_bytes(story: Story, source: str) -> int:
    return sum(row["end"] - row["start"] for row in story.tables.get(("assemble", "corpus", source), []))


def problems(entries: list[Entry]) -> list[str]:
    return [f"{entry.stage} {entry.source}: {problem}" for entry in entries for problem in entry.problems]


@given(stories())
@settings(max_examples=40)
def test_it_balances_whatever_happened(tmp_path_factory, story):
    root = str(tmp_path_factory.mktemp("work"))
    entries = ledger(root, manifests(root, story), NAMES)
    assert problems(entries) == []
    require_balance(entries)
    units = {entry.source: entry for entry in entries if entry.stage == "ingest"}
    for source, about in story.counts.items():
        for name, (received, size) in about["in"].items():
            assert (units[name].received.units, units[name].received.bytes) == (received, size), source


def delete(found: list[Row], at: int) -> list[Row]:
    return found[:at] + found[at + 1 :]


def double(found: list[Row], at: int) -> list[Row]:
    return found[: at + 1] + found[at:]


def change(column: str, to: Callable[[Any], Any]) -> Callable[[list[Row], int], list[Row]]:
    return lambda found, at: [*found[:at], found[at] | {column: to(found[at][column])}, *found[at + 1 :]]


def longer(value: int) -> int:
    return value + 1


FATES = {"keep": "drop", "split": "drop", "drop": "keep"}
HARM: Mapping[tuple[str, str], Mapping[str, Callable[[list[Row], int], list[Row]]]] = {
    ("ingest", "documents"): {"raw_bytes": change("raw_bytes", longer), "text_bytes": change("text_bytes", longer)},
    ("ingest", "quarantine"): {"bytes": change("bytes", longer)},
    ("signals", "signals"): {"text_bytes": change("text_bytes", longer)},
    **{
        (judge, "verdicts"): {"fate": change("fate", FATES.__getitem__), "text_bytes": change("text_bytes", longer)}
        for judge in ("filter", "dedup", "decontaminate")
    },
    ("decontaminate", "cuts"): {
        "start": change("start", longer),
        "end": change("end", longer),
        "earlier start": change("start", lambda start: start - 1),
        "earlier end": change("end", lambda end: end - 1),
    },
    ("assemble", "corpus"): {"start": change("start", longer), "end": change("end", longer)},
    ("tokenize", "token_documents"): {},
}


@pytest.mark.parametrize("place", HARM, ids=" ".join)
@given(story=stories(), data=st.data())
@settings(max_examples=20)
def test_a_row_that_was_deleted_doubled_or_changed_breaks_it(tmp_path_factory, place, story, data):
    harms = {"delete": delete, "double": double, **HARM[place]}
    targets = [key for key in story.tables if key[:2] == place]
    assume(targets)
    target = data.draw(st.sampled_from(targets))
    at = data.draw(st.integers(0, len(story.tables[target]) - 1))
    harm = harms[data.draw(st.sampled_from(sorted(harms)))]
    root = str(tmp_path_factory.mktemp("work"))
    found = manifests(root, story)
    story.tables[target] = harm(story.tables[target], at)
    found[place[0]] = harmed(root, place[0], found[place[0]], story)
    entries = ledger(root, found, NAMES)
    assert any(not entry.balanced for entry in entries)
    with pytest.raises(IntegrityError, match="the ledger does not balance"):
        require_balance(entries)


def harmed(root: str, stage: str, before: Manifest, story: Story) -> Manifest:
    """Return a stage's manifest with the changed rows, and with what it says of its input as it was."""
    after = manifest(root, stage, STAGES[stage], story)
    if stage != "tokenize":
        return after
    facts = {part.facts["source"]: part.facts for part in before.parts()}
    return Manifest(
        stage,
        after.key,
        after.inputs,
        tuple(
            Commit(stage, commit.item, commit.key, tuple(refact(part, facts) for part in commit.parts))
            for commit in after.commits
        ),
    )


def refact(part: Any, facts: Mapping[str, Any]) -> Any:
    return type(part)(**{**part.to_json(), "facts": facts[part.facts["source"]]})


@pytest.fixture
def split_story() -> Story:
    story = Story()
    for source, records in (("web", ("keep", "split", "dedup")), ("wiki", ("bad", "split"))):
        number = {"web": 0, "wiki": 1}[source]
        size = 10 * len(records)
        files = [{"uri": source, "bytes": size + 3, "records": size, "skipped": {"framing": 3}}]
        story.counts[source] = {"in": {source: [len(records), size]}, "drop": {}, "files": files}
        for record, fate in enumerate(records):
            tell(story, source, pack(Place(number, number, record)), fate, 10, 20)
    return story


def test_a_split_that_is_called_kept_is_noticed(tmp_path, split_story):
    verdicts = split_story.tables[("decontaminate", "verdicts", "web")]
    assert verdicts[1]["fate"] == "split"
    verdicts[1] |= {"fate": "keep", "reason": ""}
    found = problems(ledger(str(tmp_path), manifests(str(tmp_path), split_story), NAMES))
    assert found == ["assemble web: split 1 units 20 bytes, split by decontaminate 0 units 0 bytes"]


def test_a_file_whose_bytes_are_not_all_accounted_for_is_named(tmp_path, split_story):
    split_story.counts["wiki"]["files"][0]["bytes"] += 1
    (found,) = problems(ledger(str(tmp_path), manifests(str(tmp_path), split_story), NAMES))
    assert found == "ingest wiki: wiki: 24 bytes, records 20 + skipped 3"


def test_rows_of_a_source_that_nobody_registered_are_named(tmp_path, split_story):
    found = problems(ledger(str(tmp_path), manifests(str(tmp_path), split_story), {0: "web"}))
    assert any(problem.startswith("signals source 1: in 1 units") for problem in found)


def test_rows_of_two_sources_in_one_part_are_named(tmp_path, split_story):
    mixed = split_story.tables[("filter", "verdicts", "web")]
    mixed[-1] = mixed[-1] | {"doc_id": pack(Place(1, 1, 9))}
    found = problems(ledger(str(tmp_path), manifests(str(tmp_path), split_story), NAMES))
    assert any(problem.startswith("filter sources [0, 1]: in 3 units") for problem in found)


def test_the_error_names_stage_source_and_both_sides(tmp_path, split_story):
    split_story.tables[("dedup", "verdicts", "web")].pop()
    with pytest.raises(IntegrityError) as caught:
        require_balance(ledger(str(tmp_path), manifests(str(tmp_path), split_story), NAMES))
    assert "dedup web: in 2 units 40 bytes, out of filter 3 units 60 bytes" in str(caught.value)


def test_stages_that_are_missing_are_skipped_and_the_chain_goes_on(tmp_path, split_story):
    found = manifests(str(tmp_path), split_story)
    del found["tokenize"]
    assert {entry.stage for entry in ledger(str(tmp_path), found, NAMES)} == set(STAGES) - {"tokenize"}


def test_a_line_is_printed_with_every_fate_and_reason(tmp_path, split_story):
    entries = ledger(str(tmp_path), manifests(str(tmp_path), split_story), NAMES)
    (line,) = [entry.to_json() for entry in entries if (entry.stage, entry.source) == ("dedup", "web")]
    assert line == {
        "stage": "dedup",
        "source": "web",
        "in": {"units": 3, "bytes": 60},
        "keep": {"units": 2, "bytes": 40},
        "drop": {"contaminated": {"units": 1, "bytes": 20}},
        "split": {"units": 0, "bytes": 0},
        "quarantine": {},
        "out": {"units": 2, "bytes": 40},
        "cut": {},
        "balanced": True,
        "problems": [],
    }


@pytest.mark.parametrize(("share", "stops"), [(None, False), (0.5, False), (0.34, False), (0.33, True), (0.0, True)])
def test_the_guard_stops_a_judge_that_removes_too_much(tmp_path, split_story, share, stops):
    parts = manifests(str(tmp_path), split_story)["dedup"].parts("verdicts")
    lines = judged(str(tmp_path), "dedup", parts, NAMES)
    if not stops:
        check_guard("dedup", lines, share)
        return
    with pytest.raises(
        DataBudgetError, match=r"max_removed\.dedup = .* of web: 1 of 3 documents = 33\.3%\. Nothing was committed"
    ):
        check_guard("dedup", lines, share)
