r"""arXiv's sources: one paper is one record, its LaTeX put together and still to be turned into text.

Bulk archives are tars of `YYMM/ID.gz` (a gzipped .tex, or a gzipped tar of files) and `YYMM/ID.pdf`; a single paper's
.gz, .tar.gz or .tex is read too. What a member is is told by its bytes. The main file is the one with `\documentclass`
and `\begin{document}`; `\input` and `\include` are followed inside the paper's own archive only. Papers without LaTeX
(PDF, PostScript, HTML) are skipped and counted.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO, cast

from curation.limits import Limits
from curation.sources import tar_headers as headers
from curation.sources.compression import Expanded
from curation.sources.members import Lost, Member, ReadMember, read_members, whole
from curation.sources.options import ReaderOptions
from curation.sources.tar_members import TarArchive
from curation.sources.units import BadUnit, Event, Record, Skipped, UnitError
from curation.sources.window import Window
from curation.text.charset import decode_text

MAX_INPUT_DEPTH = 10  # \input inside \input

_TEX_SUFFIXES = (".tex", ".ltx", ".latex", ".inc", ".txt")
_CLASS = re.compile(r"^[^%\n]{0,200}\\document(?:class|style)\b", re.MULTILINE)
_BEGIN = re.compile(r"^[^%\n]{0,200}\\begin\s*\{document\}", re.MULTILINE)
_INPUT = re.compile(r"(?<![\\%])\\(?:input|include|subfile)\s*(?:\{([^{}\n]{1,200})\}|([\w./-]{1,200}))")
_INPUT_ENCODING = re.compile(rb"\\usepackage\s*\[([\w-]{1,20})\]\s*\{inputenc\}")
_LATEX_CHARSETS = {"ansinew": "windows-1252", "latin9": "iso-8859-15", "applemac": "macintosh", "utf8x": "utf-8"}
_TEX_MARKS = (b"\\document", b"\\begin", b"\\section", b"\\magnification", b"\\bye", b"\\input")
_IDENTIFIER = re.compile(r"([a-z-]+(?:\.[A-Z]{2})?)?/?(\d{4}\.\d{4,5}|\d{7})")


def read(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the papers of one bulk archive, or the one paper of another file.

    Raises:
        OSError: storage failed.
    """
    bulk = _begins_bulk(raw)
    raw.seek(0)
    if bulk:
        archive = TarArchive(Window(Expanded(raw, uri, limits), "stream"), limits)
        yield from read_members(archive, _choose, limits, options)
    else:
        yield from _read_paper(raw, uri, limits, options)


def _begins_bulk(raw: BinaryIO) -> bool:
    """Whether a file is a tar that nothing compresses: papers are compressed one by one inside it."""
    block = raw.read(headers.BLOCK)
    return len(block) == headers.BLOCK and any(block) and headers.parse_header(block) is not None


def _choose(name: str) -> ReadMember | None:
    return None if name.endswith(".pdf") else _read_paper


def _read_paper(raw: BinaryIO, uri: str, limits: Limits, options: ReaderOptions) -> Iterator[Event]:
    """Yield the one unit of a paper's file."""
    window = Window(Expanded(raw, uri, limits), "stream")
    files = _Files(window, limits)
    problem = files.collect()
    end = window.end()
    size = end.bytes
    try:
        if problem:
            raise problem
        text = assemble(files.texts, limits.max_document_bytes)
    except UnitError as error:
        yield BadUnit(0, "", 0, size, error.error, error.detail, files.digest.hexdigest())
    else:
        yield _record(text, uri, size) if text is not None else Skipped("no_latex", size)
    yield end


