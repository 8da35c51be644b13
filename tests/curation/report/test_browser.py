"""The report in a browser: it opens from a file without a complaint, and shows the ledger's numbers."""

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from curation.ledger import ledger
from curation.lookup import open_folder
from curation.report import collect, write_report
from tests.workfolder import make_work_folder

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-sync", "--enable-logging=stderr"),
)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium: apt-get install chromium")


class Tables(HTMLParser):
    """The words of every table of a page, by caption."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self._into: list[str] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "caption":
            self._into = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td"):
            self._into = []

    def handle_endtag(self, tag: str) -> None:
        words = "".join(self._into or ()).strip()
        if tag == "caption":
            self._rows = self.tables.setdefault(words, [])
        elif tag in ("th", "td"):
            self._rows[-1].append(words)
        if tag in ("caption", "th", "td"):
            self._into = None

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self._into.append(data)


def dump(page: Path, profile: Path) -> tuple[str, str]:
    """Return the page as the browser has it, and what the browser complained of."""
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def test_a_browser_shows_the_ledgers_numbers_and_complains_of_nothing(tmp_path: Path) -> None:
    work = make_work_folder(tmp_path / "work")
    page, complaints = dump(Path(write_report(work.root)), tmp_path / "profile")
    assert complaints == ""
    tables = Tables(page).tables
    folder = open_folder(work.root)
    entries = ledger(folder.root, folder.manifests, folder.source_names)
    for row in tables["Documents and text that each stage received and passed on"][1:]:
        own = [entry for entry in entries if entry.stage == row[0]]
        told = [sum(getattr(entry, side).units for entry in own) for side in ("received", "out")]
        assert row[2:4] == [f"{number:,}" for number in told]
    quarantined = tables["Units that could not be used"][1:]
    expected = {(e.source, why, f"{c.units:,}") for e in entries for why, c in e.quarantine.items()}
    assert {(row[0], row[1], row[4]) for row in quarantined} == expected
    mixture = tables["Share of each source before and after curation, and in training"]
    at = mixture[0].index("Tokens, training")
    assert [row[at] for row in mixture[1:]] == [f"{one.train_tokens:,}" for one in collect(work.root).mixture]
