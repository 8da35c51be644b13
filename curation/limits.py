"""How much a file may ask of us, and which names inside an archive are safe.

Nothing here reads a file: the readers in `curation.sources` ask these questions as they go, so that memory is
bounded by the largest allowed document and time by the size of the file, whatever the bytes say.
"""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """What one input file may cost. The defaults let every real corpus pass and stop every bomb we know.

    Attributes:
        max_document_mib: largest record, in raw MiB and, for compressed payloads, in decoded MiB.
        max_expanded_ratio: decoded bytes per compressed byte of one compressed member; text reaches about 30.
        ratio_after_mib: decoded MiB of a member below which the ratio is not looked at.
        max_expanded_gib: decoded GiB of one file; the largest archive of the paper's sources holds 108 GiB.
        max_cpu_seconds: CPU time that making the text of one record with markup may take; ordinary pages take 10 ms.
        max_members: members of one archive; Stack Exchange as text has 15.6 million.
    """

    max_document_mib: Annotated[int, Gt(0)] = 16
    max_expanded_ratio: Annotated[int, Gt(1)] = 200
    ratio_after_mib: Annotated[int, Ge(0)] = 64
    max_expanded_gib: Annotated[int, Gt(0)] = 1024
    max_cpu_seconds: Annotated[int, Gt(0)] = 30
    max_members: Annotated[int, Gt(0)] = 50_000_000

    @property
    def max_document_bytes(self) -> int:
        """Largest record in bytes."""
        return self.max_document_mib * MIB

    def is_bomb(self, expanded_bytes: int, compressed_bytes: int) -> bool:
        """Whether one compressed member has grown out of proportion."""
        grown = expanded_bytes > self.ratio_after_mib * MIB
        return grown and expanded_bytes > self.max_expanded_ratio * max(compressed_bytes, 1)


def is_safe_member_name(name: str) -> bool:
    r"""Whether an archive member stays below the folder it would be put into, on any system.

    Members are never written to disk, but their names end up in tables that others may turn into paths.

    >>> is_safe_member_name("books/a.txt"), is_safe_member_name("../a"), is_safe_member_name("C:\\a")
    (True, False, False)
    """
    parts = name.replace("\\", "/").split("/")
    absolute = parts[0] == "" or (len(parts[0]) == 2 and parts[0][1] == ":")
    return bool(name) and not absolute and ".." not in parts and "\0" not in name
