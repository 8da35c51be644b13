"""Parts: what is written is what is read, in bounded pieces, and a changed byte is not read as if it were data."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation import parts, storage
from curation.digests import TableDigest
from curation.errors import InfrastructureError, IntegrityError
from curation.parts import (
    GROUP_BYTES,
    HashingSink,
    Part,
    PartWriter,
    open_part,
    part_from_json,
    read_batches,
    read_table,
    write_file,
    write_part,
)
from schemas.tables import CUTS, QUALITY
from tests.tables import rows

CUT = {"stage": "decontaminate", "reason": "contaminated", "task": "lambada", "action": "remove"}


def cuts(rows: int) -> pa.RecordBatch:
    found = [{"doc_id": 7 * row, "start": row, "end": 2 * row, **CUT} for row in range(rows)]
    return pa.RecordBatch.from_pylist(found, schema=CUTS)


def samples(*sizes: int) -> pa.RecordBatch:
    texts = [f"{number}".ljust(size, "x") for number, size in enumerate(sizes)]
    return rows("sample", *({"doc_id": number, "label": "positive", "text": text} for number, text in enumerate(texts)))


def digest_of(batches) -> str:
    digest = TableDigest()
    for batch in batches:
        digest.add(batch)
    return digest.hex


def test_what_is_written_is_what_is_read(root):
    batch = cuts(50)
    part = write_part(root, "decontaminate", "cuts", "0000", [batch.slice(0, 20), batch.slice(20)], {"shard": "0000"})
    assert pa.Table.from_batches(read_batches(root, part)).equals(pa.Table.from_batches([batch]))
    assert read_table(root, part, ["end", "doc_id"]).column_names == ["end", "doc_id"]
    url = storage.join(root, part.file)
    assert (part.rows, part.bytes, part.sha256) == (50, storage.size(url), storage.sha256(url))
    assert (part.digest, part.facts) == (digest_of([batch]), {"shard": "0000"})


def test_a_part_comes_back_from_its_description(tmp_path):
    part = write_part(str(tmp_path), "decontaminate", "cuts", "0000", [cuts(1)], {"shard": "0000"})
    assert part_from_json(part.to_json()) == part


def test_a_part_without_rows_stands_and_says_so(root):
    part = write_part(root, "decontaminate", "cuts", "0000", [cuts(0)])
    assert (part.rows, part.digest) == (0, "0" * 32)
    assert list(read_batches(root, part)) == []
    assert read_table(root, part).schema.equals(CUTS)


def test_two_writers_of_one_label_never_share_a_name(tmp_path):
    written = [write_part(str(tmp_path), "decontaminate", "cuts", "0000", [cuts(1)]) for _ in range(2)]
    assert written[0].file != written[1].file
    assert written[0].sha256 == written[1].sha256


@pytest.mark.parametrize("batches", [[samples(*[1 << 20] * 40)], [samples(1 << 20) for _ in range(40)]])
def test_row_groups_are_bounded_whatever_the_batches(tmp_path, batches):
    part = write_part(str(tmp_path), "quality_model", "sample", "all", batches)
    with open_part(str(tmp_path), part) as file:
        sizes = [file.read_row_group(group).nbytes for group in range(file.num_row_groups)]
    assert max(sizes) <= GROUP_BYTES
    assert len(sizes) == 6


def test_a_document_larger_than_a_group_is_a_group(tmp_path):
    batch = samples(3 * GROUP_BYTES, 10)
    part = write_part(str(tmp_path), "quality_model", "sample", "all", [batch])
    assert digest_of(read_batches(str(tmp_path), part)) == part.digest


def test_batches_are_no_longer_than_asked_and_groups_can_be_chosen(tmp_path):
    part = write_part(str(tmp_path), "quality_model", "sample", "all", [samples(*[1 << 20] * 20)])
    second = [batch["doc_id"].to_pylist() for batch in read_batches(str(tmp_path), part, ["doc_id"], 3, groups=[1])]
    assert second == [[7, 8, 9], [10, 11, 12], [13]]


@pytest.mark.parametrize("fails_after_bytes", [0, 12 << 20])
def test_nothing_remains_of_a_part_that_failed(root, fails_after_bytes):
    with pytest.raises(ZeroDivisionError), PartWriter(root, "quality_model", "sample", "all") as writer:  # noqa: PT012
        writer.write(samples(1 + fails_after_bytes))
        raise ZeroDivisionError
    assert storage.list_names(storage.join(root, "quality_model/parts")) == []


def test_rows_that_do_not_fit_the_table_are_refused_and_nothing_remains(tmp_path):
    nulls = pa.RecordBatch.from_pydict({"doc_id": [None], "quality_ppm": [1]}, schema=QUALITY)
    for wrong in (nulls, cuts(1)):
        with pytest.raises((ValueError, pa.ArrowException)):
            write_part(str(tmp_path), "quality", "quality", "0000", [wrong])
    assert storage.list_names(f"{tmp_path}/quality/parts") == []


def test_every_page_has_a_checksum(tmp_path):
    part = write_part(str(tmp_path), "decontaminate", "cuts", "0000", [cuts(50)])
    with open(tmp_path / part.file, "rb") as file:
        footer_bytes = int.from_bytes(file.read()[-8:-4], "little")
    assert len(flips(str(tmp_path), part, range(part.bytes - footer_bytes - 8), 0xFF)) == 0


def flips(root: str, part: Part, positions, mask: int) -> list[int]:
    """Return the positions at which a flipped byte gives other rows than were committed."""
    path = Path(root, part.file)
    good = path.read_bytes()
    wrong = []
    for position in positions:
        path.write_bytes(good[:position] + bytes([good[position] ^ mask]) + good[position + 1 :])
        if not refused_or_right(root, part):
            wrong.append(position)
    path.write_bytes(good)
    return wrong


def refused_or_right(root: str, part: Part) -> bool:
    try:
        return digest_of(read_batches(root, part)) == part.digest
    except IntegrityError as error:
        return part.file in str(error)


@pytest.fixture(scope="module")
def standing(tmp_path_factory) -> tuple[str, Part, bytes]:
    root = str(tmp_path_factory.mktemp("flips"))
    part = write_part(root, "decontaminate", "cuts", "0000", [cuts(200)])
    return root, part, Path(root, part.file).read_bytes()


def column_data(part: Part, root: str) -> list[range]:
    """Return where the column chunks' pages lie, headers included."""
    metadata = pq.ParquetFile(Path(root, part.file)).metadata.row_group(0)
    chunks = [metadata.column(number) for number in range(metadata.num_columns)]
    starts = [chunk.dictionary_page_offset or chunk.data_page_offset for chunk in chunks]
    return [range(start, start + chunk.total_compressed_size) for start, chunk in zip(starts, chunks, strict=True)]


