"""assemble: what stays of a shard, cut where the cuts say, equal to doing it document by document."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.assemble import AssembleTask, assemble_shard
from curation.parts import Part, read_table, write_part
from curation.shards_table import Shard
from tests.tables import spread

FACTS = {"shard": "0000", "source": "web"}
BATCH_ROWS = 700  # not READ_ROWS, so that batches of the tables do not coincide


def shard_of(root: str, texts: list[str]) -> Shard:
    documents = [
        {
            "doc_id": 10 + 3 * n,
            "doc_key": n,
            "source": "web",
            "text": text,
            "text_bytes": len(text.encode()),
            "url": f"u{n}",
        }
        for n, text in enumerate(texts)
    ]
    part = write_part(root, "ingest", "documents", "0000", spread("documents", documents, BATCH_ROWS), FACTS)
    ids = [document["doc_id"] for document in documents]
    return Shard("0000", "web", 0, ids[0], ids[-1], len(ids), 0, "key", part)


def task_of(root: str, texts: list[str], fates: dict[int, str], **given: Any) -> AssembleTask:
    """Return the task; `fates` is by place among the documents, and has those that the last judge received."""
    shard = shard_of(root, texts)
    place = {n: 10 + 3 * n for n in range(len(texts))}

    def part(table: str, found: list[dict[str, Any]], stage: str = "dedup") -> Part:
        return write_part(root, stage, table, "0000", spread(table, found, BATCH_ROWS), FACTS)

    signals = part("signals", [{"doc_id": place[n], "language": f"l{n % 7}"} for n in place], "signals")
    quality = part("quality", [{"doc_id": place[n], "quality_ppm": n} for n in place], "quality")
    verdicts = part("verdicts", [{"doc_id": place[n], "fate": fate} for n, fate in sorted(fates.items())])
    clusters = [{"doc_id": place[n], "fate": "keep", "value": 100 + n} for n in place]
    cuts = [
        {"doc_id": place[n], "start": start, "end": end}
        for n, spans in sorted(given.get("cuts", {}).items())
        for start, end in spans
    ]
    return AssembleTask(
        root,
        shard,
        "key",
        signals,
        quality if given.get("scored", True) else None,
        verdicts if fates else None,
        part("verdicts", clusters) if given.get("clustered", True) else None,
        part("cuts", cuts, "decontaminate") if cuts else None,
    )


def corpus(root: str, task: AssembleTask) -> list[dict[str, Any]]:
    commit = assemble_shard(task)
    (part,) = commit.parts
    assert (commit.stage, commit.item, commit.key, part.facts) == ("assemble", "0000", "key", FACTS)
    return list(read_table(root, part).to_pylist())


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """Return a text and cuts of it: disjoint, ascending, on code point boundaries, leaving something."""
    text = draw(st.text("aé漢\U0001f600 ", min_size=2, max_size=12))
    edges = sorted(draw(st.sets(st.integers(0, len(text)), max_size=4)))
    spans = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    byte = [len(text[:n].encode()) for n in range(len(text) + 1)]
    spans = [] if sum(b - a for a, b in spans) == len(text) else spans
    return text, [(byte[a], byte[b]) for a, b in spans]


@given(st.lists(st.tuples(cut_texts(), st.sampled_from(["keep", "drop", "unseen"])), min_size=1, max_size=8))
@settings(max_examples=40)
def test_pieces_are_what_the_cuts_leave_of_documents_that_stay(tmp_path_factory, documents):
    root = str(tmp_path_factory.mktemp("work"))
    texts = [text for (text, _), _ in documents]
    cuts = {n: spans for n, ((_, spans), fate) in enumerate(documents) if spans and fate == "keep"}
    fates = {n: "split" if n in cuts else fate for n, (_, fate) in enumerate(documents) if fate != "unseen"}
    found = corpus(root, task_of(root, texts, fates, cuts=cuts))
    expected = []
    for n, text in enumerate(texts):
        if fates.get(n) not in ("keep", "split"):
            continue
        data, start, pieces = text.encode(), 0, []
        for a, b in [*cuts.get(n, []), (len(data := text.encode()), len(data))]:
            pieces += [(start, a)] if a > start else []
            start = b
        expected += [
            (10 + 3 * n, k, a, b, data[a:b].decode(), 100 + n, n, f"l{n % 7}") for k, (a, b) in enumerate(pieces)
        ]
    columns = ("doc_id", "piece", "start", "end", "text", "cluster_size", "quality_ppm", "language")
    assert [tuple(row[name] for name in columns) for row in found] == expected


def test_documents_of_many_batches_keep_their_own_numbers(tmp_path):
    count = 3000
    fates = dict.fromkeys(range(0, count, 3), "keep")
    found = corpus(str(tmp_path), task_of(str(tmp_path), [f"text {n}" for n in range(count)], fates))
    assert [(row["text"], row["quality_ppm"], row["cluster_size"], row["url"]) for row in found] == [
        (f"text {n}", n, 100 + n, f"u{n}") for n in range(0, count, 3)
    ]


def test_without_scores_and_clusters_a_document_has_no_score_and_stands_for_itself(tmp_path):
    task = task_of(str(tmp_path), ["one"], {0: "keep"}, scored=False, clustered=False)
    (row,) = corpus(str(tmp_path), task)
    assert (row["quality_ppm"], row["cluster_size"]) == (None, 1)


@pytest.mark.parametrize("fates", [{}, {0: "drop", 1: "drop"}])
def test_a_shard_of_which_nothing_stays_has_an_empty_part(tmp_path, fates):
    assert corpus(str(tmp_path), task_of(str(tmp_path), ["one", "two"], fates)) == []


def test_the_same_task_gives_the_same_bytes(tmp_path):
    task = task_of(str(tmp_path), ["one", "two"], {0: "keep", 1: "split"}, cuts={1: [(0, 1)]})
    first, second = assemble_shard(task), assemble_shard(task)
    assert first.digest == second.digest
    assert first.parts[0].sha256 == second.parts[0].sha256
