"""The mixture: each source's share before curation, after it, and in training as the recipe weighs it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from curation.ledger import Entry
from curation.report.funnel import Size, funnel
from curation.report.numbers import share
from curation.shards.blend import Blend
from curation.shards.sidecar import Shards

# MT-NLG's Table 2 (Smith et al. 2022, arXiv 2201.11990), by the names that recipes/mt_nlg.toml gives its sources.
TABLE_2 = {
    "books3": 0.14336,
    "pg-19": 0.00873,
    "bookcorpus2": 0.01007,
    "wikipedia": 0.04771,
    "arxiv": 0.01359,
    "pubmed-abstracts": 0.02897,
    "nih-exporter": 0.00208,
    "stack-exchange": 0.05689,
    "github": 0.01588,
    "openwebtext2": 0.19336,
    "realnews": 0.08962,
    "cc-stories": 0.00859,
    "pile-cc": 0.09446,
    "cc-2021-04": 0.15652,
    "cc-2020-50": 0.13017,
}


@dataclass(frozen=True)
class Ingredient:
    """One source. `before` is what ingest wrote, `after` what assemble passed on; weight and epochs are of training.

    Shares are of text bytes, over all sources; `weight` is the recipe's, scaled so that all weights sum to 1.
    """

    source: str
    before: Size
    after: Size
    share_before: float | None
    share_after: float | None
    train_tokens: int
    valid_tokens: int
    weight: float | None
    epochs: float | None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "weight_in_paper": self.weight_in_paper}

    @property
    def weight_in_paper(self) -> float | None:
        """Its weight in MT-NLG's Table 2, if it stands there."""
        return TABLE_2.get(self.source)


def mixture(
    entries: Sequence[Entry], sources: Sequence[str], shards: Shards | None, blend: Blend | None
) -> list[Ingredient]:
    """Return the sources in the order given."""
    sizes = {source: _before_and_after(entries, source) for source in sources}
    before, after = (sum(pair[side].bytes for pair in sizes.values()) for side in (0, 1))
    weights = {part.source: part for part in blend.sources} if blend is not None else {}
    found = []
    for source, pair in sizes.items():
        tokens = {"train": 0, "valid": 0}
        for entry in shards.pairs if shards is not None else ():
            tokens[entry.split] += entry.tokens if entry.source == source else 0
        weighed = weights.get(source)
        found.append(
            Ingredient(
                source,
                *pair,
                share(pair[0].bytes, before),
                share(pair[1].bytes, after),
                tokens["train"],
                tokens["valid"],
                weighed.weight if weighed else None,
                weighed.epochs if weighed else None,
            )
        )
    return found


def _before_and_after(entries: Sequence[Entry], source: str) -> tuple[Size, Size]:
    steps = {step.stage: step for step in funnel(entries, source)}
    last = steps.get("assemble")
    return steps["ingest"].out, last.out if last is not None else Size()