class _Files:
    """The LaTeX files of one paper, decoded; all of its bytes are read."""

    def __init__(self, window: Window, limits: Limits) -> None:
        self._window, self._limits = window, limits
        self.texts: dict[str, str] = {}
        self.digest = hashlib.sha256()
        self._held_bytes = 0

    def collect(self) -> UnitError | None:
        """Read the paper; return what is wrong with it, if anything is."""
        window = self._window
        window.peek(headers.BLOCK)
        block = bytes(window.buffer[: headers.BLOCK])
        if len(block) == headers.BLOCK and any(block) and headers.parse_header(block):
            return self._collect_members()
        return self._collect_one()

    def _collect_members(self) -> UnitError | None:
        problem = None
        for item in TarArchive(self._window, self._limits).items():
            if isinstance(item, Lost) and item.error in ("truncated", "bomb"):
                problem = UnitError(item.error, "paper")
            if isinstance(item, Member):
                wanted = item.name.lower().endswith(_TEX_SUFFIXES) or "." not in posixpath.basename(item.name)
                content, size, digest = whole(
                    cast(BinaryIO, item.stream), self._limits.max_document_bytes if wanted else 0
                )
                self.digest.update(digest.encode())
                problem = problem or (self._keep(item.name, content) if wanted and size == len(content) else None)
        return problem

    def _collect_one(self) -> UnitError | None:
        window, held, size, problem = self._window, [], 0, None
        while not window.ended:
            count = window.peek(1 << 16)
            if count:
                piece = bytes(window.buffer[:count])
                window.consume(count)
                self.digest.update(piece)
                size += count
                held.append(piece)
                if size > self._limits.max_document_bytes:
                    held.clear()
                    problem = problem or UnitError("too_large", "paper")
            elif window.gap:
                gap = window.take_gap()
                problem = problem or (None if gap.kind == "padding" else UnitError(gap.kind, "paper"))
        window.close_span()
        return problem or self._keep("main.tex", b"".join(held))

    def _keep(self, name: str, content: bytes) -> UnitError | None:
        self._held_bytes += len(content)
        if self._held_bytes > self._limits.max_document_bytes:
            return UnitError("too_large", "paper")
        if name.endswith(".tex") or any(mark in content for mark in _TEX_MARKS):
            self.texts[posixpath.normpath(name)] = decode_latex(content)
        return None


def decode_latex(content: bytes) -> str:
    """Return a source's text: as it declares to inputenc, else UTF-8 if it is that, else Latin-1, which is common."""
    declared = _INPUT_ENCODING.search(content)
    label = _LATEX_CHARSETS.get(declared[1].decode(), declared[1].decode()) if declared else None
    try:
        text = decode_text(content, label).text if label else content.decode("utf-8")
    except UnicodeDecodeError:
        text = decode_text(content, "latin1").text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def assemble(texts: Mapping[str, str], max_bytes: int) -> str | None:
    """Return the paper's main file with everything it inputs in its place, None if there is no LaTeX.

    Raises:
        UnitError: bomb/input, files that input each other grow beyond what a document may be.
    """
    main = _main_file(texts)
    if main is None:
        return None
    return _Inputs(texts, max_bytes).expand(main, 0)


def _main_file(texts: Mapping[str, str]) -> str | None:
    """Return the name of the main file: a class, a body, most of what is inside, in this order."""
    candidates = [
        (bool(_BEGIN.search(text)), len(_INPUT.findall(text)), len(text), name)
        for name, text in texts.items()
        if _CLASS.search(text)
    ]
    if candidates:
        return max(candidates)[-1]
    return next(iter(texts)) if len(texts) == 1 else None  # plain TeX


class _Inputs:
    def __init__(self, texts: Mapping[str, str], max_bytes: int) -> None:
        self._texts, self._left = texts, max_bytes

    def expand(self, name: str, depth: int) -> str:
        text = self._texts[name]
        self._left -= len(text)
        if self._left < 0:
            raise UnitError("bomb", "input")
        if depth >= MAX_INPUT_DEPTH:
            return text
        return _INPUT.sub(lambda match: self._input(match, name, depth), text)

    def _input(self, match: re.Match[str], parent: str, depth: int) -> str:
        line_start = match.string.rfind("\n", 0, match.start()) + 1
        if "%" in match.string[line_start : match.start()].replace("\\%", ""):
            return match[0]  # commented out
        asked = (match[1] or match[2]).strip()
        for base in ("", posixpath.dirname(parent)):
            for name in (asked, asked + ".tex"):
                path = posixpath.normpath(posixpath.join(base, name))
                if path in self._texts and path != parent:
                    return self.expand(path, depth + 1)
        return ""


def _record(text: str, uri: str, size: int) -> Record:
    found = _IDENTIFIER.search(posixpath.basename(uri).removesuffix(".gz"))
    identifier = found[0] if found else None
    url = f"https://arxiv.org/abs/{identifier}" if identifier else None
    return Record(0, "", 0, size, text, "latex", url=url, metadata={"arxiv_id": identifier} if identifier else {})
