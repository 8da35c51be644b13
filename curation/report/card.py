"""The dataset card: a README.md with the metadata that makes a folder a Hugging Face dataset, and what is in it.

`datasets.load_dataset(FOLDER)` reads exactly the files that the card lists, whatever else lies there.
"""

from collections.abc import Mapping, Sequence

from curation.reasons import MEANINGS
from curation.report.contents import Report
from curation.report.funnel import removals
from curation.report.numbers import bytes_text, percent

_ABOUT = """
# {name}

{documents:,} documents and pieces, {size} of text, {tokens:,} tokens, from {sources} sources. Made by megatron-corpus
from recipe `{recipe}`, inputs `{inputs}`. The same recipe and inputs give the same rows on any machine.

## Read it

```python
from datasets import load_dataset
corpus = load_dataset("{folder}", split="train")     # or load_dataset("{folder}", "{first}") for one source
```

```python
import pyarrow.dataset as ds
corpus = ds.dataset("{folder}/data", format="parquet", partitioning=None)
```

```sql
SELECT source, count(*), sum("end" - "start") FROM '{folder}/data/*/*.parquet' GROUP BY source;  -- DuckDB
```

Token ids stand in Megatron's format in `{shards}`; `curate blend DIR` prints the arguments that train on them.

## What is in it

| source | documents before | text before | text after | share | weight in training |
|---|---|---|---|---|---|
{mixture}

A row is a document, or a piece of one that benchmark text was cut out of: `text`, `source`, `url`, `title`,
`timestamp`, `language`, `quality_ppm`, `start` and `end` (UTF-8 bytes of the ingested text), `cluster_size`
(documents it stands for) and `metadata` as JSON.

## What was left out, and why

| stage | source | reason | documents | meaning |
|---|---|---|---|---|
{removed}

## Before you use it

Texts belong to their authors; each source keeps its own terms, which this card does not know. Personal data was not
looked for.
"""


def dataset_card(report: Report, files: Mapping[str, Sequence[str]], folder: str, shards: str) -> str:
    """Return the card; `files` are paths relative to its folder, by source in order."""
    rows = [
        f"| {row.source} | {row.before.units:,} | {bytes_text(row.before.bytes)} | {bytes_text(row.after.bytes)} "
        f"| {percent(row.share_after)} | {percent(row.weight)} |"
        for row in report.mixture
    ]
    removed = [
        f"| {stage} | {source} | {reason} | {size.units:,} | {MEANINGS[reason]} |"
        for stage, source, reason, size in removals(report.entries, "drop")
    ]
    last = report.total[-1].out
    body = _ABOUT.format(
        name=report.recipe or "corpus",
        documents=last.units,
        size=bytes_text(last.bytes),
        tokens=report.tokens,
        sources=len(report.sources),
        recipe=report.recipe_digest[:16],
        inputs=report.inputs[:16],
        folder=folder,
        first=next(iter(files), "source"),
        shards=shards,
        mixture="\n".join(rows),
        removed="\n".join(removed) or "| | | nothing | | |",
    )
    return _front(report, files) + body


def _front(report: Report, files: Mapping[str, Sequence[str]]) -> str:
    """Return the YAML block: every committed file by name, all together first and then by source."""
    lines = ["---", f"pretty_name: {report.recipe or 'corpus'}", "task_categories:", "- text-generation", "configs:"]
    everything = [path for paths in files.values() for path in paths]
    for name, paths in [("default", everything), *files.items()]:
        lines += [f"- config_name: {name}", "  data_files:", "  - split: train", "    path:"]
        lines += [f'    - "{path}"' for path in paths]
    return "\n".join([*lines, "---", ""])
