"""A first recipe for somebody's files: every choice in it is one a look at the files gave, and says so in a comment."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from curation import storage
from curation.errors import RecipeError
from curation.globs import matcher
from curation.report.numbers import bytes_text, percent
from curation.sources.sniffing import Kind, Look, kind_of, look

_MOST_LOOKED_AT = 5  # files of a source
_MOST_LISTED = 20  # files of a source, before a glob stands for them
_SHARE = 0.05  # of the documents looked at: a language seldom met is left out
_SUFFIX = re.compile(r"(\.[A-Za-z][A-Za-z0-9]{0,7})+$")
_COLUMNS = 11


@dataclass(frozen=True)
class Found:
    """Files of one kind, relative to the root, and what a look at some of them showed."""

    kind: Kind
    files: tuple[str, ...]
    bytes: int
    looks: tuple[Look, ...]

    @property
    def languages(self) -> dict[str, int]:
        """Documents looked at by language, the most frequent first."""
        seen: Counter[str] = Counter()
        for one in self.looks:
            seen.update(one.languages)
        return dict(seen.most_common())

    @property
    def has_markup(self) -> bool:
        """Whether records hold pages whose main text has to be found."""
        return any(one.markup for one in self.looks)


@dataclass(frozen=True)
class Draft:
    """A recipe's text, the root its inputs are relative to, and the files that are of no known kind."""

    text: str
    root: str
    found: tuple[Found, ...]
    unknown: tuple[str, ...]


def draft(paths: Sequence[str], name: str) -> Draft:
    """Look at files, and at those in folders, and return a recipe that reads them.

    Raises:
        RecipeError: a path does not exist, or no file is of a kind that is known.
    """
    files = sorted({file for path in paths for file in _files(path)})
    if not files:
        raise RecipeError(f"{', '.join(paths)}: no files there; give files, or folders that hold some")
    root = os.path.commonpath([os.path.dirname(file) for file in files])
    kinds = {file: kind_of(file, storage.open_raw) for file in files}
    groups: dict[Kind, list[str]] = {}
    for file, kind in kinds.items():
        if kind is not None:
            groups.setdefault(kind, []).append(file)
    unknown = tuple(os.path.relpath(file, root) for file, kind in kinds.items() if kind is None)
    if not groups:
        raise RecipeError(
            f"{', '.join(paths)}: no file is of a kind that is known; docs/sources.md lists those that are"
        )
    found = tuple(_found(kind, members, root) for kind, members in sorted(groups.items(), key=lambda g: g[0].reader))
    return Draft(_recipe(name, root, found, unknown, _listed(found, paths)), root, found, unknown)


def _files(path: str) -> list[str]:
    place = Path(path).absolute()
    if place.is_dir():
        return [str(file) for file in place.rglob("*") if file.is_file() and not _is_hidden(file.relative_to(place))]
    if not place.is_file():
        raise RecipeError(f"{path}: there is no such file or folder")
    return [str(place)]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _found(kind: Kind, files: Sequence[str], root: str) -> Found:
    looks = tuple(look(file, kind, storage.open_raw) for file in files[:_MOST_LOOKED_AT])
    size = sum(os.path.getsize(file) for file in files)
    return Found(kind, tuple(os.path.relpath(file, root) for file in files), size, looks)


def _listed(found: Sequence[Found], paths: Sequence[str]) -> bool:
    """Whether inputs are named one by one: then a file that comes later is not taken in."""
    return sum(len(one.files) for one in found) <= _MOST_LISTED and not any(os.path.isdir(path) for path in paths)


def _recipe(name: str, root: str, found: Sequence[Found], unknown: Sequence[str], listed: bool) -> str:
    codes = _codes(found)
    english = codes == ["en"]
    blocks = [_head(name, root, unknown)]
    blocks += [
        _source(one, source, _inputs(one, found, listed)) for one, source in zip(found, _names(found), strict=True)
    ]
    blocks += [_profile(codes, english), _REST]
    return "\n".join(blocks)


