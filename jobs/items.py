"""The items of every stage, as far as they are known: those of a stage follow from what the stages before it made."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from curation.annotate import PARTS
from curation.stages import Item
from jobs import annotate, assemble, ingest, tokenize_corpus
from jobs.job import Job

_ITEMS: Mapping[str, Callable[[Job], Sequence[Item]]] = {
    "ingest": ingest.items,
    **{part: partial(annotate.items, part=part) for part in PARTS},
    "assemble": assemble.items,
    "tokenize": tokenize_corpus.items,
}


def items_of(job: Job, stage: str) -> Sequence[Item]:
    """Return the items of a stage; none of a stage that commits once, or before the stages it reads are committed."""
    known = all(job.committed(name) is not None for name in job.stages[stage].inputs)
    return _ITEMS[stage](job) if known and stage in _ITEMS else ()
