"""Adding data: which shards an earlier run has settled, so that only what is new must be decided.

The fate of a document under the greedy rule depends on documents of better rank alone, and a later generation ranks
behind all earlier ones. So where nothing that decides about a shard has changed, the earlier verdicts are what a run
over everything would write again, byte for byte. What decides about a shard is told by a digest; a manifest notes it
for each shard, and a later run looks for the manifest that settles most.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from curation import storage
from curation.commits import load_manifest
from curation.dedup.tasks import STAGE, ShardTask
from curation.digests import value_digest
from curation.parts import Part

_DIGITS = 16
NOTE = "decided"  # in the notes of a manifest: the sources in order, and shard -> [generation, digest]


@dataclass(frozen=True)
class Settled:
    """The shards that need not be decided again, with the verdicts and compared pairs that stand for them."""

    shards: frozenset[str] = frozenset()
    verdicts: Mapping[str, Part] = field(default_factory=dict)
    pairs: Mapping[str, Part] = field(default_factory=dict)


def decided_note(scans: Sequence[ShardTask], sources: Sequence[str], rule: Any) -> dict[str, Any]:
    """Return what a manifest must say for later runs to build on it; `rule` is all that decides besides the shards.

    The order of `sources` matters, their places do not: one that is added between two others moves neither.
    """
    present = {task.shard.source for task in scans}
    shards = {task.shard.shard: [task.shard.generation, _digest(task, rule)] for task in scans}
    return {"sources": [name for name in sources if name in present], "shards": shards}


def settled(root: str, now: Mapping[str, Any]) -> Settled:
    """Return what the manifests of the work folder settle, given the note that this run will make."""
    folder, most, best = storage.join(root, STAGE, "manifests"), 0, ""
    for name in sorted(storage.list_names(folder)):
        before = json.loads(storage.read_bytes(storage.join(folder, name))).get("notes", {}).get(NOTE)
        if before is not None and _stands(before, now) and len(before["shards"]) > most:
            most, best = len(before["shards"]), name
    if not most:
        return Settled()
    manifest = load_manifest(root, f"{STAGE}/manifests/{best}")
    by_table = [{part.facts["shard"]: part for part in manifest.parts(table)} for table in ("verdicts", "pairs")]
    return Settled(frozenset(manifest.notes[NOTE]["shards"]), *by_table)


def _stands(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Say whether all that was decided would be decided alike, and all that is new ranks behind it."""
    if any(now["shards"].get(shard) != told for shard, told in _items(before)):
        return False
    last = max((generation for _, (generation, _) in _items(before)), default=-1)
    new = [generation for shard, (generation, _) in _items(now) if shard not in before["shards"]]
    known = set(before["sources"])
    return min(new, default=last + 1) > last and [s for s in now["sources"] if s in known] == before["sources"]


def _items(note: Mapping[str, Any]) -> Any:
    return note["shards"].items()


def _digest(task: ShardTask, rule: Any) -> str:
    """Return the digest of all that decides about a shard: the rule, whom it received, and their numbers."""
    parts = [part.digest if part else None for part in (task.signals, task.signatures, task.quality, task.received)]
    about = [rule, task.shard.source, task.shard.generation, task.is_reference, parts]
    return value_digest(about)[:_DIGITS]
