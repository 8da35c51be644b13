"""A small finished work folder, made by hand through parts and commits: every table, every kind of fate, no Spark.

Two sources. Of `wiki`, one record could not be decoded. Of `web`, one document is in German, one repeats its lines, one
lost its coin, one is near `wiki`'s first and one equal to its second, one is split around a benchmark passage and one
falls to pieces. `mend` changes rows of a committed part as somebody would who also mends what vouches for it.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from xxhash import xxh3_128_digest

from curation import commits, storage
from curation.commits import Commit, Manifest
from curation.digests import value_digest
from curation.identity import Place, doc_key, pack
from curation.latest import Latest, write_latest
from curation.parts import Part, read_table, write_file, write_part
from curation.registry import InputFile, Registry, write_generation
from curation.shards import blend
from curation.shards.backends import Encoded
from curation.shards.sidecar import PairSidecar, Shards
from curation.shards.writer import PairWriter
from curation.shards_table import shard_name
from schemas.tables import TABLES

Row = dict[str, Any]

INPUTS = value_digest("the inputs")
RECIPE = value_digest("the recipe")
EOD = 256  # after the 256 byte values, which are this tokenizer's tokens

PASSAGE = "The lighthouse keeper climbed all two hundred steps every night before the storm came in from the west."
WIKI = (
    "A harbour is a sheltered body of water where ships, boats and barges can be moored. " * 3,
    "Anarchism is a political philosophy and movement that is sceptical of all justifications for authority. " * 3,
    "The Ångström is a unit of length equal to 10⁻¹⁰ m; it is used for the sizes of atoms and molecules. " * 3,
)
BEFORE = "Our walk began at the old pier, where the fog had not lifted, and led along the shingle to the point. " * 3
AFTER = " From there the path climbs through gorse; on clear days the islands can be seen as grey shapes. " * 3
WEB = (
    "Opening hours of the municipal library: Monday to Friday from nine to six, Saturday from ten to one. " * 3,
    "Der Hafen liegt im Norden der Stadt und ist seit dem Mittelalter für seine Fischhallen bekannt. " * 3,
    "Share this page\n" * 20,
    WIKI[0] + "Read more about harbours.",
    BEFORE + PASSAGE + AFTER,
    "cheap tickets best price book now call today limited offer do not miss it " * 4,
    WIKI[1],
    (PASSAGE + " ") * 12,
)
URLS = tuple(
    f"https://example.org/{name}" for name in ("library", "hafen", "share", "harbour", "walk", "ads", "a", "q")
)
QUARANTINED_RECORD = 2  # of wiki, so that its third document is record 3


@dataclass
class WorkFolder:
    """A work folder and what stands in it."""

    root: str
    manifests: dict[str, Manifest]
    wiki: list[int]
    web: list[int]
    quarantined: int

    def part(self, stage: str, table: str, number: int = 0) -> Part:
        """Return one committed part."""
        return self.manifests[stage].parts(table)[number]

    def url(self, path: str) -> str:
        """Return where a file of the folder stands."""
        return storage.join(self.root, path)

    def mend(self, stage: str, table: str, change: Callable[[list[Row]], list[Row]], number: int = 0) -> None:
        """Change the rows of one part, and the commit, the manifest and latest.json so that they agree with it."""
        old, manifest = self.part(stage, table, number), self.manifests[stage]
        rows = change(read_table(self.root, old).to_pylist())
        new = write_part(self.root, stage, table, "mended", _batches(table, rows), old.facts)
        storage.delete(self.url(old.file))
        done = []
        for commit in manifest.commits:
            parts = tuple(new if part == old else part for part in commit.parts)
            done.append(Commit(commit.stage, commit.item, commit.key, parts, commit.counts))
            storage.delete(self.url(commit.path))
            commits.put_commit(self.root, done[-1])
        storage.delete(self.url(manifest.path))
        mended = Manifest(stage, manifest.key, manifest.inputs, tuple(done), manifest.notes)
        self.manifests[stage] = commits.put_manifest(self.root, mended)
        write_latest(self.root, Latest(RECIPE, INPUTS, self.manifests))


def make_work_folder(root: str | Path) -> WorkFolder:
    """Write the folder and return it."""
    maker = _Maker(str(root))
    maker.register()
    for make in (maker.ingest, maker.signals, maker.quality, maker.filter, maker.dedup):
        make()
    for make in (maker.decontaminate, maker.assemble, maker.tokenize):
        make()
    write_latest(maker.root, Latest(RECIPE, INPUTS, maker.manifests))
    return WorkFolder(maker.root, maker.manifests, maker.wiki, maker.web, pack(Place(0, 0, QUARANTINED_RECORD)))


class _Maker:
    def __init__(self, root: str) -> None:
        self.root = root
        self.manifests: dict[str, Manifest] = {}
        self.wiki = [pack(Place(0, 0, record)) for record in (0, 1, 3)]
        self.web = [pack(Place(1, 1, record)) for record in range(len(WEB))]
        self.texts = dict(zip((*self.wiki, *self.web), (*WIKI, *WEB), strict=True))
        self.shards = {
            "wiki": {"shard": shard_name(0, 0, 0), "source": "wiki"},
            "web": {"shard": shard_name(1, 1, 0), "source": "web"},
        }

    def ids(self, source: str) -> list[int]:
        return self.wiki if source == "wiki" else self.web

    def register(self) -> None:
        files = (
            InputFile("wiki", "wiki/00.jsonl.gz", 1500, "sha256:" + "0" * 64, 0, 0),
            InputFile("web", "web/a.warc.gz", 9000, "sha256:" + "1" * 64, 1, 0),
        )
        write_generation(self.root, Registry(), Registry(files, {"wiki": 0, "web": 1}))

    def ingest(self) -> None:
        done = [self._ingest_commit("wiki", 0, [self._bad_unit()]), self._ingest_commit("web", 1, [])]
        self.finish("ingest", done, [], {"limits": {"max_document_mib": 16}})

    def _ingest_commit(self, source: str, file: int, bad: list[Row]) -> Commit:
        rows = [self._document(source, file, doc_id) for doc_id in self.ids(source)]
        ids = {"first_doc_id": rows[0]["doc_id"], "last_doc_id": rows[-1]["doc_id"]}
        facts = {**self.shards[source], "generation": 0, **ids, "text_bytes": sum(row["text_bytes"] for row in rows)}
        parts = [self.part("ingest", "documents", source, rows, facts)]
        if bad:
            parts.append(self.part("ingest", "quarantine", source, bad, {}))
        dropped = {"not_sampled": [4, 400]} if source == "web" else {}
        units = len(rows) + len(bad) + (4 if dropped else 0)
        size = sum(row["raw_bytes"] for row in rows) + sum(row["bytes"] for row in bad) + (400 if dropped else 0)
        uri = rows[0]["uri"]
        about = {"file": file, "uri": uri, "bytes": size + 90, "records": size, "skipped": {"framing": 90}}
        counts = {
            "in": {source: [units, size]},
            "drop": {source: dropped} if dropped else {},
            "quarantined": {source: len(bad)} if bad else {},
            "repaired": {},
            "files": [{**about, "damaged_regions": 0}],
        }
        return Commit("ingest", f"{file:08d}-{file:08d}", value_digest([source, file]), tuple(parts), counts)

    def _document(self, source: str, file: int, doc_id: int) -> Row:
        text, record = self.texts[doc_id].encode(), doc_id & 0x7FFFFFF
        uri = "wiki/00.jsonl.gz" if source == "wiki" else "web/a.warc.gz"
        return {
            "doc_id": doc_id,
            "doc_key": doc_key(source, uri, "", record),
            **self.shards[source],
            "text_bytes": len(text),
            "raw_bytes": len(text) + 100,
            "language_hint": "",
            "url": URLS[record] if source == "web" else None,
            "title": f"Article {record}" if source == "wiki" else None,
            "timestamp": None,
            "metadata": "{}",
            "uri": uri,
            "member": "",
            "offset": 500 * record,
            "text_digest": xxh3_128_digest(text),
            "damage": "",
            "text": text.decode(),
        }

    def _bad_unit(self) -> Row:
        place = {"source": "wiki", "file": 0, "record": QUARANTINED_RECORD, "uri": "wiki/00.jsonl.gz", "member": ""}
        error = {"stage": "ingest", "error": "decode", "detail": "invalid_utf8", "bytes": 321, "sha256": "ab" * 32}
        return {**place, "offset": 500 * QUARANTINED_RECORD, **error}

    def signals(self) -> None:
        numbers = dict.fromkeys(TABLES["signals"].names[6:], 0)
        languages = {self.web[1]: ("de", 970_000), self.web[2]: ("en", 930_000)}

        def row(doc_id: int) -> Row:
            text = self.texts[doc_id]
            language, share = languages.get(doc_id, ("en", 990_000))
            own = {"characters": len(text), "words": len(text.split()), "tokens_estimated": -(-len(text.encode()) // 4)}
            own |= {"lines": 1, "duplicate_line_ppm": 950_000 if doc_id == self.web[2] else 0}
            key = doc_key("any", "any", "", doc_id)
            head = {"doc_id": doc_id, "doc_key": key, "text_bytes": len(text.encode())}
            about = {
                "language": language,
                "language_ppm": share,
                "content_hash": xxh3_128_digest(text.lower().encode()),
            }
            return {**head, **about, **numbers, **own}

        self._per_shard("signals", "signals", row, ["ingest"])

    def quality(self) -> None:
        self._per_shard(
            "quality", "quality", lambda doc_id: {"doc_id": doc_id, "quality_ppm": 100_000 + doc_id % 7}, ["ingest"]
        )

    def _per_shard(self, stage: str, table: str, row: Callable[[int], Row], inputs: list[str]) -> None:
        done = []
        for source, facts in self.shards.items():
            part = self.part(stage, table, facts["shard"], [row(doc_id) for doc_id in self.ids(source)], facts)
            done.append(Commit(stage, facts["shard"], value_digest([stage, source]), (part,)))
        self.finish(stage, done, inputs, {})

    def filter(self) -> None:
        web = self.web
        rules = {"web": {"profile": {"language": {"keep": ["en"], "min_score": 0.5}, "pareto": {"alpha": 3.0}}}}
        self.judge(
            "filter",
            {
                web[1]: ("drop", "language", "de", None, None, None),
                web[2]: ("drop", "signal", "duplicate_line_ppm", 950_000, 300_000, None),
                web[5]: ("drop", "pareto", "coin_billionths", 871_000_000, 145_793_847, None),
            },
            {**self.texts},
            ["signals", "quality"],
            {"sources": rules, "seed": 1234},
        )
        self.left = {doc_id: text for doc_id, text in self.texts.items() if doc_id not in (web[1], web[2], web[5])}

    def dedup(self) -> None:
        web, wiki = self.web, self.wiki
        fates = {
            web[3]: ("drop", "near_duplicate", "", 913_043, 800_000, wiki[0]),
            web[6]: ("drop", "exact_duplicate", "", 1_000_000, 1_000_000, wiki[1]),
        }
        clusters = dict.fromkeys(self.left, 1) | {wiki[0]: 2, wiki[1]: 2}
        kept = {
            doc_id: ("keep", "", "cluster_size", size, None, None)
            for doc_id, size in clusters.items()
            if doc_id not in fates
        }
        order = {"order": [["wiki", "train"], ["web", "train"]], "threshold": 0.8}
        bands = {"bands": 20, "rows": 13, "removal": "greedy"}
        self.judge("dedup", kept | fates, self.left, ["filter"], order | bands)
        self.left = {doc_id: text for doc_id, text in self.left.items() if doc_id not in fates}

    def decontaminate(self) -> None:
        split, gone = self.web[4], self.web[7]
        fates = {
            split: ("split", "contaminated", "lambada", 2, 10, None),
            gone: ("drop", "too_short_after_cuts", "lambada", 1, 200, None),
        }
        start, end = len(BEFORE.encode()), len((BEFORE + PASSAGE).encode())
        cut = {"doc_id": split, "stage": "decontaminate", "reason": "contaminated", "task": "lambada"}
        cuts = [{**cut, "start": start, "end": end, "action": "remove"}]
        self.pieces = {split: [(0, start), (end, len(self.texts[split].encode()))]}
        rule = {"min_piece_characters": 200, "max_pieces": 10}
        self.judge("decontaminate", fates, self.left, ["dedup"], rule, {"web": cuts})
        self.left = {doc_id: text for doc_id, text in self.left.items() if doc_id != gone}

    def judge(
        self,
        stage: str,
        fates: dict[int, tuple[Any, ...]],
        received: dict[int, str],
        inputs: list[str],
        parameters: Row,
        cuts: dict[str, list[Row]] | None = None,
    ) -> None:
        parts = []
        for source, facts in self.shards.items():
            ids = [doc_id for doc_id in self.ids(source) if doc_id in received]
            rows = [
                self._verdict(stage, doc_id, fates.get(doc_id, ("keep", "", "", None, None, None))) for doc_id in ids
            ]
            parts.append(self.part(stage, "verdicts", facts["shard"], rows, facts))
            if cuts and source in cuts:
                parts.append(self.part(stage, "cuts", facts["shard"], cuts[source], facts))
        key = value_digest([stage])
        self.finish(stage, [Commit(stage, INPUTS[:16], key, tuple(parts), {"empty_shards": []})], inputs, parameters)

    def _verdict(self, stage: str, doc_id: int, fate: tuple[Any, ...]) -> Row:
        names = ("fate", "reason", "detail", "value", "threshold", "other")
        head = {"doc_id": doc_id, "text_bytes": len(self.texts[doc_id].encode()), "stage": stage}
        return {**head, **dict(zip(names, fate, strict=True))}

    def assemble(self) -> None:
        self.corpus: dict[str, list[Row]] = {"wiki": [], "web": []}
        for source in self.shards:
            for doc_id in self.ids(source):
                if doc_id in self.left:
                    self.corpus[source] += self._pieces(source, doc_id)
        done = []
        for source, facts in self.shards.items():
            part = self.part("assemble", "corpus", facts["shard"], self.corpus[source], facts)
            done.append(Commit("assemble", facts["shard"], value_digest(["assemble", source]), (part,)))
        self.finish("assemble", done, ["ingest", "decontaminate"], {})

    def _pieces(self, source: str, doc_id: int) -> list[Row]:
        text = self.texts[doc_id].encode()
        about = {
            "doc_id": doc_id,
            "doc_key": doc_id + 5,
            "source": source,
            "url": None,
            "title": None,
            "metadata": "{}",
        }
        about |= {"timestamp": None, "language": "en", "quality_ppm": 100_000, "cluster_size": 1}
        spans = self.pieces.get(doc_id, [(0, len(text))])
        return [
            {**about, "piece": piece, "text": text[start:end].decode(), "start": start, "end": end}
            for piece, (start, end) in enumerate(spans)
        ]

    def tokenize(self) -> None:
        key, folder = value_digest(["tokenize"]), "shards/0123456789abcdef"
        done = [self._pair_commit(source, key, folder) for source in self.shards]
        sidecars = [PairSidecar.model_validate(p.facts["sidecar"]) for c in done for p in c.table("bin")]
        head, entries = sidecars[0], tuple(sidecar.entry() for sidecar in sidecars)
        shards = Shards(tokenizer=head.tokenizer, dtype=head.dtype, eod=EOD, pairs=entries)
        plan = blend.plan({"wiki": 0.25, "web": 0.75}, entries, 10_000)
        arguments = json.dumps(blend.megatron_splits(plan)).encode()
        storage.replace(storage.join(self.root, folder, "megatron.json"), arguments)
        for name, paper in (("shards", shards), ("blend", plan), *((s.name, s) for s in sidecars)):
            data = json.dumps(paper.model_dump(mode="json")).encode()
            storage.replace(storage.join(self.root, folder, f"{name}.json"), data)
        self.finish("tokenize", done, ["assemble"], {"target_pair_mib": 1024}, {"shards": folder})

    def _pair_commit(self, source: str, key: str, folder: str) -> Commit:
        name, rows = f"{source}-train-00000", self.corpus[source]
        texts = [row["text"].encode() for row in rows]
        offsets = np.cumsum([0, *(len(text) for text in texts)], dtype=np.int64)
        streams = {"bin": BytesIO(), "idx": BytesIO()}
        writer = PairWriter(streams["bin"], streams["idx"], largest_id=EOD, eod=EOD)
        writer.write(Encoded(np.frombuffer(b"".join(texts), np.uint8).astype(np.uint32), offsets))
        counts = writer.finish()
        about = {"pair": name, "source": source, "split": "train"}
        sidecar = {
            **{field: getattr(counts, field) for field in ("sequences", "documents", "tokens", "bytes")},
            "sha256_bin": counts.sha256_bin,
            "sha256_idx": counts.sha256_idx,
            **{"name": name, "source": source, "split": "train", "dtype": writer.dtype.name, "eod": EOD},
            **{"tokenizer": sha256(b"bytes").hexdigest(), "vocabulary_size": 257, "largest_id": EOD, "recipe": RECIPE},
        }
        parts = [self._stored(table, name, stream, about, sidecar, folder) for table, stream in streams.items()]
        documents = [
            {"doc_id": row["doc_id"], "piece": row["piece"], "pair": name, "sequence": number, "tokens": len(text) + 1}
            for number, (row, text) in enumerate(zip(rows, texts, strict=True))
        ]
        facts = {**about, "text_bytes": int(offsets[-1])}
        parts.append(self.part("tokenize", "token_documents", name, documents, facts))
        return Commit("tokenize", f"{source}-00000", key, tuple(parts))

    def _stored(self, table: str, name: str, stream: BytesIO, about: Row, sidecar: Row, folder: str) -> Part:
        path = Path(self.root, f"{name}.{table}.made")
        path.write_bytes(stream.getvalue())
        facts = about | ({"sidecar": sidecar} if table == "bin" else {})
        part = write_file(self.root, "tokenize", table, name, path, facts)
        path.unlink()
        storage.copy(storage.join(self.root, part.file), storage.join(self.root, folder, f"{name}.{table}"))
        return part

    def part(self, stage: str, table: str, label: str, rows: list[Row], facts: Row) -> Part:
        return write_part(self.root, stage, table, label, _batches(table, rows), facts)

    def finish(
        self, stage: str, done: Sequence[Commit], inputs: Iterable[str], parameters: Row, notes: Row | None = None
    ) -> None:
        about = {"version": 1, "parameters": parameters, "libraries": {"pycld2": "0.42"}, "spark": {}}
        about["inputs"] = {name: self.manifests[name].key for name in inputs}
        for commit in done:
            commits.put_commit(self.root, commit)
        manifest = Manifest(stage, value_digest([stage]), INPUTS, tuple(done), about | (notes or {}))
        self.manifests[stage] = commits.put_manifest(self.root, manifest)


def _batches(table: str, rows: list[Row]) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = pa.Table.from_pylist(rows, schema=TABLES[table]).to_batches()
    return batches
