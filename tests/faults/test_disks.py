"""A disk that is full and a place that cannot be written: nothing half done stands, and the message says what to do."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Finished, digests, run
from corpus import write_corpus, write_recipe
from suffering import Fault, sufferer

from curation import storage
from curation.errors import InfrastructureError
from curation.parts import write_part
from tests.tables import rows


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Lend a file system of 256 KiB; skip where one cannot be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", place], check=False).returncode:
        pytest.skip("needs the right to mount")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_a_part_that_does_not_fit_leaves_nothing_and_names_itself(small_disk: Path) -> None:
    """AT-05."""
    batch = rows("documents", *({"doc_id": n, "text": os.urandom(600).hex()} for n in range(1_000)))
    with pytest.raises(InfrastructureError, match=r"/ingest/parts/.*the disk is full after [\d,]+ bytes.*curate clean"):
        write_part(str(small_disk), "ingest", "documents", "0000", [batch])
    assert not list(small_disk.glob("ingest/parts/*"))


def test_a_run_on_a_full_disk_keeps_what_is_committed_and_goes_on(
    finished: Finished, small_disk: Path, tmp_path: Path
) -> None:
    """AT-05: the corpus does not fit; with room, the same command ends as an undisturbed run."""
    write_corpus(tmp_path)
    recipe, work = write_recipe(tmp_path), small_disk / "work"
    with pytest.raises(InfrastructureError, match="the disk is full"):
        run(recipe, work)
    assert not list(work.glob("tokenize/manifests/*"))
    assert not list(work.glob("*/parts/*.part"))
    before = {path: path.read_bytes() for path in work.glob("*/commits/*")}
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    assert digests(run(recipe, work)) == digests(finished.latest)
    assert all(path.read_bytes() == data for path, data in before.items())


def test_a_disk_that_is_full_for_a_moment_costs_one_attempt(finished: Finished, tmp_path: Path) -> None:
    victim = sufferer(tmp_path)
    ended = victim.run(Fault("assemble", "write", "full"))
    assert ended.returncode == 0, ended.stderr
    victim.assert_whole(finished)


def test_a_place_that_cannot_be_written_is_named(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(InfrastructureError, match="mounted read-only; give --work another place"):
        storage.put_if_absent(storage.join(str(small_disk), "ingest/commits/a.json"), b"{}")
    with pytest.raises(InfrastructureError, match="mounted read-only"):
        write_part(str(small_disk), "ingest", "documents", "0000", [rows("documents", {"doc_id": 1})])
