"""A corpus small enough to run in seconds that has one document for each fate and reason the pipeline knows.

Sentences are drawn from a seeded vocabulary with English stop words between, so that language, length and Gopher's
rules see English; duplicates, contaminated and broken records are planted and listed.
"""

import gzip
import io
import json
import random
import tarfile
from pathlib import Path

STOP = tuple("the of and to in that is with for on as was by it from at".split())  # noqa: SIM905
NOUNS = (
    *("river", "garden", "letter", "captain", "harbour", "market", "winter", "morning", "window", "history"),
    *("village", "kingdom", "science", "question", "council", "theory", "mountain", "library", "soldier", "painter"),
    *("machine", "forest", "station", "journey", "language", "doctor", "island", "bridge", "teacher", "mirror"),
    *("border", "palace", "ladder", "candle", "orchard", "meadow", "thunder", "compass", "lantern", "engine"),
)
VERBS = (
    "carried",
    "opened",
    "followed",
    "described",
    "measured",
    "crossed",
    "visited",
    "repaired",
    "counted",
    "observed",
)

BENCHMARK = "seventeen silver herons crossed the frozen estuary before the harbour lamps were lit on saturday evening"


def sentence(rng: random.Random) -> str:
    """Return one English-looking sentence."""
    words = [rng.choice(STOP).capitalize()]
    for _ in range(rng.randint(3, 6)):
        words += [rng.choice(NOUNS), rng.choice(VERBS), rng.choice(STOP), rng.choice(STOP)]
    return " ".join([*words, rng.choice(NOUNS)]) + "."


def prose(seed: int, sentences: int = 14) -> str:
    """Return a text of two paragraphs, the same for the same seed."""
    rng = random.Random(seed)
    half = sentences // 2
    return "\n\n".join(" ".join(sentence(rng) for _ in range(half)) for _ in range(2))


