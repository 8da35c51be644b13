"""What became of one document, and why: every stage it met, with the numbers that decided, to the tokens it became.

Each step is a committed row, and says in which manifest it stands. Only marks are looked for anew:
signals count them, and their offsets follow from the text as ingest committed it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from curation.errors import IntegrityError, RecipeError
from curation.identity import unpack
from curation.ledger import JUDGES
from curation.lookup import Folder, Row, candidates, open_folder, quarantined, rows_of
from curation.parts import Part
from curation.reasons import Drop, Fate
from curation.shards_table import Shard

_ABOUT = ("doc_id", "source", "text_bytes", "raw_bytes", "url", "title", "uri", "member", "offset", "damage")
_SIMILARITIES = {Drop.EXACT_DUPLICATE, Drop.NEAR_DUPLICATE, Drop.REFERENCE_DUPLICATE}
_REACHED = {*_SIMILARITIES, Drop.PARETO}  # these apply from the threshold on, others beyond it


@dataclass(frozen=True)
class Step:
    """What one stage did with the document. `more` holds what only some stages know."""

    stage: str
    fate: str
    manifest: str
    reason: str | None = None
    detail: str | None = None
    value: int | None = None
    threshold: int | None = None
    other: int | None = None
    offsets: tuple[tuple[int, int], ...] = ()
    more: Row = field(default_factory=dict)


@dataclass(frozen=True)
class Explanation:
    """A unit's whole story. `doc_id` is None for a unit that belongs to no source; `shard` for one without a row."""

    doc_id: int | None
    locator: str
    about: Row
    steps: tuple[Step, ...]
    shard: Shard | None = None

    def to_json(self) -> list[Row]:
        """Return one object per step, in stage order, as the command line prints it."""
        place = {name: self.about[name] for name in ("uri", "member", "offset")}
        return [
            {
                "stage": step.stage,
                "fate": step.fate,
                "reason": step.reason,
                "detail": step.detail,
                "value": step.value,
                "threshold": step.threshold,
                "other": step.other,
                "offsets": [list(span) for span in step.offsets],
                **place,
                "manifest": step.manifest,
                "doc_id": self.doc_id,
                "locator": self.locator,
                **step.more,
            }
            for step in self.steps
        ]


def explain(root: str, name: str) -> list[Explanation]:
    """Return the story of every unit that a doc_id, SOURCE:PATH:RECORD or URL means, in order of doc_id.

    Raises:
        RecipeError: there is no such document, or no finished run in the folder.
        IntegrityError: a committed file is missing or changed.
    """
    folder = open_folder(root)
    ids = candidates(folder, name)
    found = [one for doc_id in ids if (one := story(folder, doc_id)) is not None]
    if not found:
        found = _unusable(folder, ids)
    if not found:
        raise RecipeError(_absent(folder, name, ids[0]))
    return found


def text_of(root: str, story: Explanation) -> str | None:
    """Return the text as ingest committed it, None for a unit that never became a document."""
    if story.shard is None or story.doc_id is None:
        return None
    return str(rows_of(root, story.shard.part, story.doc_id, ["text"])[0]["text"])


def marks_of(text: str | None) -> list[Row]:
    """Return the links, addresses, phone numbers and keys of a text by shape: kind, start and end, bytes of UTF-8."""
    from curation.text.marks import find  # loads the compiler, which other commands need not wait for

    return find(text).to_pylist() if text else []


def evidence(step: Step) -> str:
    """Return a step's numbers in their units, value beside threshold: `duplicate_line 95.00 % > 30.00 %`."""
    if step.value is None:
        return step.detail or ""
    if step.detail == "cluster_size":
        return "no duplicate" if step.value == 1 else f"stands for {step.value:,} documents"
    if step.stage == "decontaminate":
        pieces = step.fate == Fate.SPLIT or step.reason == Drop.TOO_MANY_PIECES
        what = f"{step.value} pieces, at most {step.threshold}"
        left = f"longest piece left has {step.value:,} characters, needs more than {step.threshold:,}"
        return f"{step.detail}: {what if pieces else left}"
    name, scale, unit = _unit(step)
    value = _number(step.value, scale, unit)
    if step.threshold is None:
        return f"{name} {value}".strip()
    sign = "<" if step.value < step.threshold else "≥" if step.reason in _REACHED else ">"
    limit = "chance to stay " if step.reason == Drop.PARETO else ""
    return f"{name} {value} {sign} {limit}{_number(step.threshold, scale, unit)}".strip()


