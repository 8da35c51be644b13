"""Every table of the project, field by field: type, description and an example.

A reader that knows this file can read any committed part. Ratios are parts per million (`_ppm`), so that
numbers which decide are integers. Offsets are half-open UTF-8 byte offsets into `documents.text`.
"""

import json
from typing import Any

import pyarrow as pa


def field(name: str, kind: pa.DataType, description: str, example: Any, nullable: bool = False) -> pa.Field:
    """Return a field that carries its own documentation in its metadata."""
    notes = {"description": description, "example": json.dumps(example)}
    return pa.field(name, kind, nullable=nullable, metadata=notes)


_text = pa.large_string()

DOC_ID = field("doc_id", pa.int64(), "join key: source (12 bits), file (24), record (27)", 2251799813685253)
_DOC_KEY = field("doc_key", pa.uint64(), "64-bit hash of (source, path, member, record); decides coins and ties", 77)
_SOURCE = field("source", pa.string(), "name of the source in the recipe", "wikipedia")
_SHARD = field("shard", pa.string(), "source number, first file number and ordinal of the shard", "0003-0000017-0000")
_TEXT_BYTES = field("text_bytes", pa.int64(), "UTF-8 bytes of the whole document", 3120)
_URI = field("uri", pa.string(), "path of the input file, relative to the input root", "wiki/00.jsonl.zst")
_MEMBER = field("member", pa.string(), "member inside an archive, empty elsewhere", "books/a.txt")
_OFFSET = field(
    "offset",
    pa.int64(),
    "where the record begins: in the file if each record is its own compressed member, else in the decompressed stream",
    18230,
)
_STAGE = field("stage", pa.string(), "stage that wrote the row", "dedup")
_START = field("start", pa.int64(), "first byte, inclusive", 120)
_END = field("end", pa.int64(), "last byte, exclusive", 410)

REGISTRY = pa.schema(
    [
        field("group", pa.string(), "source or container the file belongs to", "pile"),
        _URI,
        field("bytes", pa.int64(), "size of the file", 1048576),
        field("fingerprint", pa.string(), "sha256 of a local file, etag of a remote one", "sha256:9f2c"),
        field("file", pa.int64(), "number of the file, unique in the work folder", 17),
        field("generation", pa.int64(), "which planning of new files registered it, from 0", 0),
    ]
)

SHARDS = pa.schema(
    [
        _SHARD,
        _SOURCE,
        field("first_doc_id", pa.int64(), "smallest doc_id in the shard", 2251799813685248),
        field("last_doc_id", pa.int64(), "largest doc_id in the shard", 2251799813689991),
        field("documents", pa.int64(), "rows of its documents part", 4744),
        _TEXT_BYTES,
    ]
)

DOCUMENTS = pa.schema(
    [
        DOC_ID,
        _DOC_KEY,
        _SOURCE,
        _SHARD,
        _TEXT_BYTES,
        field("raw_bytes", pa.int64(), "bytes of the record in its container", 4010),
        field("language_hint", pa.string(), "language of the markup before extraction, empty if not asked", "en"),
        field("url", pa.string(), "address the document came from", "https://example.org/a", nullable=True),
        field("title", pa.string(), "title, where the format has one", "Anarchism", nullable=True),
        field(
            "timestamp", pa.string(), "when it was made or fetched, as the format says it", "2020-11-29T01:02:03Z", True
        ),
        field("metadata", _text, "everything else the record carried, as JSON with sorted keys", '{"stars": 120}'),
        _URI,
        _MEMBER,
        _OFFSET,
        field("text_digest", pa.binary(16), "xxh3_128 of the text's UTF-8 bytes", "8f14e45fceea167a5a36dedd4bea2543"),
        field("damage", pa.string(), "what was wrong with the record's surroundings, empty if nothing", "truncated"),
        field("text", _text, "the text, extracted, repaired and cleaned", "Anarchism is a political philosophy …"),
    ]
)

