"""Kills a run over and over at points spread evenly over its stages, resumes it, and checks that nothing is lost.

    python tests/faults/chaos.py --kills 50 --seed 1 --corpus demo

Each chain has a work folder of its own, in which every stage is killed once on the way to the end. Over five chains
each stage meets each of the five points (tests/faults/planted/striking.py) once, in an order drawn from the seed. A
kill counts if something was committed when it struck. After each kill, no commit or manifest from before may have been
written again; at the end of each chain the digests must be those of an undisturbed run, every committed byte must
verify and the ledger must balance.
"""

import argparse
import json
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "e2e"), str(HERE)]

from corpus import write_corpus, write_recipe  # noqa: E402
from planted.striking import POINTS  # noqa: E402
from program import commits, digests_of, start  # noqa: E402
from suffering import STAGES, Fault, Sufferer, digests_of_folder, problems_of  # noqa: E402

DEMO_INPUT = Path("build/demo/input")


def plan(kills: int, seed: int) -> Iterator[list[tuple[str, str, int]]]:
    """Yield, chain by chain, the kills: stage, point, and how often the point is passed before."""
    dice = random.Random(seed)
    orders = {stage: dice.sample(POINTS, len(POINTS)) for stage in STAGES}
    for first in range(0, kills, len(STAGES)):
        chain = first // len(STAGES)
        drawn = [(stage, orders[stage][chain % len(POINTS)]) for stage in STAGES[: kills - first]]
        yield [(stage, point, _passings(stage, point, dice)) for stage, point in drawn]


def _passings(stage: str, point: str, dice: random.Random) -> int:
    """Ingest has committed nothing when a point is passed first; a manifest is put once."""
    if point in ("commit", "manifest"):
        return 0
    return dice.randint(2, 4) if stage == "ingest" else 0


def main() -> int:
    """Return 0 if every kill counted and nothing differs."""
    options = _options()
    place = options.place
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    corpus = _corpus(options.corpus, place)
    began = time.monotonic()
    expected = digests_of(start(corpus.recipe, str(place / "undisturbed"), *corpus.options))
    _say(f"undisturbed run: {time.monotonic() - began:.0f} s")
    counted: Counter[str] = Counter()
    wrong: list[str] = []
    done = 0
    for number, chain in enumerate(plan(options.kills, options.seed)):
        if time.monotonic() - began > 60 * options.minutes:
            _say(f"out of time after {options.minutes} minutes")
            break
        victim = Sufferer(corpus.root, place / f"chain-{number}", corpus.options, corpus.recipe)
        victim.struck = 100 * number
        for stage, point, after in chain:
            ended = victim.run(Fault(stage, point, "driver", after))
            found = commits(victim.work)
            done += 1
            counts = ended.returncode == -9 and bool(found)
            counted[f"{stage} {point}"] += counts
            wrong += victim.rewritten()
            _say(f"{done}: {stage} {point} passing {after}: {len(found)} committed, {'counts' if counts else 'no'}")
        victim.recover()
        wrong += victim.rewritten() + problems_of(victim.work)
        if digests_of_folder(victim.work) != expected:
            wrong.append(f"chain {number}: the digests are not those of an undisturbed run")
        shutil.rmtree(victim.work)
    minutes = (time.monotonic() - began) / 60
    told = {"kills": done, "counted": counted.total(), "wrong": wrong, "minutes": round(minutes, 1)}
    print(json.dumps({**told, "seed": options.seed, "corpus": options.corpus, "points": len(counted)}))
    return int(bool(wrong) or counted.total() < options.kills)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the points (default: %(default)s)")
    parser.add_argument("--corpus", choices=["demo", "small"], default="demo", help="(default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=180, help="begin no chain later (default: %(default)s)")
    parser.add_argument("--place", type=Path, default=Path("build/chaos"), help="folder (default: %(default)s)")
    return parser.parse_args()


def _corpus(name: str, place: Path) -> Sufferer:
    if name == "small":
        root = (place / "corpus").resolve()
        write_corpus(root)
        return Sufferer(root, root / "work", ("--master", "local[1,4]"), write_recipe(root))
    if not DEMO_INPUT.is_dir():
        raise SystemExit(f"{DEMO_INPUT} is not there: `make demo` prepares it")
    root = place.resolve()
    return Sufferer(
        root, root / "work", ("--input", str(DEMO_INPUT.resolve()), "--master", "local[2,4]"), Path("recipes/demo.toml")
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
