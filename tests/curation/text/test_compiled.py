"""Without numba the interpreter runs the kernels, to the same numbers."""

import json
import subprocess
import sys
from typing import Any

import pyarrow as pa

from curation.text import marks, normalise, signals

TEXTS = (
    "",
    "The cat sat.\r\n\r\nThe cat sat.\n- a bullet…\n• The cat sat.\nΣΑΣ İ 日本。 “x” 🙂 ",
    "Write to ann@example.org, see https://example.org/a?b=1, or 8.8.8.8, fe80::1; +49 30 1234567 AKIA0123456789ABCDEF",
    "one two three four one two three four one two three four five six seven eight nine ten eleven " * 3,
)
_CHILD = """
import sys
sys.modules["numba"] = None
from tests.curation.text.test_compiled import numbers
import json
print(json.dumps(numbers()))
"""


def numbers() -> list[Any]:
    """Return everything that the kernels make of the texts, as plain data."""
    texts = pa.array(TEXTS, pa.large_string())
    found = [marks.find(text).to_pylist() for text in TEXTS]
    return [signals.compute(texts).to_pylist(), found, normalise.normalise_all(texts, 90)]


def test_without_numba_every_number_is_the_same() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", _CHILD], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(json.dumps(numbers()))
