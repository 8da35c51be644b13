"""Training as a child process: the trainer needs torch, which this package neither imports nor asks for.

The words of `curate train` are handed on to `python -m trainer`. Where they name a work folder, the shards of its last
run are meant, and a run's files go below it, where the report finds them.
"""

import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from curation import storage
from curation.errors import InfrastructureError, RecipeError
from curation.lookup import open_folder
from curation.report.training import run_folder
from curation.s3 import is_s3
from curation.trace import shards_folder

RECIPE = Path(__file__).parents[1] / "recipes" / "train" / "demo.toml"
_SHARDS, _FOLDER = "--shards", "--folder"
_READING = ("plan", "evaluate", "export")  # commands of the trainer that make no run


def start(words: Sequence[str]) -> int:
    """Run the trainer on these words and return its exit code. Interrupts reach it, and it saves before it ends.

    Raises:
        InfrastructureError: torch is not installed.
        RecipeError: the work folder has no shards, or they are not on a disk.
    """
    if find_spec("torch") is None:
        raise InfrastructureError("training needs torch, which is not installed: pip install -e '.[train]'")
    command = [sys.executable, "-m", "trainer", *of_work_folder(words)]
    with subprocess.Popen(command) as child:

        def end(number: int, _: FrameType | None) -> None:
            child.send_signal(number)

        before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            return child.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def of_work_folder(words: Sequence[str]) -> list[str]:
    """Return the words with a work folder after --shards replaced by its shards, and --folder given if it was not.

    Raises RecipeError for shards in a store, since training maps them.
    """
    found = list(words)
    place = found.index(_SHARDS) + 1 if _SHARDS in found else len(found)
    if place >= len(found):
        return found
    root = storage.absolute(found[place])
    if is_s3(root):
        raise RecipeError(f"{root}: training maps its shards into memory; copy the folder to a disk that all nodes see")
    if storage.exists(storage.join(root, "latest.json")):
        found[place] = shards_folder(open_folder(root))
        if _FOLDER not in found and found[0] not in _READING:
            found += [_FOLDER, run_folder(root, found[place])]
    return found