def story(folder: Folder, doc_id: int) -> Explanation | None:
    """Return the story of one document of an opened folder, None if there is no such row."""
    shard = folder.shard_of(doc_id)
    rows = rows_of(folder.root, shard.part, doc_id, _ABOUT) if shard is not None else []
    if shard is None or not rows:
        return None
    return Explanation(doc_id, folder.locator(doc_id), rows[0], tuple(_steps(folder, shard, rows[0])), shard)


def _steps(folder: Folder, shard: Shard, about: Row) -> Iterator[Step]:
    """Yield the steps of a document as far as it came."""
    damage = about["damage"] or None
    yield Step("ingest", Fate.KEEP, folder.manifests["ingest"].path, detail=damage)
    measured = _measured(folder, shard, about["doc_id"])
    last = Fate.KEEP.value
    for stage in [stage for stage in folder.manifests if stage in JUDGES]:
        step = _verdict(folder, stage, shard, about["doc_id"], measured)
        yield step
        last = step.fate
        if last not in (Fate.KEEP, Fate.SPLIT):
            return
    if "assemble" in folder.manifests:
        yield _assembled(folder, shard, about)
    if "tokenize" in folder.manifests:
        yield _tokenized(folder, shard, about["doc_id"], last)


def _verdict(folder: Folder, stage: str, shard: Shard, doc_id: int, measured: Row) -> Step:
    manifest = folder.manifests[stage]
    part = _part_of(manifest.parts("verdicts"), shard)
    rows = rows_of(folder.root, part, doc_id) if part is not None else []
    if not rows:
        raise IntegrityError(
            f"{manifest.path}: no verdict on document {doc_id}, which reached {stage}: `curate verify`"
        )
    row = rows[0]
    more: Row = {"measured": measured} if stage == "filter" else {}
    if row["other"] is not None:
        more["other_locator"] = folder.locator(row["other"])
    cut_part = _part_of(manifest.parts("cuts"), shard)
    cuts = rows_of(folder.root, cut_part, doc_id) if cut_part is not None else []
    if cuts:
        more["cuts"] = [{name: cut[name] for name in ("start", "end", "reason", "task", "action")} for cut in cuts]
    return Step(
        stage,
        row["fate"],
        manifest.path,
        row["reason"] or None,
        row["detail"] or None,
        row["value"],
        row["threshold"],
        row["other"],
        tuple((cut["start"], cut["end"]) for cut in cuts),
        more,
    )


def _assembled(folder: Folder, shard: Shard, about: Row) -> Step:
    manifest = folder.manifests["assemble"]
    part = _part_of(manifest.parts("corpus"), shard)
    rows = rows_of(folder.root, part, about["doc_id"], ["piece", "start", "end"]) if part is not None else []
    spans = tuple((row["start"], row["end"]) for row in rows)
    fate = Fate.KEEP if spans == ((0, about["text_bytes"]),) else Fate.SPLIT
    return Step("assemble", fate, manifest.path, offsets=spans, more={"pieces": len(spans)})


def _tokenized(folder: Folder, shard: Shard, doc_id: int, fate: str) -> Step:
    manifest = folder.manifests["tokenize"]
    parts = [part for part in manifest.parts("token_documents") if part.facts["source"] == shard.source]
    rows = [row for part in parts for row in rows_of(folder.root, part, doc_id)]
    names = ("piece", "pair", "sequence", "tokens")
    sequences = [{name: row[name] for name in names} for row in sorted(rows, key=lambda row: row["piece"])]
    return Step("tokenize", fate, manifest.path, more={"sequences": sequences})


