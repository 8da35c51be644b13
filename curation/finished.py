"""A work folder as an object: what the reading commands tell, for programs."""

from dataclasses import dataclass

import pyarrow.dataset as ds

from curation import storage
from curation.explain import Explanation, explain, text_of
from curation.ledger import Entry, ledger
from curation.lookup import open_folder
from curation.report import Report, collect
from curation.verify import Verification, verify
from schemas.tables import CORPUS


@dataclass(frozen=True)
class Corpus:
    """The last run of a work folder, a path or s3://bucket/prefix. Errors are those of `curation.errors`."""

    work: str

    @property
    def root(self) -> str:
        """The work folder as an absolute path or URL."""
        return storage.absolute(self.work)

    def report(self) -> Report:
        """Return the contents of the report."""
        return collect(self.root)

    def ledger(self) -> list[Entry]:
        """Return where every unit and byte went, by stage and source."""
        folder = open_folder(self.root)
        return ledger(folder.root, folder.manifests, folder.source_names)

    def explain(self, document: str | int) -> list[Explanation]:
        """Return the story of every unit that a doc_id, SOURCE:PATH:RECORD or URL means."""
        return explain(self.root, str(document))

    def text(self, document: str | int) -> list[str | None]:
        """Return the texts of the same units as ingest committed them, None for one that never became a document."""
        return [text_of(self.root, story) for story in self.explain(document)]

    def verify(self) -> Verification:
        """Check everything committed again, without Spark."""
        return verify(self.root, lambda _: None)

    def documents(self) -> ds.Dataset:
        """Return the kept documents and pieces as a pyarrow dataset of committed files; see `schemas.tables.CORPUS`."""
        parts = open_folder(self.root).manifests["assemble"].parts("corpus")
        return ds.dataset([storage.join(self.root, part.file) for part in parts], schema=CORPUS, format="parquet")
