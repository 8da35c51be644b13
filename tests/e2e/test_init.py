"""From one archive and one file of JSON lines, by the commands a newcomer types, to shards and a report."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

from corpus import prose  # type: ignore[import-not-found]

from jobs import cli

ROOT = Path(__file__).parents[2]


def warc(html: str) -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html.encode()
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://example.org/\r\n"
        "WARC-Date: 2021-01-15T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000000>\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


def test_two_files_become_shards_and_a_report(tmp_path: Path) -> None:
    page = "<html><body><p>" + prose(50).replace("\n\n", "</p><p>") + "</p></body></html>"
    (tmp_path / "crawl").write_bytes(gzip.compress(warc(page)))
    rows = b"".join(json.dumps({"text": prose(n)}).encode() + b"\n" for n in range(20))
    (tmp_path / "notes").write_bytes(rows)
    recipe = tmp_path / "mine.toml"
    assert cli.main(["init", str(tmp_path / "crawl"), str(tmp_path / "notes"), "--output", str(recipe)]) == 0
    assert cli.main(["init", str(tmp_path / "crawl"), "--output", str(recipe)]) == 2  # never over a recipe
    command = [sys.executable, "-c", "from jobs.cli import entry; entry()", "run", str(recipe)]
    subprocess.run([*command, "--work", str(tmp_path / "work"), "--master", "local[1,4]"], cwd=ROOT, check=True)
    assert list((tmp_path / "work/shards").glob("*/shards.json"))
    report = json.loads((tmp_path / "work/latest.json").read_text())
    assert set(report["stages"]) >= {"ingest", "dedup", "tokenize"}
    assert (tmp_path / "work/report.html").is_file()