def _measured(folder: Folder, shard: Shard, doc_id: int) -> Row:
    """Return what annotate found in the text, by column."""
    found: Row = {}
    for stage in ("signals", "quality"):
        manifest = folder.manifests.get(stage)
        part = _part_of(manifest.parts(stage), shard) if manifest is not None else None
        for row in rows_of(folder.root, part, doc_id) if part is not None else []:
            found |= {name: value for name, value in row.items() if not isinstance(value, bytes)}
    return {name: value for name, value in found.items() if name not in ("doc_id", "doc_key", "text_bytes")}


def _unusable(folder: Folder, ids: Sequence[int]) -> list[Explanation]:
    found: dict[tuple[int, int], Explanation] = {}
    for doc_id in ids:
        row = quarantined(folder, doc_id)
        if row is not None:
            found[row["file"], row["record"]] = _refused(folder, doc_id, row)
    return list(found.values())


def _refused(folder: Folder, doc_id: int, row: Row) -> Explanation:
    known = row["source"] == folder.source_names.get(unpack(doc_id).source)
    more = {"bytes": row["bytes"], "sha256": row["sha256"]}
    manifest = folder.manifests["ingest"].path
    step = Step(row["stage"], Fate.QUARANTINE, manifest, row["error"], row["detail"] or None, more=more)
    about = {**row, "raw_bytes": row["bytes"], "url": None, "title": None, "text_bytes": None}
    locator = f"{row['source']}:{row['uri']}:{row['record']}"
    return Explanation(doc_id if known else None, locator, about, (step,))


def _absent(folder: Folder, name: str, doc_id: int) -> str:
    """Say what is known of a place without a row: ingest counts what it drops, it does not list it."""
    place = unpack(doc_id)
    for commit in folder.manifests["ingest"].commits:
        if any(file["file"] == place.file for file in commit.counts["files"]):
            reasons: dict[str, int] = {}
            for drops in commit.counts["drop"].values():
                for reason, (units, _) in drops.items():
                    reasons[reason] = reasons.get(reason, 0) + units
            told = ", ".join(f"{units:,} {reason}" for reason, units in sorted(reasons.items())) or "nothing"
            return (
                f"{name}: the file has no document and no quarantined unit with this number. Either it has fewer "
                f"records, or ingest dropped the record, which is counted and not listed (here: {told})"
            )
    return f"{name}: no such document in {folder.root}; give a decimal doc_id, SOURCE:PATH:RECORD, or a URL"


def _part_of(parts: Sequence[Part], shard: Shard) -> Part | None:
    return next((part for part in parts if part.facts["shard"] == shard.shard), None)


def _unit(step: Step) -> tuple[str, int, str]:
    """Return what a step's value measures: name, what one unit is divided into, and how it is written."""
    detail = step.detail or ""
    if step.reason in _SIMILARITIES:
        return "similarity", 10_000, " %"
    if step.reason == Drop.LANGUAGE:
        return detail, 10_000, " %"
    for suffix, scale, unit in (("_ppm", 10_000, " %"), ("_billionths", 10_000_000, " %"), ("_milli", 1_000, "")):
        if detail.endswith(suffix):
            return detail.removesuffix(suffix), scale, unit
    return detail, 1, ""


def _number(value: int, scale: int, unit: str) -> str:
    return f"{value:,}{unit}" if scale == 1 else f"{value / scale:,.2f}{unit}"


def measured_in_words(measured: dict[str, Any]) -> list[str]:
    """Return the numbers a reader wants first, in their units."""
    found = []
    if "language" in measured:
        found.append(f"language {measured['language']} {measured['language_ppm'] / 10_000:.1f} %")
    if "words" in measured:
        found.append(f"{measured['words']:,} words, about {measured['tokens_estimated']:,} tokens")
    if measured.get("quality_ppm") is not None:
        found.append(f"quality {measured['quality_ppm'] / 1_000_000:.3f}")
    return found
