"""How to read a finished corpus back: three lines each for pyarrow, datasets, DuckDB, our reader and Megatron's."""

from curation.report.contents import Report
from curation.s3 import is_s3

_DOCUMENTS = """\
# The documents, with pyarrow
import json, pyarrow.dataset
files = json.load(open("{root}/latest.json"))["stages"]["assemble"]["files"]
corpus = pyarrow.dataset.dataset(["{root}/" + file for file in files])
print(corpus.count_rows(), corpus.head(2, columns=["source", "title", "start", "end"]).to_pylist())
"""
_DATASETS = """\
# The same with Hugging Face's library (pip install datasets)
from datasets import load_dataset
corpus = load_dataset("{root}/corpus", split="train")
print(corpus)
"""
_DUCKDB = """\
# The same with DuckDB (pip install duckdb)
import duckdb
print(duckdb.sql("SELECT source, count(*) FROM '{root}/corpus/data/*/*.parquet' GROUP BY source ORDER BY source"))
"""
_TOKENS = """\
# The tokens, mapped and not copied
from curation.shards.reader import PairReader
pair = PairReader("{prefix}")
print(len(pair), pair.dtype, pair[0])
"""
_MEGATRON = """\
# The tokens, with Megatron's own reader (pip install megatron-core)
from megatron.core.datasets.indexed_dataset import IndexedDataset
pair = IndexedDataset("{prefix}")
print(len(pair), pair.index.dtype, pair[0])
"""


def snippets(root: str, report: Report) -> list[str]:
    """Return three programs that read what a run made; those for tokens only where it made a pair.

    On S3 only the shards' folder is named: both readers map files, which have to be local.
    """
    if not report.total[-1].out.units:
        return [
            "# Nothing was kept, so there is nothing to read back. What went where, and why:",
            f"curate ledger {root}",
        ]
    if is_s3(root):
        folder = f"{root}/{report.shards_folder}"
        return [f"# Copy the shards to where you train; readers map files\naws s3 cp --recursive {folder} ."]
    found = [text.format(root=root) for text in (_DOCUMENTS, _DATASETS, _DUCKDB)]
    if report.shards is not None and report.shards.pairs:
        prefix = f"{root}/{report.shards_folder}/{report.shards.pairs[0].name}"
        found += [text.format(prefix=prefix) for text in (_TOKENS, _MEGATRON)]
    return found
