"""A component larger than memory is worked off from disk, and nothing about it changes."""

from pathlib import Path

import numpy as np
import pytest
from dedup_rows import run
from test_families import chain, family, ring, star, template

from curation.dedup.greedy import ComponentWalk, GreedyWalk, Rows
from curation.dedup.room import Room

THRESHOLD = 800_000
MIB = 1 << 20


@pytest.mark.parametrize("walk", [GreedyWalk, ComponentWalk])
@pytest.mark.parametrize(("make", "count"), [(chain, 200), (star, 600), (ring, 100), (template, 400)])
def test_what_lies_on_disk_decides_as_what_lies_in_memory(walk, make, count, tmp_path):
    rows, _ = family(make, count, True)
    in_memory = run(walk(THRESHOLD), rows, [7, 50])
    on_disk = run(walk(THRESHOLD, room=Room(1 << 12, str(tmp_path))), rows, [7, 50])
    for name in ("doc_ids", "dropped", "others", "jaccard_ppm"):
        assert getattr(in_memory, name).tolist() == getattr(on_disk, name).tolist()
    assert not list(tmp_path.iterdir())  # the files have no name, and are gone with the process


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="tells memory as Linux does")
def test_a_giant_component_is_held_in_little_memory():
    """12,000 kept members with 1,500 hashes each are 144 MB of sets, and 31 MB of buckets and lists."""
    walk = GreedyWalk(THRESHOLD, max_kept_per_band=4, room=Room(4 * MIB))
    before, most, kept = resident_mib(), 0.0, 0
    for start in range(0, 12_000, 500):
        decisions = walk.feed(strangers(start, 500))
        kept += int((~decisions.dropped).sum())
        most = max(most, resident_mib() - before)
    assert kept == 12_000
    assert most < 60


def strangers(start, count):
    """Documents of one component: all share a band, and no two a shingle."""
    random = np.random.default_rng(start)
    hashes = np.sort(random.integers(0, 1 << 63, (count, 1500), np.uint64), axis=1)
    bands = random.integers(1, 1 << 63, (count, 20), np.uint64)
    bands[:, 0] = 7
    none = np.zeros(count, bool)
    offsets = np.arange(count + 1, dtype=np.int64) * 1500
    return Rows(np.zeros(count, np.int64), np.arange(start, start + count), bands, hashes.ravel(), offsets, none, none)


def resident_mib():
    """Memory of this process, mapped files included."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / MIB
