"""`python -m trainer RECIPE --shards DIR`: what `curate train` starts, and torchrun on many machines.

`python -m trainer plan`, `evaluate` and `export` stand beside it; each module of that name has its own command line.

Exit codes: 0 done, 2 usage or recipe, 3 training does not work out, 4 a damaged file, 5 lost too many processes, 143
asked to end by SIGTERM, and saved.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from curation.shards.errors import CurationError

COMMANDS = ("plan", "evaluate", "export")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if words and words[0] in COMMANDS:
            command = importlib.import_module(f"trainer.{words[0]}")
            return int(command.main(words[1:]))
        return _train(parser().parse_args(words))
    except CurationError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    one = argparse.ArgumentParser(prog="python -m trainer", description="Train a GPT on our shards.")
    one.add_argument("recipe", metavar="RECIPE", help="path of a training recipe, e.g. recipes/train/demo.toml")
    one.add_argument("--shards", required=True, metavar="DIR", help="folder where blend.json lies")
    one.add_argument("--folder", metavar="DIR", help="folder of checkpoints and metrics (default: build/train/NAME)")
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a value of the recipe")
    one.add_argument("--processes", type=int, metavar="N", help="on this machine (default: its GPUs, or as few as go)")
    one.add_argument("--max-restarts", type=int, default=3, metavar="N", help="after a lost process (default: 3)")
    return one


def _train(options: argparse.Namespace) -> int:
    from trainer.config import load_config

    config = load_config(options.recipe, options.set)
    from trainer import launch, mesh  # after the recipe was read: torch takes two seconds
    from trainer.data import TrainingData
    from trainer.loop import Run

    place = mesh.Place.from_environment()
    parallel = config.parallel
    fewest = parallel.tensor * parallel.pipeline * (parallel.data or 1)
    world = place.world if place is not None else options.processes or max(mesh.device_count(), fewest)
    config.layout(world)
    folder = Path(options.folder or f"build/train/{config.name}")
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(config, TrainingData(options.shards, config, folder / "samples"), folder)
    return launch.join(run, place) if place is not None else launch.start(run, world, options.max_restarts)


if __name__ == "__main__":
    sys.exit(main())