@given(st.integers(0), st.integers(1, 255))
@settings(max_examples=300)
def test_a_flipped_byte_is_refused_or_was_not_read(standing, at, mask):
    """Whatever byte changes, no reader gets other rows; what stays unnoticed (unused fields) is for the sha256."""
    root, part, good = standing
    assert not flips(root, part, [at % len(good)], mask)


@given(st.integers(0), st.integers(1, 255))
@settings(max_examples=100)
def test_a_flipped_byte_of_data_is_always_refused(standing, at, mask):
    """Each chunk ends with compressed data; its last eighth holds no header."""
    root, part, good = standing
    tails = [position for chunk in column_data(part, root) for position in chunk[-(len(chunk) // 8) :]]
    position = tails[at % len(tails)]
    Path(root, part.file).write_bytes(good[:position] + bytes([good[position] ^ mask]) + good[position + 1 :])
    try:
        with pytest.raises(IntegrityError, match="a committed file changed"):
            list(read_batches(root, part))
    finally:
        Path(root, part.file).write_bytes(good)


def test_a_missing_part_is_named(root):
    part = write_part(root, "decontaminate", "cuts", "0000", [cuts(1)])
    storage.delete(storage.join(root, part.file))
    with pytest.raises(IntegrityError, match=f"{part.file}: a committed file changed: it is missing"):
        read_table(root, part)


def test_another_good_file_in_the_place_of_a_part_is_refused(tmp_path):
    """AT-22: a table of another version is never half read."""
    root = str(tmp_path)
    part, fewer = (write_part(root, "decontaminate", "cuts", "0000", [cuts(rows)]) for rows in (3, 2))
    other = write_part(root, "quality_model", "sample", "0000", [samples(1, 1, 1)])
    for stranger, problem in (
        (fewer, "it holds 2 rows, committed were 3"),
        (other, "its columns are not those of cuts"),
    ):
        Path(root, part.file).write_bytes(Path(root, stranger.file).read_bytes())
        with pytest.raises(IntegrityError, match=problem):
            read_table(root, part)


def test_a_store_that_fails_is_not_taken_for_damage(tmp_path, monkeypatch):
    part = write_part(str(tmp_path), "decontaminate", "cuts", "0000", [cuts(1)])

    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(parts.pq, "ParquetFile", fail)
    with pytest.raises(InfrastructureError, match="the store failed"):
        read_table(str(tmp_path), part)


def test_a_file_that_is_no_table_is_stored_with_its_digest(root, tmp_path):
    (tmp_path / "model.bin").write_bytes(b"weights")
    part = write_file(root, "quality_model", "model", "model", tmp_path / "model.bin", {"labels": 2})
    assert storage.read_bytes(storage.join(root, part.file)) == b"weights"
    assert (part.rows, part.bytes, part.digest) == (0, 7, part.sha256[:32])
    assert part.sha256 == storage.sha256(storage.join(root, part.file))


def test_a_sink_knows_what_went_through_it(tmp_path):
    with open(tmp_path / "a", "wb") as file:
        sink = HashingSink(file)
        assert sink.write(memoryview(b"abc")) == 3
        sink.close()
        assert (sink.tell(), sink.closed, file.closed, sink.writable(), sink.readable()) == (
            3,
            True,
            False,
            True,
            False,
        )
    assert (tmp_path / "a").read_bytes() == b"abc"
