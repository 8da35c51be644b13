"""What a reader says about a file: units, what is no unit, and the file's own account.

Every byte of a container belongs to exactly one of these, so that per file
`sum(unit.raw_bytes) + sum(skipped.bytes) == FileEnd.bytes`.

Coordinates (`offset`, `raw_bytes`, `FileEnd.bytes`) are bytes of the file itself where the file is plain or each
record is a compressed member of its own; elsewhere they are bytes of the decompressed stream, in which a region
that could not be decompressed counts with its compressed length. `FileEnd.coordinates` says which.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

Form = Literal["text", "html", "html_fragment", "wikitext", "latex"]
DropReason = Literal["orphan_part", "not_selected"]
Coordinates = Literal["file", "stream"]
UnitErrorClass = Literal["decode", "parse", "truncated", "bomb", "unsafe_member", "too_large", "crash", "timeout"]


@dataclass(frozen=True, slots=True)
class Record:
    """What may become one document.

    Attributes:
        ordinal: number of the unit in its file, from 0, bad units included.
        member: name inside an archive, "" elsewhere.
        offset: where the unit begins (see the module's coordinates).
        raw_bytes: how long it is there, framing included.
        content: text, or bytes that still need a charset.
        form: what `content` is written in; a page ("html") has a main text to be found, a fragment is all text.
        metadata: everything else the record carried; keys are strings, values are JSON values.
        set_name: canonical name of the Pile set, where the container names one.
        damage: what was wrong around or inside the record, None if nothing: "truncated" (its writer cut it short),
            "payload" (its transfer or content coding was broken), "length" (its declared length was wrong),
            "recovered" (it was found after a damaged region).
        charset: what the container says `content` is encoded in, as it says it.
    """

    ordinal: int
    member: str
    offset: int
    raw_bytes: int
    content: str | bytes
    form: Form = "text"
    url: str | None = None
    title: str | None = None
    timestamp: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    set_name: str | None = None
    damage: str | None = None
    charset: str | None = None

    def as_bad(self, error: UnitErrorClass, detail: str) -> "BadUnit":
        """Return the unit as one that could not be used after all; the digest is that of its content."""
        content = self.content
        raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        return BadUnit(self.ordinal, self.member, self.offset, self.raw_bytes, error, detail, sha256(raw).hexdigest())


@dataclass(frozen=True, slots=True)
class BadUnit:
    """A unit that cannot be used, and why; one damaged region is one unit.

    Attributes:
        error: class of error, one of the quarantine reasons.
        detail: short code that never holds content.
        sha256: hex digest of the raw bytes.
    """

    ordinal: int
    member: str
    offset: int
    raw_bytes: int
    error: UnitErrorClass
    detail: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """A unit that is whole and yet no document, for a reason its format knows: an answer without its question."""

    ordinal: int
    member: str
    offset: int
    raw_bytes: int
    reason: DropReason


@dataclass(frozen=True, slots=True)
class Skipped:
    """Bytes that are no unit: framing, padding, records of a kind that holds no text. `kind` names the counter."""

    kind: str
    bytes: int


@dataclass(frozen=True, slots=True)
class FileEnd:
    """The last thing a reader yields: the file's size, counted where bytes come in and not from its units.

    Attributes:
        bytes: size of the container in its own coordinates; the ledger's left side.
        file_bytes: bytes read from storage.
        coordinates: "file" or "stream".
        compression: "plain", "gz", "bz2", "xz" or "zstd".
        damaged_regions: places where bytes could not be decoded; damage in plain bytes shows in bad units only.
    """

    bytes: int
    file_bytes: int
    coordinates: Coordinates
    compression: str
    damaged_regions: int


Unit = Record | BadUnit | Dropped
Event = Record | BadUnit | Dropped | Skipped | FileEnd
Events = Iterator[Event]


class UnitError(ValueError):
    """A record that its reader accepted cannot become a document; carries codes only, never content."""

    def __init__(self, error: UnitErrorClass, detail: str) -> None:
        super().__init__(f"{error}: {detail}")
        self.error: UnitErrorClass = error
        self.detail = detail

    def __reduce__(self) -> tuple[type["UnitError"], tuple[str, str]]:
        return type(self), (self.error, self.detail)
