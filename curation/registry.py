"""The register of input files: which were found, when, and the number each has for ever.

The register only grows. The new files that one run finds are a *generation*, appended in order of (source, path);
a file that was registered keeps its number. A file whose bytes changed under a known path is an error, since
everything made from it says otherwise. Also the numbers of sources stand here.
"""

import contextlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from curation import storage
from curation.digests import canonical_json, value_digest
from curation.errors import IntegrityError, RecipeError
from curation.globs import matcher
from curation.identity import FILE_BITS, SOURCE_BITS, IdentityOverflow
from curation.recipe import Container, Recipe, Source, readings
from curation.s3 import is_s3
from curation.storage import Entry
from schemas.tables import REGISTRY

_HASHERS = 8  # threads; hashlib releases the interpreter lock


@dataclass(frozen=True, slots=True)
class InputFile:
    """A registered file. `group` is the source or container it belongs to; `uri` is relative to the input root."""

    group: str
    uri: str
    bytes: int
    fingerprint: str
    file: int
    generation: int


@dataclass(frozen=True)
class Registry:
    """All files ever registered in a work folder, and the numbers of its sources."""

    files: tuple[InputFile, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    pages: int = 0  # files that hold the register so far

    @property
    def generations(self) -> int:
        """How many generations there are."""
        return 1 + max((file.generation for file in self.files), default=-1)


@dataclass(frozen=True)
class Inputs:
    """The files that one run works on, in order of their numbers."""

    files: tuple[InputFile, ...]
    numbers: Mapping[str, int]

    @property
    def digest(self) -> str:
        """What tells this set of files from another."""
        rows = [[f.group, f.uri, f.bytes, f.fingerprint, f.file, f.generation] for f in self.files]
        return value_digest([rows, dict(self.numbers)])

    def of_group(self, group: str) -> tuple[InputFile, ...]:
        """Return the files of a source or container."""
        return tuple(file for file in self.files if file.group == group)


def survey(recipe: Recipe, input_root: str, work: str | None = None) -> list[tuple[str, Entry]]:
    """Return every file that the recipe's globs match, as (group, file), in order of (source, path).

    What lies in the work folder is not looked at, wherever that is: a run does not read what runs have made.

    Raises:
        RecipeError: a group that is not optional has no file, or a file name is not UTF-8.
    """
    found: list[tuple[str, Entry]] = []
    for group in sorted(readings(recipe), key=lambda group: group.name):
        matched = (entry for pattern in group.inputs for entry in storage.find(input_root, pattern))
        own = {entry.path: entry for entry in matched if not _lies_in(work, storage.join(input_root, entry.path))}
        entries = _selected(own, group)
        if not entries and not group.optional:
            raise RecipeError(
                _nowhere(input_root)
                if not storage.is_folder(input_root)
                else f"{group.name}: no file matches {', '.join(group.inputs)} below {input_root}; "
                "correct `inputs`, give --input ROOT, or say `optional = true`"
            )
        for path in entries:
            _check_name(path)
        found += [(group.name, entries[path]) for path in sorted(entries, key=str.encode)]
    if not found:
        raise RecipeError(_nowhere(input_root))
    return found


def _nowhere(input_root: str) -> str:
    if not storage.is_folder(input_root):
        return f"--input {input_root}: there is no such folder; give the one that the recipe's `inputs` are relative to"
    return f"no source has any file below {input_root}; give --input ROOT"


def _selected(entries: Mapping[str, Entry], group: Container | Source) -> dict[str, Entry]:
    """Return the files that no `exclude` matches, and of these the first `max_files` by path."""
    excluded = [matcher(pattern) for pattern in group.exclude]
    kept = sorted((path for path in entries if not any(match(path) for match in excluded)), key=_path_bytes)
    return {path: entries[path] for path in kept[: group.max_files]}


def _lies_in(folder: str | None, url: str) -> bool:
    return folder is not None and url.startswith(f"{folder.rstrip('/')}/")


def _path_bytes(path: str) -> bytes:
    return path.encode(errors="surrogateescape")


def register(
    registry: Registry, recipe: Recipe, found: Sequence[tuple[str, Entry]], fingerprint: Callable[[Entry], str]
) -> tuple[Registry, Inputs]:
    """Return the register with the new files of this run as one more generation, and this run's inputs.

    Raises:
        IntegrityError: a known path has other bytes than when it was registered.
        IdentityOverflow: more files or sources than a doc_id can number.
    """
    with ThreadPoolExecutor(_HASHERS) as pool:
        prints = list(pool.map(lambda item: fingerprint(item[1]), found))
    known = {(file.group, file.uri): file for file in registry.files}
    fresh: list[InputFile] = []
    active: list[InputFile] = []
    for (group, entry), print_ in zip(found, prints, strict=True):
        old = known.get((group, entry.path))
        if old is None:
            number = len(registry.files) + len(fresh)
            old = InputFile(group, entry.path, entry.bytes, print_, number, registry.generations)
            fresh.append(old)
        elif (old.bytes, old.fingerprint) != (entry.bytes, print_):
            raise IntegrityError(
                f"{group}: {entry.path} changed: registered with {old.bytes} bytes, {old.fingerprint}; "
                f"now {entry.bytes} bytes, {print_}. Give the new file a new name, or begin a new work folder"
            )
        active.append(old)
    numbers = _number_sources(registry.numbers, [source.name for source in recipe.source])
    grown = Registry((*registry.files, *fresh), numbers, registry.pages)
    if len(grown.files) > 1 << FILE_BITS or len(numbers) > 1 << SOURCE_BITS:
        raise IdentityOverflow(
            f"{len(grown.files)} files, {len(numbers)} sources: too many for one work folder; split it"
        )
    used = {source.name: numbers[source.name] for source in recipe.source}
    return grown, Inputs(tuple(sorted(active, key=lambda file: file.file)), used)


def read_registry(root: str) -> Registry:
    """Return the register of a work folder; an empty one if it has none. Raises IntegrityError if it is damaged."""
    files: list[InputFile] = []
    numbers: dict[str, int] = {}
    names = storage.list_names(storage.join(root, "registry"))
    for page, name in enumerate(names):
        with _damage_named(name):
            table = _read_page(storage.read_bytes(storage.join(root, "registry", name)))
            files += [InputFile(*row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]
            numbers |= json.loads(table.schema.metadata[b"sources"])
            if table.schema.metadata.get(b"digest", _digest(table)) != _digest(table):
                raise ValueError("its rows are not those that were registered")
            if name != _page_name(page) or [file.file for file in files] != list(range(len(files))):
                raise ValueError("a page is missing or out of place")
    return Registry(tuple(files), numbers, len(names))


def write_generation(root: str, before: Registry, after: Registry) -> None:
    """Append what `after` has more than `before`. Raises IntegrityError if another run appended meanwhile."""
    if (len(after.files), after.numbers) == (len(before.files), before.numbers):
        return
    page = _page(after.files[len(before.files) :], after.numbers)
    url = storage.join(root, "registry", _page_name(before.pages))
    if storage.put_if_absent(url, page) != page:
        raise IntegrityError(f"{url}: another run registered files at the same time; run the same command again")


def _page_name(number: int) -> str:
    return f"{number:05d}.parquet"


def _page(files: Sequence[InputFile], numbers: Mapping[str, int]) -> bytes:
    columns = [pa.array([getattr(file, f.name) for file in files], f.type) for f in REGISTRY]
    table = pa.Table.from_arrays(columns, schema=REGISTRY.with_metadata({"sources": canonical_json(dict(numbers))}))
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), "digest": _digest(table)})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", write_page_checksum=True)
    return buffer.getvalue()


def _digest(table: pa.Table) -> bytes:
    """Return the digest of a page's rows and of the sources it numbers."""
    sources = json.loads(table.schema.metadata[b"sources"])
    return value_digest([table.to_pylist(), sources]).encode()


def _read_page(data: bytes) -> pa.Table:
    return pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True).read()


@contextlib.contextmanager
def _damage_named(name: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise IntegrityError(
            f"registry/{name}: the register is damaged ({type(error).__name__}); restore it: no doc_id means "
            "anything without it"
        ) from None


def fingerprint_of(root: str, entry: Entry) -> str:
    """Return what identifies a file's bytes: its etag on S3, the sha256 of all of it elsewhere."""
    if is_s3(root):
        return f"etag:{entry.version}"
    return f"sha256:{storage.sha256(storage.join(root, entry.path))}"


def _number_sources(known: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    numbers = dict(known)
    for name in names:
        numbers.setdefault(name, len(numbers))
    return numbers


def _check_name(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise RecipeError(f"{path!r}: the file name is not UTF-8; rename the file") from None