QUARANTINE = pa.schema(
    [
        _SOURCE,
        field("file", pa.int64(), "registry number of the input file", 17),
        field("record", pa.int64(), "ordinal of the unit among the units of its file", 5),
        _URI,
        _MEMBER,
        _OFFSET,
        _STAGE,
        field("error", pa.string(), "class of error: one of the quarantine reasons", "decode"),
        field("detail", pa.string(), "short code of what was wrong, without content", "invalid_utf8"),
        field("bytes", pa.int64(), "raw bytes of the unit", 812),
        field("sha256", pa.string(), "sha256 of the raw bytes, hex", "9f2c…"),
    ]
)


def _ppm(name: str, description: str, example: int) -> pa.Field:
    return field(name, pa.int32(), description + ", parts per million", example)


def _count(name: str, description: str, example: int) -> pa.Field:
    return field(name, pa.int32(), description, example)


# Word, letter, line, whitespace and ellipsis are defined in `curation.text.signals`. "Gopher" is Rae et al. 2021,
# A.1.1; a ratio over nothing is 0, is rounded half up, and stops at the largest int32.
SIGNAL_FIELDS = [
    field("characters", pa.int64(), "code points", 3100),
    field("words", pa.int64(), "runs of code points that are not whitespace", 520),
    field("tokens_estimated", pa.int64(), "UTF-8 bytes divided by 4, rounded up", 780),
    field("lines", pa.int32(), "lines that are not blank", 40),
    _count("paragraphs", "paragraphs: lines without a blank line between them", 12),
    _count("sentences", "words that end in . ? or !, closing quotation marks and brackets aside (C4: at least 5)", 31),
    field("mean_word_length_milli", pa.int32(), "code points in words per 1000 words (Gopher)", 4712),
    _count("longest_word", "code points of the longest word (C4: at most 1000)", 17),
    _ppm("symbol_word_ppm", "hash signs or ellipses, whichever are more, per word (Gopher: either above 0.1)", 1200),
    _ppm("bullet_line_ppm", "lines that begin with one of • ‣ ◦ ▪ ● ■ - – * per line that is not blank (Gopher)", 0),
    _ppm("ellipsis_line_ppm", "lines that end with … or ... per line that is not blank (Gopher)", 25000),
    _ppm("alphabetic_word_ppm", "words with at least one letter per word (Gopher)", 940000),
    field(
        "stop_words",
        pa.int32(),
        "how many of the, be, to, of, and, that, have, with occur (Gopher): in any case, each word being compared "
        "from its first letter to its last",
        7,
    ),
    _ppm("duplicate_line_ppm", "lines equal to an earlier line per line that is not blank (Gopher)", 0),
    _ppm(
        "duplicate_line_character_ppm",
        "code points of lines equal to an earlier line per code point of lines that are not blank, both without the "
        "whitespace at a line's ends (Gopher)",
        0,
    ),
    _ppm("duplicate_paragraph_ppm", "paragraphs equal to an earlier one per paragraph (Gopher)", 0),
    _ppm(
        "duplicate_paragraph_character_ppm",
        "code points of paragraphs equal to an earlier one per code point of all paragraphs, both counted line by line "
        "without the whitespace at a line's ends (Gopher)",
        0,
    ),
    *(
        _ppm(
            f"top_{length}_gram_ppm",
            f"code points of the most frequent run of {length} words with single spaces, times its occurrences, per "
            "code point of the text; of several the first one; 0 if none occurs twice (Gopher)",
            9000,
        )
        for length in (2, 3, 4)
    ),
    *(
        _ppm(
            f"duplicate_{length}_gram_ppm",
            f"code points of the words of runs of {length} words that occurred before, none counted twice, per code "
            "point of the text (Gopher)",
            0,
        )
        for length in (5, 6, 7, 8, 9, 10)
    ),
    _ppm(
        "terminal_line_ppm", "lines that end in a mark such as . ? ! or a quotation mark per line (C4, FineWeb)", 610000
    ),
    _ppm("short_line_ppm", "lines of at most 30 code points per line (FineWeb: at most 0.67)", 150000),
    _ppm("few_word_line_ppm", "lines of fewer than 3 words per line (C4 drops such lines)", 90000),
    _ppm("line_break_word_ppm", "line ends, blank lines' too, per word (FineWeb: at most 0.3)", 110000),
    _count("curly_brackets", "{ and } (C4: none)", 0),
    _count("javascript_mentions", "how often javascript occurs, in any case (C4 drops such lines)", 0),
    _count("policy_mentions", "how often C4's six phrases about cookies, terms and privacy occur, in any case", 0),
    _count("lorem_ipsum_mentions", "how often lorem ipsum occurs, in any case (C4: never)", 0),
    _ppm(
        "compressed_ppm", "bytes after replacing repeats as LZ4 does per byte: low where a text repeats itself", 620000
    ),
    _count("links", "addresses that begin with http://, https:// or the prefix www", 2),
    _ppm("link_byte_ppm", "bytes of links per byte", 15000),
    _count("emails", "e-mail addresses by shape", 0),
    _count("ip_addresses", "IPv4 and IPv6 addresses by shape, no digit, letter or dot touching", 0),
    _count("phone_numbers", "phone numbers by shape, with + or in groups", 0),
    _count("keys", "access keys with a published prefix, and private keys", 0),
    _ppm("digit_ppm", "code points that are ASCII digits per code point", 21000),
]

