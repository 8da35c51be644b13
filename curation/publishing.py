"""DIR/corpus: the kept documents as a dataset that others can load, with a card that lists its files one by one.

The files are links to the committed ones where the disk allows it, and take no room of their own.
"""

from curation import storage
from curation.latest import Latest
from curation.report.card import dataset_card
from curation.report.contents import collect
from curation.s3 import is_s3

FOLDER = "corpus"
CARD = "README.md"
_DIGITS = 12  # of a file's sha256 in its name, so that other bytes never hide behind it


def publish_corpus(root: str, latest: Latest) -> str | None:
    """Make DIR/corpus hold the corpus of the last run and nothing of an earlier one, and return its card's path.

    None on S3, where a link would be a copy, and for a corpus without a document.
    """
    files: dict[str, list[str]] = {}
    manifest = latest.manifests.get("assemble")
    if manifest is None or is_s3(root):
        return None
    for part in manifest.parts("corpus"):
        if part.rows:
            path = f"data/{part.facts['source']}/{part.facts['shard']}-{part.sha256[:_DIGITS]}.parquet"
            storage.copy(storage.join(root, part.file), storage.join(root, FOLDER, path))
            files.setdefault(str(part.facts["source"]), []).append(path)
    listed = {path for paths in files.values() for path in paths}
    for entry in storage.find(storage.join(root, FOLDER), "data/*/*.parquet"):
        if entry.path not in listed:
            storage.delete(storage.join(root, FOLDER, entry.path))
    if not files:
        return None
    report, folder = collect(root), storage.join(root, FOLDER)
    card = dataset_card(report, files, folder, storage.join(root, report.shards_folder or "shards"))
    storage.replace(storage.join(folder, CARD), card.encode())
    return storage.join(folder, CARD)
