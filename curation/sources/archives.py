"""Files that may be archives: a tar in any compression, a zip, or neither, told by their first bytes."""

from collections.abc import Callable, Iterator
from typing import BinaryIO

from curation.limits import Limits
from curation.sources import tar_headers as headers
from curation.sources.compression import Expanded
from curation.sources.members import ReadMember, read_members
from curation.sources.options import ReaderOptions
from curation.sources.tar_members import TarArchive
from curation.sources.units import Event
from curation.sources.window import Window
from curation.sources.zip_members import ZipArchive

_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")  # a first member, or an archive without any


def read_archive(
    raw: BinaryIO,
    uri: str,
    limits: Limits,
    options: ReaderOptions,
    choose: Callable[[str], ReadMember | None],
    otherwise: ReadMember,
) -> Iterator[Event]:
    """Yield what a file holds: of an archive's members what `choose` finds a reader for, else what `otherwise` reads.

    Args:
        raw: seekable stream.
        choose: reader for a member of this name, None to skip and count it.
        otherwise: reader for a file that is no archive.
    """
    start = raw.read(4)
    raw.seek(0)
    if start in _ZIP_MAGICS:
        yield from read_members(ZipArchive(raw, limits), choose, limits, options)
        return
    window = Window(Expanded(raw, uri, limits), "stream")
    if _begins_tar(window):
        yield from read_members(TarArchive(window, limits), choose, limits, options)
        return
    raw.seek(0)
    yield from otherwise(raw, uri, limits, options)


def _begins_tar(window: Window) -> bool:
    window.peek(headers.BLOCK)
    block = bytes(window.buffer[: headers.BLOCK])
    return len(block) == headers.BLOCK and any(block) and headers.parse_header(block) is not None
