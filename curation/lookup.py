"""From what a person calls a document to the rows about it, reading as little as possible.

A document is called by its doc_id, by `SOURCE:PATH:RECORD`, or by its URL. The first two need the ranges of shards
and of row groups only; a URL costs one scan of the url column.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from curation.commits import Manifest
from curation.errors import RecipeError
from curation.identity import IdentityOverflow, Place, pack, unpack
from curation.latest import read_newest
from curation.parts import Part, open_part, read_batches
from curation.registry import InputFile, Registry, read_registry
from curation.shards_table import Shard, shards_of

Row = dict[str, Any]

_THREADS = 8  # of a scan for a URL, which mostly waits for the store
_LOCATOR = re.compile(r"(?P<source>[a-z0-9][a-z0-9-]*):(?P<path>.+):(?P<record>[0-9]+)", re.DOTALL)


@dataclass(frozen=True)
class Folder:
    """The last run of a work folder, opened for looking things up."""

    root: str
    manifests: Mapping[str, Manifest]
    registry: Registry

    @cached_property
    def shards(self) -> list[Shard]:
        """Shards in order of doc_id."""
        return shards_of(self.manifests["ingest"])

    @cached_property
    def source_names(self) -> dict[int, str]:
        """The sources by registry number."""
        return {number: name for name, number in self.registry.numbers.items()}

    @cached_property
    def _files(self) -> dict[int, InputFile]:
        return {file.file: file for file in self.registry.files}

    def locator(self, doc_id: int) -> str:
        """Return a document's name as SOURCE:PATH:RECORD."""
        place = unpack(doc_id)
        file = self._files.get(place.file)
        path = file.uri if file else f"file {place.file}"
        return f"{self.source_names.get(place.source, place.source)}:{path}:{place.record}"

    def shard_of(self, doc_id: int) -> Shard | None:
        """Return the shard whose range of doc_ids holds this one; it need not have such a document."""
        at = bisect_right(self.shards, doc_id, key=lambda shard: shard.first_doc_id) - 1
        found = self.shards[at] if at >= 0 else None
        return found if found is not None and doc_id <= found.last_doc_id else None


def open_folder(root: str) -> Folder:
    """Return the last run of a work folder. Raises RecipeError (no run), IntegrityError (damaged)."""
    return Folder(root, read_newest(root).manifests, read_registry(root))


def candidates(folder: Folder, name: str) -> list[int]:
    """Return the doc_ids that a name may mean, ascending; whether they have rows is not asked, but for a URL.

    Raises:
        RecipeError: the name is of no known form, or names a source or a file that is not registered.
    """
    if name.isascii() and name.isdecimal():
        if int(name) >= 1 << 63:
            raise RecipeError(f"{name}: too large for a doc_id; give a decimal doc_id, SOURCE:PATH:RECORD, or a URL")
        return [int(name)]
    located = _LOCATOR.fullmatch(name)
    if located and not located["path"].startswith("//"):
        return _located(folder, located["source"], located["path"], int(located["record"]))
    found = _with_url(folder, name)
    if not found:
        raise RecipeError(f"{name}: no document has this URL; give a decimal doc_id, SOURCE:PATH:RECORD, or a URL")
    return found


def rows_of(root: str, part: Part, doc_id: int, columns: Sequence[str] | None = None) -> list[Row]:
    """Return a document's rows of a part that is sorted by doc_id; reads only row groups whose range holds it."""
    with open_part(root, part) as file:
        groups = [group for group in range(file.num_row_groups) if _may_hold(file, group, doc_id)]
    wanted = None if columns is None else ["doc_id", *(name for name in columns if name != "doc_id")]
    rows: list[Row] = []
    for batch in read_batches(root, part, wanted, groups=groups):
        rows += batch.filter(pc.equal(batch["doc_id"], doc_id)).to_pylist()
    return rows


def quarantined(folder: Folder, doc_id: int) -> Row | None:
    """Return the quarantine row of the unit at this place, whatever source its doc_id names: a unit that could not be
    read in a container belongs to none."""
    place = unpack(doc_id)
    for commit in folder.manifests["ingest"].commits:
        if all(file["file"] != place.file for file in commit.counts["files"]):
            continue
        for part in commit.table("quarantine"):
            for batch in read_batches(folder.root, part):
                here = pc.and_(pc.equal(batch["file"], place.file), pc.equal(batch["record"], place.record))
                for row in batch.filter(here).to_pylist():
                    return dict(row)
    return None


def _located(folder: Folder, source: str, path: str, record: int) -> list[int]:
    numbers = folder.registry.numbers
    groups = {file.group for file in folder.registry.files}
    if source not in numbers and source not in groups:
        known = ", ".join(sorted({*numbers, *groups}))
        raise RecipeError(f"{source}: no such source in {folder.root}; there are: {known}")
    files = [file for file in folder.registry.files if file.uri == path and (source in numbers or file.group == source)]
    if not files:
        raise RecipeError(f"{path}: no such file of {source} is registered in {folder.root}; paths are as in `uri`")
    of = [numbers[source]] if source in numbers else sorted(numbers.values())
    try:
        return sorted(pack(Place(number, file.file, record)) for number in of for file in files)
    except IdentityOverflow:
        raise RecipeError(f"{record}: no file has so many records") from None


def _with_url(folder: Folder, url: str) -> list[int]:
    with ThreadPoolExecutor(_THREADS) as pool:
        found = pool.map(lambda shard: list(_rows_with_url(folder.root, shard.part, url)), folder.shards)
        return sorted(doc_id for doc_ids in found for doc_id in doc_ids)


def _rows_with_url(root: str, part: Part, url: str) -> Iterator[int]:
    with open_part(root, part) as file:
        groups = range(file.num_row_groups)
    for group in groups:
        urls = pa.Table.from_batches(read_batches(root, part, ["url"], groups=[group]))["url"]
        if pc.any(pc.equal(urls, url)).as_py():
            for batch in read_batches(root, part, ["doc_id", "url"], groups=[group]):
                yield from batch.filter(pc.equal(batch["url"], url))["doc_id"].to_pylist()


def _may_hold(file: pq.ParquetFile, group: int, doc_id: int) -> bool:
    about = file.metadata.row_group(group).column(file.schema_arrow.get_field_index("doc_id")).statistics
    return about is None or not about.has_min_max or about.min <= doc_id <= about.max
