"""JSON lines and the Pile: what is a record, what is not, and that one bad line costs one line."""

import gzip
import json
import resource

import orjson
import pytest
from backports import zstd

from curation.limits import Limits
from curation.sources.options import ReaderOptions
from curation.sources.pile import canonical_set_name
from curation.sources.units import BadUnit, Record, Skipped


def line(**fields: object) -> bytes:
    return orjson.dumps(fields) + b"\n"


def test_fields_beside_the_text_become_facts_and_metadata(read_bytes, records) -> None:
    [record] = records(read_bytes("jsonl", line(text="a", url="u", title="t", publish_date="d", stars=3)))
    assert (record.content, record.url, record.title, record.timestamp) == ("a", "u", "t", "d")
    assert record.metadata == {"stars": 3}


def test_meta_is_flattened_and_collisions_keep_both(read_bytes, records) -> None:
    [record] = records(read_bytes("jsonl", line(text="a", lang="en", meta={"lang": "de", "id": 7})))
    assert record.metadata == {"lang": "en", "meta.lang": "de", "id": 7}


def test_meta_may_be_a_string_that_holds_an_object(read_bytes, records) -> None:
    [record] = records(read_bytes("pile", line(text="a", meta=json.dumps({"pile_set_name": "Bibliotik"}))))
    assert record.set_name == "Books3"


def test_meta_that_is_no_object_stays_as_it_is(read_bytes, records) -> None:
    [record] = records(read_bytes("jsonl", line(text="a", meta="{not json")))
    assert record.metadata == {"meta": "{not json"}


def test_text_may_be_a_list_of_paragraphs_or_the_whole_line(read_bytes, records) -> None:
    found = records(read_bytes("jsonl", line(text=["a", "b"]) + b'"bare"\n'))
    assert [record.content for record in found] == ["a\n\nb", "bare"]


def test_the_text_field_can_be_named(read_bytes, records) -> None:
    [record] = records(read_bytes("jsonl", line(content="a", text=3), options=ReaderOptions(text_field="content")))
    assert (record.content, record.metadata) == ("a", {"text": 3})


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b'{"text": "a"', ("parse", "json")),
        (b'{"text": 12}', ("parse", "text_type")),
        (b'{"text": null}', ("parse", "text_type")),
        (b'{"text": ["a", 1]}', ("parse", "text_type")),
        (b'{"body": "a"}', ("parse", "no_text")),
        (b"[1, 2]", ("parse", "not_an_object")),
        (b'{"text": "a", "n": NaN}', ("parse", "json_constant")),
        (b'{"text": "\xff"}', ("decode", "invalid_utf8")),
        (b"[" * 100_000, ("parse", "json_depth")),
        (b'{"text": "a"}{"text": "b"}', ("parse", "json")),
    ],
)
def test_a_malformed_line_costs_itself_only(read_bytes, records, bad, content, error) -> None:
    """AT-11."""
    events = read_bytes("jsonl", line(text="before") + content + b"\n" + line(text="after"))
    assert [record.content for record in records(events)] == ["before", "after"]
    assert bad(events) == [error]
    assert [record.ordinal for record in records(events)] == [0, 2]


def test_only_lf_ends_a_record(read_bytes, records) -> None:
    """AT-11."""
    text = "a\u2028b\u0085c\x0cd\x1ce\rf"
    data = json.dumps({"text": text}, ensure_ascii=False).replace("\\f", "\\f").encode()
    [record] = records(read_bytes("jsonl", data + b"\r\n"))
    assert record.content == text


def test_a_lone_surrogate_escape_does_not_cost_the_document(read_bytes, records) -> None:
    """AT-11."""
    [record] = records(read_bytes("jsonl", rb'{"text": "a\ud800b", "k\udc00": ["\ud83d\ude00"]}' + b"\n"))
    assert record.content == "a\ufffdb"
    assert record.metadata == {"k\ufffd": ["\U0001f600"]}


