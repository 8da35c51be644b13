"""Two Common Crawl snapshots: WARC files of real web pages, captured as the crawler captures them.

Pages are documentation and product pages with their navigation, some in other languages. Both snapshots hold some pages
unchanged (a recrawl), and some in an older and a newer edition (near-duplicates). Among them stands what every crawl
meets: style sheets and images, plain text (debates in other languages), a page cut at the crawler's limit, a page in an
old encoding, a revisit record.
Hosts are below example.org: the pages were never crawled, and no address of theirs is claimed.
"""

import base64
import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import quote

from curation.demo.containers import gzip_member
from curation.demo.packages import MACAULAY2, MHI_HELP_1, MHI_HELP_2, ODOO, Package
from curation.demo.prose import foreign_debates
from curation.demo.wheels import Wheels, pick

PAGES_PER_SNAPSHOT = 1_200  # of Macaulay2's 11,859
RECRAWLED_PAGES = 300  # of them, in both snapshots
MIN_PAGE_BYTES = 7_000
FILES_PER_SNAPSHOT = 2
TRUNCATED_BYTES = 6_000
PLAIN_TEXTS = 40
_NOT_PAGES = (".css", ".js", ".svg", ".png", ".gif")
_MEDIA_TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "png": "image/png",
    "gif": "image/gif",
}


