"""Files inside archives, read where they lie: an archive hands out members as streams, a reader reads each of them.

Coordinates are those of one long stream: the archive's own bytes (headers, padding, directories) and, in the place of
each member, what its reader counted in it. Units are numbered through the archive.
"""

import hashlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Protocol, cast

from curation.limits import Limits
from curation.sources.options import ReaderOptions
from curation.sources.units import BadUnit, Dropped, Event, FileEnd, Record, Skipped, UnitErrorClass

_STEP_BYTES = 1 << 16
_DAMAGE = ("truncated", "bomb")  # errors after which an archive is not what its writer made

ReadMember = Callable[[BinaryIO, str, Limits, ReaderOptions], Iterator[Event]]


class MemberStream(io.RawIOBase):
    """A member's bytes, forward only. `broken` says, once all was read, that there should have been more."""

    def __init__(self) -> None:
        self._pieces, self._rest = self.pieces(), b""
        self.broken = False

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes in pieces that are not empty; a format says here where they come from."""
        raise NotImplementedError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = piece
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


@dataclass(frozen=True, slots=True)
class Member:
    """A regular file in an archive; read `stream` to its end before asking for what follows."""

    name: str
    stream: MemberStream


@dataclass(frozen=True, slots=True)
class Lost:
    """A member or region that cannot be used; its bytes in the archive."""

    name: str
    raw_bytes: int
    error: UnitErrorClass
    detail: str
    sha256: str


class Archive(Protocol):
    """What an archive format has to offer."""

    def items(self) -> Iterator[Member | Lost | Skipped]:
        """Yield members and everything between them, in order."""

    def end(self) -> FileEnd:
        """Return the archive's account after the last item: all its bytes in its own coordinates."""

    @property
    def member_bytes(self) -> int:
        """How many of those bytes were handed out through members."""


def read_members(
    archive: Archive, choose: Callable[[str], ReadMember | None], limits: Limits, options: ReaderOptions
) -> Iterator[Event]:
    """Yield everything an archive holds.

    Args:
        archive: not yet iterated.
        choose: the reader for a member of this name, None for members that are not wanted.
        limits: what each member may cost.
        options: for the members' readers.
    """
    ordinal = position = inner_bytes = damaged = 0
    damage: str | None = None
    refused = ""  # the member that broke off and is a bad unit already
    for item in archive.items():
        if isinstance(item, Skipped):
            position += item.bytes
            yield item
        elif isinstance(item, Lost):
            damage = "recovered" if item.error in _DAMAGE or not item.name else damage
            if item.name == refused and not item.raw_bytes:
                continue
            yield BadUnit(ordinal, item.name, position, item.raw_bytes, item.error, item.detail, item.sha256)
            position, ordinal = position + item.raw_bytes, ordinal + 1
        else:
            for event in _read_member(item, choose(item.name), limits, options):
                if isinstance(event, FileEnd):
                    position, inner_bytes = position + event.bytes, inner_bytes + event.bytes
                    damaged += event.damaged_regions
                elif isinstance(event, Skipped):
                    yield event
                else:
                    placed = _placed(event, item.name, ordinal, position, damage)
                    refused = item.name if isinstance(placed, BadUnit) and placed.error in _DAMAGE else refused
                    yield placed
                    ordinal += 1
    end = archive.end()
    total = end.bytes - archive.member_bytes + inner_bytes
    yield FileEnd(total, end.file_bytes, "stream", end.compression, end.damaged_regions + damaged)


def _placed(
    unit: Record | BadUnit | Dropped, name: str, ordinal: int, position: int, damage: str | None
) -> Record | BadUnit | Dropped:
    """Return a member's unit as one of its archive's; records behind a damaged region say so."""
    member = f"{name}/{unit.member}" if unit.member else name
    placed = replace(unit, ordinal=ordinal, offset=position + unit.offset, member=member)
    return replace(placed, damage=damage) if isinstance(placed, Record) and damage and not placed.damage else placed


def _read_member(member: Member, read: ReadMember | None, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield a member's events; if its stream breaks off, its last record is not trusted."""
    if read is None:
        size = _drain(member.stream)
        yield Skipped("other_member", size)
        yield FileEnd(size, size, "stream", "plain", 0)
        return
    held: Record | None = None
    for event in read(cast(BinaryIO, member.stream), member.name, limits, options):
        if held and isinstance(event, FileEnd) and member.stream.broken:
            yield held.as_bad("truncated", "member")
            held = None
        if held and not isinstance(event, Skipped):
            yield held
            held = None
        if isinstance(event, Record):
            held = event
        else:
            yield event


def _drain(stream: MemberStream) -> int:
    size = 0
    while piece := stream.read(_STEP_BYTES):
        size += len(piece)
    return size


def whole(stream: BinaryIO, max_bytes: int) -> tuple[bytes, int, str]:
    """Return a stream's bytes if they are within the limit (else nothing), their number, and their sha256."""
    held, size, digest = [], 0, hashlib.sha256()
    while piece := stream.read(_STEP_BYTES):
        size += len(piece)
        digest.update(piece)
        held.append(piece)
        if size > max_bytes:
            held.clear()
    return b"".join(held), size, digest.hexdigest()
