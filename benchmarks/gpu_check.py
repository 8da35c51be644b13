"""`make gpu-check`: what a machine with GPUs can show and one without cannot. It takes a few minutes.

With one GPU: GPT-2 small in bfloat16, its speed and utilisation. With two: the curves of 2 × 1 × 1 and 1 × 1 × 2
processes on NCCL against those of one, in float32.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from tests.trainer import tiny
from trainer import mesh
from trainer.config import load_config

RECIPE = Path(__file__).parents[1] / "recipes" / "train" / "gpt2_small.toml"
SEQUENCES, STEPS = 64, 30
LOSS, NORM = 1e-4, 1e-3  # a GPU adds in another order than a CPU, and atomically in places


def main() -> int:
    """Run what this machine can, and return 0 if all of it agrees."""
    count = mesh.device_count()
    if not count:
        print("gpu-check: this machine has no GPU that torch sees")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "shards").mkdir()
        shards = tiny.write_shards(root / "shards")
        speed(shards, root / "speed")
        if count == 1:
            return 0
        one = tiny.curve(tiny.run(tiny.twenty_steps(**tiny.precise("float32")), shards, root / "one"))
        agree = [agrees(one, shape, shards, root) for shape in ((2, 1, 1), (1, 1, 2))]
        return int(not all(agree))


def speed(shards: Path, folder: Path) -> None:
    """Train GPT-2 small on one GPU, and print tokens a second and utilisation."""
    changes = [f"batch.sequences={SEQUENCES}", f"training.tokens={STEPS * SEQUENCES * 1024}", "parallel.data=1"]
    tiny.run(load_config(RECIPE, changes), shards, folder)
    steps = tiny.read_metrics(folder, "step")[5:]
    seconds = statistics.median(step["seconds"] for step in steps)
    print(f"gpt2-small, bfloat16, 1 GPU: {SEQUENCES * 1024 / seconds:,.0f} tokens/s, MFU {steps[-1]['mfu'] or '?'}")


def agrees(one: tuple[list[float], ...], shape: tuple[int, int, int], shards: Path, root: Path) -> bool:
    """Print how far a layout's curves are from those of one process, and return whether that is near enough."""
    name = "x".join(map(str, shape))
    found = tiny.curve(tiny.run(tiny.twenty_steps(*shape, **tiny.precise("float32")), shards, root / name))
    loss = max(abs(a - b) for a, b in zip(found[0], one[0], strict=True))
    norm = max(abs(a / b - 1) for a, b in zip(found[1], one[1], strict=True))
    print(f"{name} on NCCL against one process: loss {loss:.1e} (at most {LOSS}), norm {norm:.1e} (at most {NORM})")
    return loss <= LOSS and norm <= NORM


if __name__ == "__main__":
    sys.exit(main())