@dataclass(frozen=True, slots=True)
class Capture:
    """One answer of a web server."""

    url: str
    media_type: str
    body: bytes
    is_truncated: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A crawl: its name, when it began, and the captures in the order they were made."""

    name: str
    started: datetime
    captures: list[Capture]


def snapshots(wheels: Wheels) -> Iterator[Snapshot]:
    """Yield the two snapshots, the older first."""
    names = wheels.names(MACAULAY2, _is_page)
    pages = [name for name in names if wheels.size(MACAULAY2, name) >= MIN_PAGE_BYTES]
    both = pick(pages, RECRAWLED_PAGES, "both")
    rest = pick(set(pages) - set(both), 2 * (PAGES_PER_SNAPSHOT - RECRAWLED_PAGES), "once")
    older, newer = (odoo for odoo in (_editions("odoo12"), _editions("odoo14")))
    yield Snapshot("2020-50", datetime(2020, 11, 23, 15, 38, 26), _mixed(wheels, both + rest[::2], MHI_HELP_1, older))
    yield Snapshot("2021-04", datetime(2021, 1, 15, 18, 7, 11), _mixed(wheels, both + rest[1::2], MHI_HELP_2, newer))


def warc_files(snapshot: Snapshot) -> Iterator[tuple[str, bytes]]:
    """Yield (file name, content): warcinfo, then a request and a response for each capture, one member a record."""
    for number in range(FILES_PER_SNAPSHOT):
        name = f"CC-MAIN-{snapshot.started:%Y%m%d%H%M%S}-{number:05}.warc.gz"
        records = [_warcinfo(snapshot, name)]
        for position, capture in enumerate(snapshot.captures[number::FILES_PER_SNAPSHOT]):
            at = snapshot.started + timedelta(seconds=2 * position)
            records += [_request(snapshot, capture, at), _response(snapshot, capture, at)]
        if number == 0:
            records.append(_revisit(snapshot, snapshot.captures[0], snapshot.started + timedelta(days=1)))
        yield name, b"".join(gzip_member(record) for record in records)


def _mixed(wheels: Wheels, pages: list[str], help_pages: Package, odoo: list[Package]) -> list[Capture]:
    captures = [_capture(wheels, MACAULAY2, name) for name in pages]
    captures += [_capture(wheels, help_pages, name) for name in wheels.names(help_pages, _is_page)]
    for package in odoo:
        captures += [_capture(wheels, package, name) for name in wheels.names(package, _is_page)]
    captures[7] = replace(captures[7], body=captures[7].body[:TRUNCATED_BYTES], is_truncated=True)
    captures += [_in_latin_1(capture) for capture in captures if "facturae" in capture.url]
    captures += [_capture(wheels, help_pages, name) for name in pick(wheels.names(help_pages, _is_asset), 12)]
    captures += [_plain_text(text) for text in pick(foreign_debates(wheels), PLAIN_TEXTS, help_pages.version)]
    by_url = {capture.url: capture for capture in captures}
    return [by_url[url] for url in sorted(by_url, key=lambda url: hashlib.sha256(url.encode()).digest())]


def _capture(wheels: Wheels, package: Package, name: str) -> Capture:
    url = f"https://{package.name}.example.org/{quote(name)}"
    suffix = name.rsplit(".", 1)[1]
    return Capture(url, _MEDIA_TYPES.get(suffix, "text/html; charset=UTF-8"), wheels.read(package, name))


def _plain_text(text: str) -> Capture:
    name = hashlib.sha256(text.encode()).hexdigest()[:12]
    return Capture(f"https://debates.example.org/{name}.txt", "text/plain; charset=UTF-8", text.encode())


def _in_latin_1(capture: Capture) -> Capture:
    """The same page as an older server sends it."""
    text = capture.body.decode().replace('charset=utf-8"', 'charset=iso-8859-1"')
    body = text.encode("iso-8859-1", "xmlcharrefreplace")
    return Capture(capture.url + "?old", "text/html; charset=ISO-8859-1", body)


def _is_page(name: str) -> bool:
    return name.endswith(".html") and (not name.startswith("odoo/") or name.endswith("static/description/index.html"))


def _is_asset(name: str) -> bool:
    return name.endswith(_NOT_PAGES)


def _editions(series: str) -> list[Package]:
    return [package for package in ODOO if package.name.startswith(series)]


def _warcinfo(snapshot: Snapshot, file_name: str) -> bytes:
    fields = f"isPartOf: CC-MAIN-{snapshot.name}\r\nformat: WARC File Format 1.1\r\nsoftware: megatron-corpus demo\r\n"
    headers = {"WARC-Filename": file_name, "Content-Type": "application/warc-fields"}
    return _record("warcinfo", snapshot, file_name, snapshot.started, headers, fields.encode())


def _request(snapshot: Snapshot, capture: Capture, at: datetime) -> bytes:
    host, path = capture.url.removeprefix("https://").split("/", 1)
    http = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: CCBot/2.0\r\nAccept-Encoding: br,gzip\r\n\r\n"
    headers = {"WARC-Target-URI": capture.url, "Content-Type": "application/http; msgtype=request"}
    return _record("request", snapshot, capture.url, at, headers, http.encode())


def _response(snapshot: Snapshot, capture: Capture, at: datetime) -> bytes:
    block = _http_head(capture) + capture.body
    headers = {
        "WARC-Target-URI": capture.url,
        "WARC-Concurrent-To": _record_id("request", snapshot, capture.url, at),
        "Content-Type": "application/http; msgtype=response",
        "WARC-Payload-Digest": _digest(capture.body),
        "WARC-Block-Digest": _digest(block),
        "WARC-Identified-Payload-Type": capture.media_type.split(";")[0],
    }
    if capture.is_truncated:
        headers["WARC-Truncated"] = "length"
    return _record("response", snapshot, capture.url, at, headers, block)


def _revisit(snapshot: Snapshot, capture: Capture, at: datetime) -> bytes:
    headers = {
        "WARC-Target-URI": capture.url,
        "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        "Content-Type": "application/http; msgtype=response",
        "WARC-Payload-Digest": _digest(capture.body),
    }
    return _record("revisit", snapshot, capture.url, at, headers, _http_head(capture))


def _http_head(capture: Capture) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Type: {capture.media_type}", "X-Crawler-Content-Encoding: gzip"]
    return "\r\n".join([*lines, f"Content-Length: {len(capture.body)}", "", ""]).encode()


def _record(kind: str, snapshot: Snapshot, name: str, at: datetime, headers: dict[str, str], block: bytes) -> bytes:
    lines = {
        "WARC-Type": kind,
        "WARC-Date": f"{at:%Y-%m-%dT%H:%M:%SZ}",
        "WARC-Record-ID": _record_id(kind, snapshot, name, at),
        "Content-Length": str(len(block)),
        **headers,
    }
    head = "WARC/1.0\r\n" + "".join(f"{key}: {value}\r\n" for key, value in lines.items())
    return head.encode() + b"\r\n" + block + b"\r\n\r\n"


def _record_id(kind: str, snapshot: Snapshot, name: str, at: datetime) -> str:
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{snapshot.name} {kind} {name} {at:%Y%m%d%H%M%S}')}>"


def _digest(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()
