"""Whether the published pairs are whole and are what tokenize committed, with their papers: sidecars, lists, blends."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from pydantic import ValidationError

from curation import storage
from curation.commits import Manifest
from curation.parts import Part
from curation.shards.blend import Blend, megatron_splits
from curation.shards.sidecar import PairEntry, PairSidecar, Shards
from curation.shards.verify import verify_pair

THREADS = 4  # each holds the ends of one pair's documents


def check_published(root: str, manifest: Manifest) -> tuple[int, list[str]]:
    """Return how many published files there are and what is wrong with them; `manifest` is that of tokenize."""
    folder = str(manifest.notes["shards"])
    bins = {part.facts["pair"]: part for part in manifest.parts("bin")}
    if not bins:
        return 0, []
    try:
        shards = Shards.model_validate_json(storage.read_bytes(storage.join(root, folder, "shards.json")))
    except FileNotFoundError:
        return 0, [f"{folder}/shards.json: is missing"]
    except ValidationError:
        return 1, [f"{folder}/shards.json: is damaged"]
    problems = [f"{folder}/shards.json: {name} is committed and not listed" for name in bins.keys() - _names(shards)]
    problems += [f"{folder}/shards.json: {name} is listed and not committed" for name in _names(shards) - bins.keys()]
    blended = any(pair.split == "train" for pair in shards.pairs)  # where all is held out there is nothing to blend
    problems += _blend_problems(root, folder, _names(shards)) if blended else []
    with ThreadPoolExecutor(THREADS) as pool:
        listed = [(pair, bins.get(pair.name)) for pair in shards.pairs]
        for wrong in pool.map(lambda item: _pair_problems(root, folder, *item), listed):
            problems += wrong
    return 1 + 2 * blended + 3 * len(shards.pairs), problems + list(_token_problems(manifest, bins, shards))


def _names(shards: Shards) -> set[str]:
    return {pair.name for pair in shards.pairs}


def _blend_problems(root: str, folder: str, names: set[str]) -> Iterator[str]:
    path = f"{folder}/blend.json"
    try:
        blend = Blend.model_validate_json(storage.read_bytes(storage.join(root, path)))
    except FileNotFoundError:
        yield f"{path}: is missing"
    except ValidationError:
        yield f"{path}: is damaged"
    else:
        for pair in (*blend.train, *blend.valid):
            if pair.name not in names:
                yield f"{path}: {pair.name} is blended and not in shards.json"
        yield from _megatron_problems(root, f"{folder}/megatron.json", blend)


def _megatron_problems(root: str, path: str, blend: Blend) -> Iterator[str]:
    try:
        found = json.loads(storage.read_bytes(storage.join(root, path)))
    except FileNotFoundError:
        yield f"{path}: is missing"
    except ValueError:
        yield f"{path}: is damaged"
    else:
        if found != megatron_splits(blend):
            yield f"{path}: says another blend than blend.json"


def _pair_problems(root: str, folder: str, entry: PairEntry, committed: Part | None) -> list[str]:
    """Return what is wrong with one pair: its sidecar, its place in shards.json, and every byte of both files."""
    prefix = f"{folder}/{entry.name}"
    missing = [f"{prefix}{suffix}" for suffix in (".json", ".bin", ".idx") if not _stands(root, prefix + suffix)]
    if missing:
        return [f"{path}: is missing" for path in missing]
    try:
        sidecar = PairSidecar.model_validate_json(storage.read_bytes(storage.join(root, f"{prefix}.json")))
    except ValidationError:
        return [f"{prefix}.json: is damaged"]
    problems = []
    if sidecar.entry() != entry:
        problems.append(f"{prefix}.json: says other things of the pair than shards.json")
    if committed is not None and _promised(committed) != sidecar.model_dump(mode="json", exclude={"recipe"}):
        problems.append(f"{prefix}.json: says other things of the pair than its commit")
    opens = [partial(storage.open_raw, storage.join(root, prefix + suffix)) for suffix in (".bin", ".idx")]
    return problems + [f"{folder}/{problem}" for problem in verify_pair(opens[0], opens[1], sidecar)]


def _promised(committed: Part) -> dict[str, Any]:
    """Return the sidecar as the commit holds it, with the version that the model fills in."""
    return {"version": 1, **{name: value for name, value in committed.facts["sidecar"].items() if name != "recipe"}}


def _stands(root: str, path: str) -> bool:
    return storage.exists(storage.join(root, path))


def _token_problems(manifest: Manifest, bins: Mapping[str, Part], shards: Shards) -> Iterator[str]:
    rows = {part.facts["pair"]: part for part in manifest.parts("token_documents")}
    for pair in shards.pairs:
        part = rows.get(pair.name)
        if pair.name in bins and (part is None or part.rows != pair.sequences):
            told = "no part" if part is None else f"{part.rows:,} rows"
            yield f"{manifest.path}: token_documents of {pair.name}: {told} for {pair.sequences:,} sequences"
