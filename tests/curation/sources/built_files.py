"""A small file for each reader, in the parts that a compressor may take one by one."""

import gzip
import io
import tarfile
import zipfile

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from backports import zstd

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body>%d words of a page</body></html>"
UNCOMPRESSED = ("parquet", "texts", "nih_exporter", "github")  # zips and parquet: nobody compresses them again


def jsonl() -> list[bytes]:
    return [orjson.dumps({"text": f"document {n} " * n, "meta": {"pile_set_name": "ArXiv"}}) + b"\n" for n in range(30)]


def warc() -> list[bytes]:
    head = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n"
    return [head % (len(PAGE % number), PAGE % number) for number in range(10, 30)]


def arc() -> list[bytes]:
    line = b"http://a.example/%d 192.0.2.1 20080101000000 text/html %d\n%s\n"
    return [line % (number, len(PAGE % number), PAGE % number) for number in range(10, 30)]


def long_named_tar() -> list[bytes]:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for number in range(12):
            info = tarfile.TarInfo(f"{'long/' * number * 8}é{number}.txt")
            info.size = number * 300
            tar.addfile(info, io.BytesIO(bytes([97 + number]) * info.size))
    return [stream.getvalue()]


def tar_of(*members: tuple[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def zip_of(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return stream.getvalue()


def parquet() -> list[bytes]:
    stream = io.BytesIO()
    table = pa.table({"text": [f"row {number} " * 9 for number in range(90)], "stars": list(range(90))})
    pq.write_table(table, stream, row_group_size=30, write_page_checksum=True)
    return [stream.getvalue()]


def wikipedia() -> list[bytes]:
    page = (
        "<page><title>T{0}</title><ns>{1}</ns><id>{0}</id><revision><id>1</id><timestamp>2021-01-01T00:00:00Z"
        "</timestamp><text>'''T''' is a [[letter]] &lt;ref>R&lt;/ref> {{{{box}}}}</text></revision></page>\n"
    )
    return [b"<mediawiki>\n", *(page.format(n, n % 3).encode() for n in range(20)), b"</mediawiki>\n"]


def posts() -> list[bytes]:
    question = b'<row Id="%d" PostTypeId="1" Title="Why?" Body="&lt;p&gt;Because&lt;/p&gt;" AcceptedAnswerId="%d" />\n'
    answer = b'<row Id="%d" PostTypeId="2" ParentId="%d" Score="%d" Body="&lt;p&gt;So&lt;/p&gt;" />\n'
    rows = [(question % (n, n + 100), answer % (n + 100, n + n % 2, n)) for n in range(1, 20)]
    return [b"<posts>\n", *(row for pair in rows for row in pair), b"</posts>\n"]


def citations() -> list[bytes]:
    citation = (
        b"<PubmedArticle><MedlineCitation><PMID>%d</PMID><Article><ArticleTitle>On H<sub>2</sub>O</ArticleTitle>"
        b'<Abstract><AbstractText Label="AIM">To see.</AbstractText></Abstract></Article></MedlineCitation>'
        b"</PubmedArticle>\n"
    )
    return [b"<PubmedArticleSet>\n", *(citation % n for n in range(20)), b"</PubmedArticleSet>\n"]


def abstracts() -> list[bytes]:
    rows = b"".join(b'%d,"Of ""bees""\r\nand \xe9"\r\n' % n for n in range(30))
    return [zip_of(("abstracts.csv", b"APPLICATION_ID,ABSTRACT_TEXT\r\n" + rows), ("readme.txt", b"read me"))]


def papers() -> list[bytes]:
    main = b"\\documentclass{a}\\begin{document}\\input{b}"
    paper = gzip.compress(tar_of(("a.tex", main), ("b.tex", b"hello")), mtime=0)
    return [tar_of(("2101/2101.00001.gz", paper), ("2101/2101.00002.pdf", b"%PDF"), ("2101/2101.00003.gz", paper))]


def code() -> list[bytes]:
    return [zip_of(("r/a.py", b"print(1)\n" * 20), ("r/vendor/b.py", b"pass"), ("r/c.bin", bytes(99)))]


PARTS: dict[str, list[bytes]] = {
    "arc": arc(),
    "archive": [tar_of(("a.jsonl.zst", zstd.compress(b"".join(jsonl()))), ("b.jsonl", jsonl()[3]))],
    "arxiv": papers(),
    "cc_stories": [b"He said so .\nShe did n't .\n\n" * 20],
    "github": code(),
    "jsonl": jsonl(),
    "nih_exporter": abstracts(),
    "parquet": parquet(),
    "pg19": [b"a book\n" * 300],
    "pile": jsonl(),
    "pubmed": citations(),
    "realnews": jsonl(),
    "stack_exchange": posts(),
    "tar_text": long_named_tar(),
    "text": [b"a text\n" * 300],
    "texts": [zip_of(*((f"site_{n}.txt", b"Q:\n\nWhy?" * n) for n in range(12)))],
    "warc": warc(),
    "wikipedia": wikipedia(),
}
