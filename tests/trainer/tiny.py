"""A recipe small enough for a test."""

from typing import Any


def tables(**changes: object) -> dict[str, Any]:
    """Return a small recipe with some values changed; a double underscore steps into a table."""
    plain: dict[str, Any] = {
        "name": "tiny",
        "model": {
            "layers": 4,
            "hidden": 32,
            "heads": 4,
            "sequence_tokens": 16,
            "vocabulary": 60,
            "padded_vocabulary": 64,
            "init_std": 0.02,
        },
        "parallel": {},
        "batch": {"sequences": 16},
        "learning_rate": {"peak": 1e-3, "decay_tokens": 10_000},
        "training": {"tokens": 10_000, "precision": "float32"},
    }
    for key, value in changes.items():
        table, _, name = key.partition("__")
        if name:
            plain.setdefault(table, {})[name] = value
        else:
            plain[table] = value
    return plain
