"""From tokens that a model was trained on back to the documents they come from: verdicts, file, and byte.

A place in training is a sequence of a pair, or a sample of the blend, which is made of pieces of sequences. Either way
each sequence is one row of a committed table, and from its document on every word is `explain`'s.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from curation import storage
from curation.errors import IntegrityError, RecipeError
from curation.explain import Explanation, story
from curation.lookup import Folder, Row
from curation.parts import Part, open_part, read_batches
from curation.s3 import is_s3
from curation.shards.blend import Blend
from curation.shards.training import BlendedSamples, Order


@dataclass(frozen=True)
class Origin:
    """Where tokens `first_token` to `first_token + tokens` of a sequence come from.

    `start` and `end` are the bytes that the whole sequence has in the document's text as ingest committed it; the
    story says in which file, member and byte the document begins, and what every stage found.
    """

    pair: str
    sequence: int
    first_token: int
    tokens: int
    piece: int
    start: int
    end: int
    story: Explanation

    def to_json(self) -> Row:
        """Return plain data, the place first, as the command line prints it."""
        about = self.story.about
        names = ("pair", "sequence", "first_token", "tokens", "piece", "start", "end")
        place = {name: about[name] for name in ("source", "uri", "member", "offset", "raw_bytes", "url")}
        identity = {"doc_id": self.story.doc_id, "locator": self.story.locator}
        return {**{name: getattr(self, name) for name in names}, **identity, **place, "steps": self.story.to_json()}


def trace_sequence(folder: Folder, pair: str, sequence: int) -> Origin:
    """Return where a sequence of a pair comes from.

    Raises:
        RecipeError: the last run has no such pair, or the pair no such sequence.
        IntegrityError: a committed file is missing or changed.
    """
    return _origin(folder, _token_documents(folder), pair, sequence, None)


def trace_sample(folder: Folder, samples: BlendedSamples, number: int) -> list[Origin]:
    """Return where each piece of a sample comes from, in the order of its tokens; `samples` are of `blended`.

    Raises:
        RecipeError: the training has no such sample.
        IntegrityError: a committed file is missing or changed.
    """
    try:
        member, sample = samples.place(number)
    except IndexError:
        raise RecipeError(
            f"sample {number:,}: this training has {len(samples):,}; give its length with --samples"
        ) from None
    parts, name = _token_documents(folder), samples.pairs[member].name
    spans = samples.member(member).spans(sample)
    return [_origin(folder, parts, name, span.sequence, (span.first, span.tokens)) for span in spans]


def blended(folder: Folder, sequence_tokens: int, samples: int | None, seed: int) -> BlendedSamples:
    """Return the training samples of the last run's blend; without a number of samples, those of its blend.json.

    Raises:
        RecipeError: the run made no pairs, or they lie in an object store, where no file can be mapped.
        IntegrityError: blend.json is missing or damaged.
    """
    shards = shards_folder(folder)
    if is_s3(shards):
        raise RecipeError(f"{shards}: samples are looked up in mapped files; copy the work folder to a disk first")
    blend = read_blend(folder)
    order = Order(blend.training_tokens // sequence_tokens if samples is None else samples, sequence_tokens, seed)
    if order.samples < 1:
        raise RecipeError(f"a training of {blend.training_tokens:,} tokens has no sample of {sequence_tokens:,}")
    return BlendedSamples(blend.train, order, shards)


def read_blend(folder: Folder) -> Blend:
    """Return the last run's blend. Raises RecipeError (it made no pairs), IntegrityError (missing or damaged)."""
    url = storage.join(shards_folder(folder), "blend.json")
    try:
        return Blend.model_validate_json(storage.read_bytes(url))
    except (FileNotFoundError, ValidationError):
        raise IntegrityError(f"{url}: is missing or damaged; run the same recipe again, which writes it anew") from None


def shards_folder(folder: Folder) -> str:
    """Return where the last run's pairs are published. Raises RecipeError if it made none."""
    manifest = folder.manifests.get("tokenize")
    if manifest is None or not manifest.parts("bin"):
        raise RecipeError(f"{folder.root}: the last run made no pairs; `curate run RECIPE` makes them")
    return storage.join(folder.root, str(manifest.notes["shards"]))


def sequences_of(root: str, part: Part, columns: Sequence[str], first: int, last: int) -> list[Row]:
    """Return the rows of sequences `first` to `last` of a pair, both included: row s of its table is sequence s."""
    found: list[Row] = []
    with open_part(root, part) as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    begin = 0
    for group, size in enumerate(sizes):
        if begin <= last and first < begin + size:
            at = begin
            for batch in read_batches(root, part, list(columns), groups=[group]):
                low, high = max(first - at, 0), min(last + 1 - at, batch.num_rows)
                found += batch.slice(low, max(0, high - low)).to_pylist() if low < batch.num_rows else []
                at += batch.num_rows
        begin += size
    return found


def _token_documents(folder: Folder) -> Mapping[str, Part]:
    shards_folder(folder)
    return {str(part.facts["pair"]): part for part in folder.manifests["tokenize"].parts("token_documents")}


def _origin(
    folder: Folder, parts: Mapping[str, Part], pair: str, sequence: int, tokens: tuple[int, int] | None
) -> Origin:
    name = os.path.basename(pair)
    part = parts.get(name)
    if part is None:
        raise RecipeError(f"{pair}: no such pair in the last run; there are: {', '.join(sorted(parts))}")
    rows = sequences_of(folder.root, part, ["doc_id", "piece", "sequence", "tokens"], sequence, sequence)
    if not rows or sequence < 0:
        raise RecipeError(f"{name} has {part.rows:,} sequences, numbered from 0; there is no {sequence}")
    row: dict[str, Any] = rows[0]
    found = story(folder, row["doc_id"])
    spans = [span for step in found.steps if step.stage == "assemble" for span in step.offsets] if found else []
    if found is None or row["sequence"] != sequence or row["piece"] >= len(spans):
        raise IntegrityError(f"{part.file}: sequence {sequence} names a document that is not there: `curate verify`")
    first, count = tokens or (0, row["tokens"])
    start, end = spans[row["piece"]]
    return Origin(name, sequence, first, count, row["piece"], start, end, found)
