"""Find and judge once with whatever kernels are there; print which ones ran and a digest of all they gave. A program.

With --without-numba it hides the compiler first, as on a machine that does not have it.
"""

import hashlib
import random
import sys

if "--without-numba" in sys.argv:
    sys.modules["numba"] = None  # type: ignore[assignment]

import pyarrow as pa

from curation.decontamination.benchmarks import Example
from curation.decontamination.frequency import document_counts
from curation.decontamination.index import build
from curation.decontamination.kernels import chosen
from curation.decontamination.matcher import find

QUESTIONS = ["The oﬃcers ﬁled one affida\u00advit in Łódź before noon", " ".join(f"wörd{n}" for n in range(30))]


def results() -> list[bytes]:
    order = random.Random(5)
    glue = [" ", "\n", ". ", "\u200b", " İ ", "? ", "\u0301 "]
    texts = [
        "".join(order.choice([*QUESTIONS, "filler words here. " * 20, QUESTIONS[1][:60]]) + order.choice(glue))
        for _ in range(60)
    ]
    texts = ["".join(order.sample(texts, 5)) for _ in range(60)]
    found = []
    for mode in ("paper", "extended"):
        index = build([Example("quiz", row, (text,)) for row, text in enumerate(QUESTIONS)], mode)  # type: ignore[arg-type]
        hits = find(pa.array(texts), index)
        matches = pa.table([hits["row"], *hits.columns[1:]], names=["doc_id", *hits.schema.names[1:]])
        assert len(matches)
        found += [
            index.digest.encode(),
            repr(hits.to_pylist()).encode(),
            repr(document_counts(matches, index).to_pylist()).encode(),
        ]
    return found


if __name__ == "__main__":
    digest = hashlib.sha256(b"\0".join(results()))
    print(chosen().__name__.rsplit(".", 1)[-1], digest.hexdigest())  # type: ignore[attr-defined]