SIGNALS = pa.schema(
    [
        DOC_ID,
        _DOC_KEY,
        _TEXT_BYTES,
        field("language", pa.string(), "ISO 639 code of the text's main language, und if unknown", "en"),
        _ppm("language_ppm", "share of the text in that language (cld2) or its probability (fasttext)", 990000),
        field(
            "content_hash",
            pa.binary(16),
            "xxh3_128 of the lower-cased text with whitespace collapsed",
            "8f14e45fceea167a5a36dedd4bea2543",
        ),
        field("tokens_exact", pa.int64(), "tokens by the recipe's tokenizer; null where not asked", 803, nullable=True),
        *SIGNAL_FIELDS,
    ]
)

QUALITY = pa.schema(
    [DOC_ID, field("quality_ppm", pa.int32(), "probability of the positive label, parts per million", 713220)]
)

SIGNATURES = pa.schema(
    [
        DOC_ID,
        field("shingles", pa.int32(), "shingles with repeats; 0 keeps the document out of every bucket", 437),
        field("bands", pa.large_binary(), "one 8-byte key per band, little-endian", "base64 of 160 bytes"),
    ]
)

MATCHES = pa.schema(
    [
        DOC_ID,
        field("ngram", pa.uint64(), "hash of the benchmark n-gram's words", 123456789),
        field("words", pa.int32(), "words of the n-gram", 13),
        _START,
        _END,
        field("cut_start", pa.int64(), "first byte that a cut for this hit removes", 0),
        field("cut_end", pa.int64(), "byte after the last one that a cut for this hit removes", 700),
        field("cut_start_character", pa.int64(), "code points before cut_start", 0),
        field("cut_end_character", pa.int64(), "code points before cut_end", 690),
    ]
)

VERDICTS = pa.schema(
    [
        DOC_ID,
        _TEXT_BYTES,
        _STAGE,
        field("fate", pa.string(), "keep, drop, split or quarantine", "drop"),
        field("reason", pa.string(), "one of the closed list; empty where the document is kept", "near_duplicate"),
        field("detail", pa.string(), "what the reason is about, e.g. the signal's name", "duplicate_line_ppm"),
        field(
            "value", pa.int64(), "the number behind the verdict, in the unit of its threshold", 873512, nullable=True
        ),
        field("threshold", pa.int64(), "what the value was compared with", 800000, nullable=True),
        field("other", pa.int64(), "doc_id of the kept document a duplicate names", 2251799813685299, nullable=True),
    ]
)

PAIRS = pa.schema(
    [
        DOC_ID,
        field("other", pa.int64(), "the document of lower rank it was compared with", 2251799813685299),
        _ppm("jaccard_ppm", "exact Jaccard similarity of the shingle sets, rounded down", 873512),
        field("accepted", pa.bool_(), "whether the similarity reaches the threshold", True),
    ]
)

