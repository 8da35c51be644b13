"""What a run will store and move between machines, roughly: the figures of docs/scaling.md times what is to be read.

Good to a factor of two for text in plain or compressed files. Web archives vary more, so that what a source gave so far
goes before every figure here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curation.commits import Commit
from curation.recipe import Recipe, readings
from curation.registry import InputFile

TEXT_BYTES_A_DOCUMENT = 2_600
_COMPRESSED = (".gz", ".zst", ".bz2", ".xz", ".7z", ".zip", ".parquet")
_EXPANDED = 3.0  # bytes of English text per compressed byte, gzip and zstd alike
_OF_AN_ARCHIVE = 0.03  # text per byte of web archive: 1.5 of 49 MB in the demo, 2.8 of 61 TB in NeMo's CC-MAIN-2020-50
_WORD_BYTES = 6

# Bytes stored per byte of text, then per document: docs/scaling.md, "Stored".
_STORED = {
    "ingest": (0.332, 0),
    "signals": (0, 96),
    "quality": (0, 6),
    "signatures": (0, 0),
    "matches": (0, 9),
    "filter": (0, 10),
    "dedup": (0, 11),
    "decontaminate": (0, 10),
    "assemble": (0.283, 0),
    "tokenize": (0.475, 7),
}
_HASH_ROW, _BAND_ROW, _CANDIDATES, _CANDIDATE_ROW, _WORD_HASH = 48, 16, 0.3, 200, 8  # "Moved between machines"


@dataclass(frozen=True)
class Corpus:
    """How much text there is to work on; `known` where ingest has committed all of it."""

    documents: int
    text_bytes: int
    known: bool


@dataclass(frozen=True)
class Need:
    """Bytes that a stage is expected to store, and to move between machines."""

    stored_bytes: int
    shuffled_bytes: int = 0


def corpus(recipe: Recipe, files: Sequence[InputFile], done: Sequence[Commit]) -> Corpus:
    """Return the text that the files hold: as committed, and for the other files as they gave so far or usually do."""
    read = {file["file"] for commit in done for file in commit.counts["files"]}
    parts = [part for commit in done for part in commit.table("documents")]
    documents, text = sum(part.rows for part in parts), sum(int(part.facts["text_bytes"]) for part in parts)
    usual = {reading.name: str(reading.reader) for reading in readings(recipe)}
    so_far = _so_far(files, done)
    left = [file for file in files if file.file not in read]
    more = sum(file.bytes * so_far.get(file.group, _text_share(usual[file.group], file.uri)) for file in left)
    mean = text / documents if documents else TEXT_BYTES_A_DOCUMENT
    return Corpus(documents + round(more / mean), text + round(more), not left)


def need(stage: str, recipe: Recipe, found: Corpus) -> Need:
    """Return what a stage stores and moves for a corpus."""
    per_byte, per_document = _STORED.get(stage, (0, 0))
    bands = recipe.dedup.bands if recipe.dedup is not None else 0
    if stage == "signatures":
        per_document = 8 * bands
    stored = round(per_byte * found.text_bytes + per_document * found.documents)
    return Need(stored, _shuffled(stage, recipe, found, bands))


def _shuffled(stage: str, recipe: Recipe, found: Corpus, bands: int) -> int:
    if stage == "dedup":
        a_candidate = _CANDIDATE_ROW + _WORD_HASH * found.text_bytes / max(1, found.documents) / _WORD_BYTES
        return round(found.documents * (_HASH_ROW + _BAND_ROW * bands + _CANDIDATES * a_candidate))
    if stage == "tokenize" and any(source.shuffle for source in recipe.source):
        return round(_STORED["tokenize"][0] * found.text_bytes)  # all of it at most
    return 0


def _so_far(files: Sequence[InputFile], done: Sequence[Commit]) -> Mapping[str, float]:
    """Return bytes of text per byte of file, for the groups of which something is committed."""
    by_number = {file.file: file for file in files}
    sums: dict[str, list[int]] = {}
    for commit in done:
        for read in commit.counts["files"]:
            file = by_number.get(read["file"])
            if file is not None:
                sums.setdefault(file.group, [0, 0])[0] += file.bytes
        group = next((by_number[f["file"]].group for f in commit.counts["files"] if f["file"] in by_number), None)
        if group is not None:
            sums[group][1] += sum(int(part.facts["text_bytes"]) for part in commit.table("documents"))
    return {group: text / size for group, (size, text) in sums.items() if size}


def _text_share(reader: str, uri: str) -> float:
    if reader == "warc" and ".wet" not in uri:
        return _OF_AN_ARCHIVE
    return _EXPANDED if uri.endswith(_COMPRESSED) else 1.0
