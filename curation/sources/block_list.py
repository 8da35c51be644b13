"""URLs that a source leaves out: whole domains, hosts, or everything below a prefix.

One entry a line, `#` begins a comment: `example.com` (with all its subdomains), `example.com/forum/` (a prefix, after
scheme and `www.`). Lists of domains as they are published (UT1, for one) can be given as they are.
"""

import re
from dataclasses import dataclass
from typing import Self

_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^/@]*@)?(?:www\.)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BlockList:
    """A block-list; an empty one blocks nothing."""

    domains: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Return the list in a file; bytes that are not UTF-8 match nothing."""
        lines = (line.split("#")[0].strip() for line in content.decode("utf-8", "replace").split("\n"))
        entries = [_normal(line) for line in lines if line]
        domains = frozenset(entry.rstrip("/") for entry in entries if "/" not in entry.rstrip("/"))
        return cls(domains, tuple(sorted(entry for entry in entries if "/" in entry.rstrip("/"))))

    def blocks(self, url: str | None) -> bool:
        """Whether a URL is in a blocked domain or below a blocked prefix."""
        if not url or not (self.domains or self.prefixes):
            return False
        rest = _normal(url)
        labels = re.split(r"[/:?#]", rest, maxsplit=1)[0].split(".")
        domains = (".".join(labels[start:]) for start in range(len(labels)))
        return any(domain in self.domains for domain in domains) or rest.startswith(self.prefixes)


def _normal(url: str) -> str:
    """Return a URL without scheme, user and `www.`, its host in lower case."""
    rest = _SCHEME.sub("", url, count=1).removeprefix("www.")
    host, slash, path = rest.partition("/")
    return host.lower() + slash + path