CUTS = pa.schema(
    [
        DOC_ID,
        _STAGE,
        field("reason", pa.string(), "why these bytes go", "contaminated"),
        field("task", pa.string(), "benchmark task the first hit of the cut belongs to", "lambada"),
        _START,
        _END,
        field("action", pa.string(), "what assemble does with the bytes: remove", "remove"),
    ]
)

HISTOGRAMS = pa.schema(
    [
        _SOURCE,
        field("column", pa.string(), "column of signals or quality that is counted, or language", "digit_ppm"),
        field("code", pa.string(), "ISO 639 code where the column is language, else empty", ""),
        field("first", pa.int64(), "first number of the bin", 25_000),
        field(
            "behind", pa.int64(), "number behind the bin's last one; null: the bin has no end", 50_000, nullable=True
        ),
        field("documents", pa.int64(), "documents of the source in the bin that the filter received", 40_112),
        field("kept", pa.int64(), "how many of them the filter kept", 39_870),
        field("text_bytes", pa.int64(), "bytes of their text", 131_072_000),
        field("minimum", pa.int64(), "the profile's least number that passes, if it has one", 20_000, nullable=True),
        field("maximum", pa.int64(), "the profile's largest number that passes, if it has one", 150_000, nullable=True),
    ]
)

CORPUS = pa.schema(
    [
        DOC_ID,
        _DOC_KEY,
        field("piece", pa.int32(), "ordinal of the piece, 0 for an uncut document", 0),
        _SOURCE,
        field("text", _text, "the text of the document or piece", "Anarchism is a political philosophy …"),
        field("url", pa.string(), "address the document came from", "https://example.org/a", nullable=True),
        field("title", pa.string(), "title, where the format has one", "Anarchism", nullable=True),
        field(
            "timestamp", pa.string(), "when it was made or fetched, as the format says it", "2020-11-29", nullable=True
        ),
        field("language", pa.string(), "ISO 639 code of the text's main language", "en"),
        field("quality_ppm", pa.int32(), "classifier score, null where no classifier ran", 713220, nullable=True),
        _START,
        _END,
        field("cluster_size", pa.int64(), "documents of its generation that it stands for, itself included", 1),
        field("metadata", _text, "everything else the record carried, as JSON", "{}"),
    ]
)

TOKEN_DOCUMENTS = pa.schema(
    [
        DOC_ID,
        field("piece", pa.int32(), "ordinal of the piece", 0),
        field("pair", pa.string(), "name of the .bin/.idx pair", "wikipedia-train-00000"),
        field("sequence", pa.int64(), "index of the sequence in the pair", 412),
        field("tokens", pa.int64(), "tokens of the sequence, end-of-document included", 803),
    ]
)

LAYOUT = ("lines", "line_break_word_ppm", "short_line_ppm", "terminal_line_ppm", "few_word_line_ppm", "bullet_line_ppm")

SAMPLE = pa.schema(
    [
        DOC_ID,
        field("label", pa.string(), "positive or negative", "positive"),
        field("held_out", pa.bool_(), "whether the document tests the classifier instead of training it", False),
        field("origin_held_out", pa.bool_(), "whether its origin tests the second model of the card", False),
        *(_count(name, f"{name} of the text before it was normalised, for the card's control", 12) for name in LAYOUT),
        field("text", _text, "normalised text the classifier sees", "anarchism is a political philosophy …"),
    ]
)

TABLES: dict[str, pa.Schema] = {
    "registry": REGISTRY,
    "shards": SHARDS,
    "documents": DOCUMENTS,
    "quarantine": QUARANTINE,
    "signals": SIGNALS,
    "quality": QUALITY,
    "signatures": SIGNATURES,
    "matches": MATCHES,
    "verdicts": VERDICTS,
    "histograms": HISTOGRAMS,
    "pairs": PAIRS,
    "cuts": CUTS,
    "corpus": CORPUS,
    "token_documents": TOKEN_DOCUMENTS,
    "sample": SAMPLE,
}
