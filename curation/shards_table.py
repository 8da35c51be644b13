"""The shards of documents: what ingest committed, in the order that all later stages walk."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from curation.commits import Manifest
from curation.parts import Part


@dataclass(frozen=True)
class Shard:
    """One sealed shard: its documents part, and the key of the item that wrote it."""

    shard: str
    source: str
    generation: int
    first_doc_id: int
    last_doc_id: int
    documents: int
    text_bytes: int
    key: str
    part: Part


def shard_name(source: int, first_file: int, ordinal: int) -> str:
    """Return a shard's name, which sorts as its doc_ids do."""
    return f"{source:04d}-{first_file:08d}-{ordinal:04d}"


def shards_of(ingest: Manifest) -> list[Shard]:
    """Return the shards that an ingest manifest lists, in order of doc_id."""
    found = [_shard(part, commit.key) for commit in ingest.commits for part in commit.table("documents")]
    return sorted(found, key=lambda shard: shard.first_doc_id)


def _shard(part: Part, key: str) -> Shard:
    facts: Mapping[str, Any] = part.facts
    return Shard(
        facts["shard"],
        facts["source"],
        facts["generation"],
        facts["first_doc_id"],
        facts["last_doc_id"],
        part.rows,
        facts["text_bytes"],
        key,
        part,
    )
