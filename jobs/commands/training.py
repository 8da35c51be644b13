"""The commands between a corpus and what trains on it: the blend, training, and the way back from a trained token."""

import argparse

from curation import storage
from curation.errors import RecipeError
from curation.lookup import open_folder
from curation.shards.blend import megatron_arguments, megatron_splits
from curation.trace import blended, read_blend, shards_folder, trace_sample, trace_sequence
from jobs import shown, train
from jobs.commands.arguments import add_order, reading
from jobs.console import Console


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands of this module."""
    one = reading(commands, "trace", _trace, "from trained tokens back to document, verdicts, file and byte")
    one.add_argument("pair", nargs="?", metavar="PAIR", help="name of a .bin/.idx pair")
    one.add_argument("sequence", nargs="?", type=int, metavar="SEQUENCE", help="number of a sequence in it, from 0")
    one.add_argument("--blend", nargs=2, type=int, metavar=("STEP", "ROW"), help="a row of a step's batch, both from 0")
    one.add_argument("--batch", type=int, default=1920, metavar="N", help="rows of a step (default: %(default)s)")
    add_order(one)
    one = reading(commands, "blend", _blend, "weights, epochs, and the data arguments of Megatron")
    one.add_argument("--root", metavar="FOLDER", help="where training finds the pairs (default: where they are)")
    about = "train a GPT on shards, on the processes of this machine; `python -m trainer` on many (docs/training.md)"
    one = commands.add_parser("train", help=about, description=about[0].upper() + about[1:] + ".")
    one.set_defaults(command=_train)
    words = "RECIPE --shards DIR …: the words of `python -m trainer`; DIR may be a work folder, too"
    one.add_argument("words", nargs=argparse.REMAINDER, metavar="WORDS", help=words)


def _train(options: argparse.Namespace, console: Console) -> int:
    return train.start(options.words or ["--help"])


def _trace(options: argparse.Namespace, console: Console) -> int:
    folder = open_folder(storage.absolute(options.work))
    if options.blend is not None:
        step, row = options.blend
        if options.pair is not None or not 0 <= row < options.batch:
            raise RecipeError(f"trace: give PAIR SEQUENCE, or --blend STEP ROW with a row below {options.batch}")
        samples = blended(folder, options.sequence_tokens, options.samples, options.seed)
        origins = trace_sample(folder, samples, step * options.batch + row)
    elif options.sequence is not None:
        origins = [trace_sequence(folder, options.pair, options.sequence)]
    else:
        raise RecipeError("trace: give PAIR SEQUENCE, or --blend STEP ROW")
    if options.json:
        console.json([origin.to_json() for origin in origins])
    else:
        shown.show_origins(console, origins)
    return 0


def _blend(options: argparse.Namespace, console: Console) -> int:
    folder = open_folder(storage.absolute(options.work))
    blend, root = read_blend(folder), options.root or shards_folder(folder)
    arguments = megatron_arguments(blend, root)
    if options.json:
        splits = megatron_splits(blend, root)
        console.json({**blend.model_dump(mode="json"), "splits": splits, "arguments": arguments})
    else:
        shown.show_blend(console, blend, arguments)
    return 0
