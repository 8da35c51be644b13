"""The Pile's release and its mirrors: JSON lines whose `meta` names the set a document belongs to.

The release is upsampled already (sets stand in it one to three times), so exact duplicates within a set are by design.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

from curation.limits import Limits
from curation.sources.jsonl import read_with_sets
from curation.sources.options import ReaderOptions
from curation.sources.units import Event

SET_NAMES = (
    "Pile-CC",
    "PubMed Central",
    "Books3",
    "OpenWebText2",
    "ArXiv",
    "Github",
    "FreeLaw",
    "StackExchange",
    "USPTO Backgrounds",
    "PubMed Abstracts",
    "Gutenberg (PG-19)",
    "OpenSubtitles",
    "Wikipedia (en)",
    "DM Mathematics",
    "Ubuntu IRC",
    "BookCorpus2",
    "EuroParl",
    "HackerNews",
    "YoutubeSubtitles",
    "PhilPapers",
    "NIH ExPorter",
    "Enron Emails",
)

# Names that the Pile's own code and mirrors use for the same sets.
_ALIASES = {
    "bibliotik": "Books3",
    "commoncrawl": "Pile-CC",
    "bookcorpus": "BookCorpus2",
    "uspto": "USPTO Backgrounds",
    "gutenberg": "Gutenberg (PG-19)",
    "pg19": "Gutenberg (PG-19)",
    "wikipedia": "Wikipedia (en)",
    "nihexporter": "NIH ExPorter",
}


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


_CANONICAL = {_plain(name): name for name in SET_NAMES} | _ALIASES


def canonical_set_name(name: str) -> str:
    """Return the release's name of a set; a name that is not known stays as it is.

    >>> canonical_set_name("Bibliotik"), canonical_set_name("Wikipedia (en)"), canonical_set_name("my set")
    ('Books3', 'Wikipedia (en)', 'my set')
    """
    return _CANONICAL.get(_plain(name), name)


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the records of one file of the Pile, each with its `set_name` where it names one.

    Raises:
        OSError: storage failed.
    """
    return read_with_sets(raw, uri, limits, options, _set_name)


def _set_name(metadata: dict[str, Any]) -> str | None:
    name = metadata.get("pile_set_name")
    return canonical_set_name(name) if isinstance(name, str) else None