def _codes(found: Sequence[Found]) -> list[str]:
    """Return the languages to keep, the most frequent first."""
    seen: Counter[str] = Counter()
    for one in found:
        seen.update(one.languages)
    return [code for code, count in seen.most_common() if code != "und" and count >= _SHARE * seen.total()]


def _names(found: Sequence[Found]) -> list[str]:
    names: list[str] = []
    for one in found:
        name = one.kind.reader.replace("_", "-")
        own = re.sub(r"[^a-z0-9]+", "-", one.kind.text_field.lower()).strip("-") or "text"
        names.append(name if name not in names else f"{name}-{own}")
    return names


def _inputs(one: Found, found: Sequence[Found], listed: bool) -> list[str]:
    """Return globs that match these files and none of another kind, else the files."""
    suffixes = sorted({match[0] if (match := _SUFFIX.search(os.path.basename(file))) else "" for file in one.files})
    globs = [f"**/*{suffix}" for suffix in suffixes]
    matches = [matcher(glob) for glob in globs]
    others = [file for other in found if other is not one for file in other.files]
    if listed or "" in suffixes or any(match(file) for match in matches for file in others):
        return [re.sub(r"([*?\[])", r"[\1]", file) for file in one.files]
    return globs


def _head(name: str, root: str, unknown: Sequence[str]) -> str:
    lines = [
        f"# Written after a look at the files below {root}.",
        "# Every value may be changed: `curate plan` tells what a change would run again.",
        *(
            [f"# Left out, of no kind that is known: {', '.join(unknown[:5])}{', …' * (len(unknown) > 5)}"]
            if unknown
            else []
        ),
        f'name = "{name}"',
        "seed = 1234                       # of every coin: the same seed and files give the same corpus",
        "",
    ]
    return "\n".join(lines)


def _source(one: Found, name: str, inputs: Sequence[str]) -> str:
    records, bad = sum(o.records for o in one.looks), sum(o.bad for o in one.looks)
    told = ", ".join(f"{code} {percent(count / records)}" for code, count in list(one.languages.items())[:4])
    mean = sum(o.text_bytes for o in one.looks) / max(1, records)
    seen = (
        f"# {len(one.files):,} files, {bytes_text(one.bytes)}. Of {records:,} records looked at: {told or 'nothing'}; "
    )
    seen += f"{bytes_text(mean)} of text each" + (f"; {bad:,} could not be read" if bad else "")
    lines = [seen, "[[source]]                        # the order of sources is their priority among duplicates"]
    lines += [_line("name", f'"{name}"'), _line("reader", f'"{one.kind.reader}"'), _line("inputs", _strings(inputs))]
    if one.kind.reader in ("jsonl", "parquet") and one.kind.text_field != "text":
        lines.append(_line("text_field", f'"{one.kind.text_field}"'))
    if one.has_markup:
        lines.append(_line("extract", '"resiliparse"') + "           # or justext (as MT-NLG did), trafilatura")
    lines.append(_line("profile", '"rules"'))
    return "\n".join([*lines, ""])


def _line(key: str, value: str) -> str:
    return f"{key:<{_COLUMNS}}= {value}"


def _strings(values: Sequence[str]) -> str:
    quoted = ['"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values]
    return f"[{', '.join(quoted)}]" if len(quoted) < 4 else "[\n  " + ",\n  ".join(quoted) + ",\n]"


def _profile(codes: Sequence[str], english: bool) -> str:
    lines = ["[profile.rules]"]
    if english:
        lines.append('like     = "gopher"               # the rules of Rae et al. 2021, 50 to 100,000 words')
    else:
        lines.append("length   = { min_words = 50 }     # Gopher's other rules know English only")
    if codes:
        lines.append(f"language = {{ keep = {_strings(codes)}, min_score = 0.5 }}")
    return "\n".join([*lines, ""])


_REST = """\
[dedup]
bands     = 26                    # with 10 rows these find 95 % of the pairs that are 0.8 alike
rows      = 10
threshold = 0.8                   # what is at least as similar to a kept document is dropped

# Benchmarks whose text has to go; `docs/decontamination.md` lists the formats.
# [decontamination]
# mode = "paper"
# benchmarks = [{ path = "benchmark.jsonl", task = "mine", fields = ["question"] }]
"""
