"""Document, sample and shuffle indices, and the blend, for MT-NLG's fifteen sources: CPU-seconds, wall, what bounds it.

    python benchmarks/sample_indices.py [--scale 1.0] [--numpy] [--json]

Lengths are simulated: as many documents and tokens per source as MT-NLG had (338.2 billion tokens, 320 million texts),
exponentially distributed, one pair per source, blended by the paper's weights to 270 billion tokens in samples of
2,048. `--scale 0.1` takes a tenth of all; `--numpy` shuffles with numpy alone, as Megatron does. Peak memory is that of
the largest source, since one pair after the other is built; ranks of a training share the cached files.
"""

import argparse
import json
import math
import resource
import time
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from curation.shards import samples
from curation.shards.blend import greedy, normalised
from curation.shards.permutation import FROM_ELEMENTS, shuffle
from curation.shards.training import SURPLUS

# Weight, tokens in billions, documents (the published blend; chunk counts of the Retro index of the same corpus).
SOURCES = {
    "books3": (0.14336, 25.68, 194_016),
    "openwebtext2": (0.19336, 14.77, 15_674_989),
    "stackexchange": (0.05689, 11.59, 15_317_556),
    "pubmed-abstracts": (0.02897, 4.41, 15_180_642),
    "wikipedia": (0.04771, 4.16, 5_861_214),
    "gutenberg": (0.00873, 2.66, 27_293),
    "bookcorpus2": (0.01007, 1.54, 18_766),
    "nih-exporter": (0.00208, 0.32, 755_475),
    "arxiv": (0.01359, 20.80, 1_213_536),
    "github": (0.01588, 24.29, 10_666_484),
    "pile-cc": (0.09446, 49.76, 50_000_893),
    "cc-2020-50": (0.13017, 68.56, 79_298_285),
    "cc-2021-04": (0.15652, 82.45, 96_130_819),
    "realnews": (0.08962, 21.90, 28_773_641),
    "cc-stories": (0.00859, 5.26, 670_273),
}
TRAINING_TOKENS, SEQUENCE_TOKENS, SEED = 270e9, 2048, 1234


def simulated(tokens: float, documents: int) -> NDArray[np.int32]:
    """Return lengths with about this sum."""
    drawn = np.random.default_rng(documents).standard_exponential(documents, np.float32)
    return np.maximum(1, drawn * np.float32(tokens / documents)).astype(np.int32)


def main() -> None:
    """Build everything once and print a row per source."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--numpy", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    shuffle(np.arange(FROM_ELEMENTS, dtype=np.int32), np.random.RandomState(0))  # compiles
    shuffle(np.arange(FROM_ELEMENTS, dtype=np.uint32), np.random.RandomState(0))
    greedy([1.0, 2.0], 10)
    theirs = mock.patch.object(samples, "shuffle", lambda values, state: state.shuffle(values))
    with theirs if options.numpy else mock.patch.object(samples, "shuffle", shuffle):
        rows = measure(options.scale)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    if options.json:
        print(json.dumps({"rows": rows, "peak_gb": peak}, indent=1))
        return
    for row in rows:
        print(f"{row['source']:18} {row['items']:14,} samples {row['cpu_s']:8.2f} CPU-s {row['wall_s']:8.2f} s")
    cpu, wall = (sum(row[name] for row in rows) for name in ("cpu_s", "wall_s"))
    print(f"{'all':18} {cpu:33.2f} CPU-s {wall:8.2f} s, at most {peak:.1f} GB")


def measure(scale: float) -> list[dict[str, float | int | str]]:
    """Return items, CPU-seconds and wall seconds of each source's indices and of the blend."""
    weights = normalised([weight for weight, *_ in SOURCES.values()])
    whole = math.ceil(TRAINING_TOKENS * scale / SEQUENCE_TOKENS)
    rows: list[dict[str, float | int | str]] = []
    for (source, (_, tokens, documents)), weight in zip(SOURCES.items(), weights.tolist(), strict=True):
        lengths = simulated(tokens * 1e9 * scale, int(documents * scale))
        wanted = math.ceil(math.ceil(whole * weight) * (1 + SURPLUS))
        cpu, wall = time.process_time(), time.monotonic()
        built = samples.build(lengths, wanted, SEQUENCE_TOKENS, SEED)
        rows.append(_row(source, len(built.shuffle), cpu, wall))
    cpu, wall = time.process_time(), time.monotonic()
    greedy(weights, whole)
    return [*rows, _row("blend", whole, cpu, wall)]


def _row(source: str, items: int, cpu: float, wall: float) -> dict[str, float | int | str]:
    return {"source": source, "items": items, "cpu_s": time.process_time() - cpu, "wall_s": time.monotonic() - wall}


if __name__ == "__main__":
    main()
