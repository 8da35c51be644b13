"""The report tells the ledger's numbers, in one file that needs nothing else, and the same bytes each time."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from curation.errors import RecipeError
from curation.ledger import Count, Entry
from curation.report import collect, render, write_report
from curation.report.funnel import funnel, removals
from curation.report.numbers import bytes_text, percent
from tests.workfolder import WEB, WIKI, WorkFolder, make_work_folder

VOID = {"meta", "rect", "br", "link", "img", "input", "hr"}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> WorkFolder:
    return make_work_folder(tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def page(work: WorkFolder) -> str:
    return render(collect(work.root))


class Outline(HTMLParser):
    """Notes tags in order and whether they nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


def test_the_page_is_well_formed_and_asks_no_network(page: str) -> None:
    outline = Outline(page)
    assert outline.open == []
    assert not re.search(r"https?://|url\(|@import", page)
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in outline.tags}


def test_every_table_has_a_caption_and_scoped_heads(page: str) -> None:
    tags = Outline(page).tags
    names = [tag for tag, _ in tags]
    assert names.count("caption") == names.count("table") > 5
    assert all("scope" in about for tag, about in tags if tag == "th")
    assert all(about.get("aria-hidden") == "true" for tag, about in tags if tag == "svg")  # numbers stand beside them


def test_light_dark_and_paper_are_cared_for(page: str) -> None:
    assert 'lang="en"' in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_the_same_run_gives_the_same_bytes(work: WorkFolder, page: str) -> None:
    path = write_report(work.root)
    assert Path(path).name == "report.html"
    assert Path(path).read_text("utf-8") == page == render(collect(work.root))


def test_the_numbers_are_the_ledgers(work: WorkFolder) -> None:
    report = json.loads(json.dumps(collect(work.root).to_json()))
    steps = {step["stage"]: step for step in report["funnel"]}
    assert list(steps) == ["ingest", "filter", "dedup", "decontaminate", "assemble", "tokenize"]
    assert [step["out"]["units"] for step in steps.values()] == [11, 8, 6, 5, 5, 5]
    assert steps["ingest"]["in"]["units"] == 16
    assert steps["ingest"]["removed"] == {
        "not_sampled": {"units": 4, "bytes": 400},
        "decode": {"units": 1, "bytes": 321},
    }
    assert steps["dedup"]["share_of_received"] == 6 / 8
    assert steps["dedup"]["share_of_pool"] == 6 / 11
    assert steps["assemble"]["cut_bytes"] == 103
    assert report["balanced"] is True
    assert report["quarantine"] == [{"stage": "ingest", "source": "wiki", "reason": "decode", "units": 1, "bytes": 321}]


def test_the_mixture_has_shares_of_text_and_the_weights_of_training(work: WorkFolder) -> None:
    wiki, web = collect(work.root).mixture
    sizes = [sum(len(text.encode()) for text in texts) for texts in (WIKI, WEB)]
    assert (wiki.source, web.source) == ("wiki", "web")  # in the order of the recipe
    assert wiki.share_before == pytest.approx(sizes[0] / sum(sizes))
    assert (wiki.weight, web.weight) == (0.25, 0.75)
    assert wiki.train_tokens == sum(len(text.encode()) + 1 for text in WIKI)
    assert wiki.epochs == pytest.approx(0.25 * 10_000 / wiki.train_tokens)


def test_keys_digests_and_software_stand_in_the_page(work: WorkFolder, page: str) -> None:
    for manifest in work.manifests.values():
        assert manifest.key in page
        assert manifest.digest in page
    assert "pycld2 0.42" in page


def test_a_ledger_that_does_not_balance_is_said_first(tmp_path: Path) -> None:
    work = make_work_folder(tmp_path)
    work.mend("dedup", "verdicts", lambda rows: rows[1:])
    page = render(collect(work.root))
    assert page.index("does not balance") < page.index("<h2>Funnel")
    assert "The ledger balances" not in page


def test_what_stands_in_a_page_cannot_be_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = collect(make_work_folder(tmp_path).root)
    hostile = Entry("ingest", "<script>alert(1)</script>", problems=["<b>&"])
    page = render(type(report)(**{**vars(report), "entries": (*report.entries, hostile)}))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_folder_without_a_run_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no finished run"):
        write_report(str(tmp_path))


def test_a_container_counts_in_the_whole_and_is_no_source() -> None:
    container = Entry("ingest", "pile", Count(5, 500))
    container.drop["not_selected"].add(5, 500)
    source = Entry("ingest", "books", Count(3, 300), Count(3, 300), out=Count(3, 270))
    [whole] = funnel([container, source])
    assert (whole.received.units, whole.out.units, whole.pool.units) == (8, 3, 3)
    [own] = funnel([container, source], "books")
    assert (own.received.units, own.share_of_received) == (3, 1.0)
    assert [row[:3] for row in removals([container, source], "drop")] == [("ingest", "pile", "not_selected")]


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (9_999, "10.0 kB"),
        (99_960, "100 kB"),
        (999_600, "1.00 MB"),
        (5_400_000_000_000, "5.40 TB"),
    ],
)
def test_sizes_have_three_digits(size: int, words: str) -> None:
    assert bytes_text(size) == words


@pytest.mark.parametrize("fraction", [0.00001, 0.9999, 0.0004, 0.99951])
def test_a_share_is_never_rounded_to_nothing_or_to_all(fraction: float) -> None:
    assert percent(fraction) not in ("0.0 %", "0 %", "100.0 %", "100 %")
