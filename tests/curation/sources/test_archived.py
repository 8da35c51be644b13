"""JSON lines and texts inside archives: OpenWebText2, lm_dataformat, RealNews, CC-Stories."""

import orjson
from backports import zstd
from built_files import tar_of, zip_of

from curation.sources.options import ReaderOptions

FRAMES = [zstd.compress(orjson.dumps({"text": f"{n}", "meta": {"url": f"http://a/{n}"}}) + b"\n") for n in range(5)]


def test_every_frame_of_every_member_is_read(read_bytes, records) -> None:
    name = "data_{}_time1582_default.jsonl.zst"
    data = tar_of((name.format(0), b"".join(FRAMES)), ("notes.md", b"#"), (name.format(1), b"".join(FRAMES)))
    found = records(read_bytes("archive", data))
    assert [record.content for record in found] == ["0", "1", "2", "3", "4"] * 2
    assert [record.ordinal for record in found] == list(range(10))
    assert found[5].member == name.format(1)


def test_a_member_cut_short_keeps_its_whole_records(read_bytes, records, bad) -> None:
    data = tar_of(("a.jsonl.zst", b"".join(FRAMES)))
    events = read_bytes("archive", data[: 512 + sum(map(len, FRAMES[:3])) + 9])
    assert len(records(events)) == 3
    assert {error for error, _ in bad(events)} == {"truncated"}


def test_a_text_that_breaks_off_is_no_document(read_bytes, records, bad) -> None:
    data = tar_of(("a.txt", b"whole"), ("b.txt", b"a story without its end" * 90))
    events = read_bytes("texts", data[:2000])
    assert [record.member for record in records(events)] == ["a.txt"]
    assert bad(events)[0] == ("truncated", "member")


def test_processed_stack_exchange_is_texts_and_json_lines_in_zips(read_bytes, records) -> None:
    data = zip_of(("3dprinting_0000000001.txt", b"Q:\n\nWhy?\n\nA:\n\nSo."), ("data_0.jsonl.zst", FRAMES[0]))
    assert [record.content for record in records(read_bytes("texts", data))] == [b"Q:\n\nWhy?\n\nA:\n\nSo.", "0"]


def test_realnews_dates_stand_in_one_form(read_bytes, records) -> None:
    article = {"text": "News.", "title": "T", "summary": None, "publish_date": "04-29-2019", "split": "train"}
    lines = orjson.dumps(article) + b"\n"
    for data in (lines, tar_of(("realnews/realnews.jsonl", lines))):
        [record] = records(read_bytes("realnews", data))
        assert (record.timestamp, record.metadata) == ("2019-04-29", {"split": "train"})


def test_real_news_is_read_whole(read_bytes, records, real_data) -> None:
    for path in sorted(real_data.glob("sources/realnews/*.jsonl")):
        data = path.read_bytes()
        assert len(records(read_bytes("realnews", data))) == len(data.strip().split(b"\n"))


def test_stories_end_at_blank_lines_or_with_their_file(read_bytes, records) -> None:
    data = b"One .\nTwo .\n\n\nThree .\n"
    assert [record.content for record in records(read_bytes("cc_stories", data))] == [b"One .\nTwo .", b"Three ."]
    whole = records(read_bytes("cc_stories", data, options=ReaderOptions(document_boundary="file")))
    assert [record.content for record in whole] == [data]
    assert len(records(read_bytes("cc_stories", tar_of(("stories/0.txt", data), ("stories/1.txt", data))))) == 4
