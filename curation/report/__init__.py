"""What a run did, for people to look at: the funnel, the mixture and the papers, in one self-contained file.

Every number comes from the ledger, the manifests or the papers of the shards; nothing is counted a second time.
"""

from curation.report.contents import Report, collect
from curation.report.html import render, write_report

__all__ = ["Report", "collect", "render", "write_report"]