def test_blank_lines_and_a_byte_order_mark_are_no_records(read_bytes, records) -> None:
    events = read_bytes("jsonl", b"\xef\xbb\xbf" + line(text="a") + b"\n \r\n" + line(text="b"))
    assert [record.content for record in records(events)] == ["a", "b"]
    assert [event for event in events if isinstance(event, Skipped)] == [
        Skipped("blank_line", 1),
        Skipped("blank_line", 3),
    ]


def test_offsets_count_in_the_decompressed_stream(read_bytes, records) -> None:
    first, second = line(text="a"), line(text="bb")
    for data in (first + second, gzip.compress(first) + gzip.compress(second), zstd.compress(first + second)):
        found = records(read_bytes("jsonl", data))
        assert [(record.offset, record.raw_bytes) for record in found] == [
            (0, len(first)),
            (len(first), len(second)),
        ]


def test_a_file_cut_in_mid_line_says_so(read_bytes, bad) -> None:
    assert bad(read_bytes("jsonl", line(text="a") + b'{"text": "b')) == [("truncated", "last_line")]


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress])
def test_a_truncated_archive_keeps_what_came_before(read_bytes, records, bad, compress) -> None:
    data = b"".join(compress(line(text=f"document {number}" * 50)) for number in range(100))
    events = read_bytes("jsonl", data[:-20])
    assert len(records(events)) == 99
    assert bad(events) == [("truncated", "region")]


def test_records_after_a_lost_region_are_marked(read_bytes, records, bad) -> None:
    members = [gzip.compress(line(text=f"document {number}" * 50)) for number in range(3)]
    events = read_bytes("jsonl", members[0] + b"garbage!" * 9 + members[2])
    assert [record.damage for record in records(events)] == [None, "recovered"]
    assert bad(events) == [("truncated", "region")]


def test_a_line_of_64_mib_is_refused_without_being_held(read_bytes, records, bad) -> None:
    data = zstd.compress(b'{"text": "' + b"x" * (64 << 20) + b'"}\n' + line(text="after"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    events = read_bytes("jsonl", data, limits=Limits(max_expanded_ratio=1_000_000, max_document_mib=1))
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert bad(events) == [("too_large", "line")]
    assert [record.content for record in records(events)] == ["after"]
    assert grown_kib < 32 << 10


def test_the_digest_of_a_bad_line_is_that_of_its_bytes(read_bytes) -> None:
    from hashlib import sha256

    small = [event for event in read_bytes("jsonl", b"{bad\n") if isinstance(event, BadUnit)]
    assert small[0].sha256 == sha256(b"{bad\n").hexdigest()
    long = b"y" * (1 << 20) + b"yy\n"
    large = [event for event in read_bytes("jsonl", long, limits=Limits(max_document_mib=1)) if type(event) is BadUnit]
    assert large[0].sha256 == sha256(long).hexdigest()


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("Bibliotik", "Books3"),
        ("CommonCrawl", "Pile-CC"),
        ("BookCorpus", "BookCorpus2"),
        ("USPTO", "USPTO Backgrounds"),
        ("GitHub", "Github"),
        ("OpenWebText2", "OpenWebText2"),
        ("My own set", "My own set"),
    ],
)
def test_sets_go_by_their_names_in_the_release(alias: str, name: str) -> None:
    assert canonical_set_name(alias) == name


def test_real_archives_are_read_whole(read_bytes, records, bad, real_data) -> None:
    for path in [*real_data.glob("sources/**/*.jsonl"), *real_data.glob("quality/*.jsonl.gz")]:
        events = read_bytes("jsonl", path.read_bytes(), path.name)
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        expected = [json.loads(part) for part in raw.split(b"\n") if part.strip()]
        with_text = [item["text"] for item in expected if isinstance(item.get("text"), str)]
        assert [record.content for record in records(events)] == with_text, path.name
        assert len(bad(events)) == len(expected) - len(with_text), path.name


def test_records_are_frozen(read_bytes, records) -> None:
    [record] = records(read_bytes("jsonl", line(text="a")))
    assert isinstance(record, Record)
    with pytest.raises(AttributeError):
        record.ordinal = 4