def edited(text: str, seed: int) -> str:
    """Return the text with one word in about 120 replaced: a near-duplicate above 0.8."""
    rng = random.Random(seed)
    words = text.split(" ")
    for _ in range(max(1, len(words) // 120)):
        words[rng.randrange(len(words))] = "altered"
    return " ".join(words)


def contaminated(seed: int) -> str:
    """Return a text with the benchmark sentence in its middle, line-wrapped."""
    half = " ".join(prose(seed, 20).split("\n\n"))
    middle = half.index(". ", len(half) // 2) + 2
    return half[:middle] + BENCHMARK.replace(" frozen ", "\nfrozen ").capitalize() + ". " + half[middle:]


def crumbs(seed: int) -> str:
    """Return a text of which a cut leaves one sentence that is too short to stay."""
    rng = random.Random(seed)
    long = ", ".join(sentence(rng).rstrip(".").lower() for _ in range(6))
    return f"{sentence(rng)} {long}, {BENCHMARK}."


GERMAN = (
    "Der Fluss war in jenem Winter ganz zugefroren, und die Kinder liefen jeden Morgen über das Eis zur Schule. "
    "Niemand im Dorf konnte sich erinnern, dass es jemals so kalt gewesen war wie in diesem Jahr. "
) * 6


def write_corpus(root: Path) -> None:
    """Write all inputs below `root`: a container, tars, JSON lines, a text tree and the benchmark."""
    _write_tar(root / "books/a.tar.gz", {f"books/{n}.txt": prose(n, 60) for n in range(6)})
    _write_jsonl(root / "news/a.jsonl.gz", [_news(n) for n in range(40)] + _planted())
    _write_jsonl(root / "news/b.jsonl.gz", [_news(n) for n in range(100, 130)])
    _write_pile(root / "pile/00.jsonl.gz")
    for n in range(8):
        path = root / f"tree/{n:02d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(prose(700 + n, 30))
    whole = gzip.compress(b"".join(json.dumps({"text": prose(800 + n)}).encode() + b"\n" for n in range(20)), mtime=0)
    (root / "damaged").mkdir()
    (root / "damaged/cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    benchmark = {"text": BENCHMARK}
    _write_jsonl(root / "benchmark.jsonl", [benchmark], compress=False)


def add_file(root: Path) -> None:
    """Add one more file of news, with an edited copy of an older document and new ones."""
    rows = [_news(n) for n in range(200, 215)] + [{"text": edited(prose(300), 9), "url": "https://news.example/late"}]
    _write_jsonl(root / "news/ab.jsonl.gz", rows)


def _news(n: int) -> dict[str, object]:
    return {"text": prose(300 + n), "url": f"https://news.example/{n}", "title": f"Item {n}"}


def _planted() -> list[object]:
    return [
        {"text": prose(305), "url": "https://news.example/exact"},  # the same text as item 5
        {"text": edited(prose(306), 1), "url": "https://news.example/near"},
        {"text": edited(prose(2, 60), 2), "url": "https://news.example/near-book"},
        {"text": GERMAN, "url": "https://news.example/german"},
        {"text": "The captain of the river walked to the garden.", "url": "https://news.example/short"},
        {"text": "", "url": "https://news.example/empty"},
        {"text": "#" * 40 + " # #".join(prose(7).split(" ")), "url": "https://news.example/symbols"},
        {"text": contaminated(8), "url": "https://news.example/split"},
        {"text": crumbs(10), "url": "https://news.example/crumbs"},
        {"text": BENCHMARK.capitalize() + " and all was well with them.", "url": "https://news.example/all"},
        {"text": " ".join(contaminated(n) for n in range(20, 32)), "url": "https://news.example/pieces"},
        {"text": prose(702, 30), "url": "https://news.example/reference"},
        {"text": prose(9), "url": "https://news.example/removed"},
        b'{"text": "broken',
        b'{"text": "bad byte \xff"}',
        {"text": 12, "url": "https://news.example/number"},
    ]


def _write_jsonl(path: Path, rows: list[object], compress: bool = True) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows)
    path.write_bytes(gzip.compress(data, mtime=0) if compress else data)


def _write_pile(path: Path) -> None:
    sets = ["Wikipedia (en)", "HackerNews", "OpenWebText2"]
    rows: list[object] = [{"text": prose(500 + n), "meta": {"pile_set_name": sets[n % 3]}} for n in range(60)]
    _write_jsonl(path, rows)


def _write_tar(path: Path, members: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, text in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(text.encode())
            archive.addfile(about, io.BytesIO(text.encode()))
    path.write_bytes(gzip.compress(buffer.getvalue(), mtime=0))


RECIPE = """
name = "test"
seed = 7
shard_mib = 1
removal_list = "removal.txt"

[[container]]
name = "pile"
reader = "pile"
inputs = ["pile/*.jsonl.gz"]

[[source]]
name = "books"
reader = "tar_text"
inputs = ["books/*.tar.gz"]
weight = 0.4

[[source]]
name = "wikipedia"
from = "pile"
select = ["Wikipedia (en)"]
weight = 0.3

[[source]]
name = "old"
reader = "text"
inputs = ["tree/*.txt"]
role = "reference"

[[source]]
name = "web"
from = "pile"
select = ["OpenWebText2"]
profile = "web"
sample = 0.8
weight = 0.1

[[source]]
name = "damaged"
reader = "jsonl"
inputs = ["damaged/*.jsonl.gz"]
damage = "quarantine_file"
weight = 0.05

[[source]]
name = "news"
reader = "jsonl"
inputs = ["news/*.jsonl.gz"]
profile = "news"
weight = 0.2

[profile.web]
pareto = { alpha = 3.0 }

[profile.news]
language = { keep = ["en"] }
length = { min_words = 20 }
signals = { max_symbol_word_ppm = 100_000 }

[quality_model]
positives = { books = 6, wikipedia = 14 }
negatives = ["news"]
parameters = { dimensions = 8, buckets = 1000, epochs = 3, min_count = 1 }

[dedup]
threshold = 0.8

[decontamination]
benchmarks = [{ path = "benchmark.jsonl", task = "herons", fields = ["text"] }]
spare_from_documents = 50

[tokens]
tokenizer = { builtin = "gpt2" }
validation_fraction = 0.1
"""


def write_recipe(root: Path, text: str = RECIPE) -> Path:
    """Write the recipe and its removal list beside the corpus, and return the recipe's path."""
    (root / "removal.txt").write_text("https://news.example/removed\n")
    path = root / "recipe.toml"
    path.write_text(text)
    return path
