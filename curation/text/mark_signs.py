"""What marks are made of: which byte may stand in which mark, and how published keys begin.

The numbers of the classes are compiled into the kernels of `curation.text.marks`, whose kept machine code does not
notice a change here: they stay as they are.
"""

from functools import cache

import numpy as np

from curation.text.compiled import Int64, UInt8

_KEYS = (  # prefix, least and most signs [A-Za-z0-9_-] behind it
    (b"AKIA", 16, 16),
    (b"ASIA", 16, 16),
    (b"AIza", 35, 35),
    (b"ghp_", 36, 251),
    (b"gho_", 36, 251),
    (b"github_pat_", 22, 255),
    (b"sk-", 32, 255),
    (b"xoxb-", 20, 255),
    (b"xoxp-", 20, 255),
    (b"-----BEGIN PRIVATE KEY", 5, 5),
    (b"-----BEGIN RSA PRIVATE KEY", 5, 5),
    (b"-----BEGIN OPENSSH PRIVATE KEY", 5, 5),
    (b"-----BEGIN EC PRIVATE KEY", 5, 5),
)

DIGIT, LETTER, HEX, LOCAL, KEY_SIGN, LINK_END, TRIGGER = 1, 2, 4, 8, 16, 32, 64


@cache
def classes_of_bytes() -> UInt8:
    """Return what each byte can be part of; TRIGGER: a mark may begin here (or, for @, be here)."""
    found = np.zeros(256, np.uint8)
    letters = [*range(65, 91), *range(97, 123)]
    digits = list(range(48, 58))
    found[digits] |= DIGIT | HEX
    found[letters] |= LETTER
    found[[*range(65, 71), *range(97, 103)]] |= HEX
    found[letters + digits + list(b"._%+-")] |= LOCAL
    found[letters + digits + list(b"_-")] |= KEY_SIGN
    found[list(range(33)) + list(b'<>"|{}\x7f')] |= LINK_END
    found[digits + list(b"@+(hwHWAagsx-") + list(b"bcdefBCDEF")] |= TRIGGER
    return found


@cache
def key_bytes() -> UInt8:
    """Return the prefixes of all kinds of keys, end to end."""
    return np.frombuffer(b"".join(prefix for prefix, _, _ in _KEYS), np.uint8).copy()


@cache
def key_shapes() -> Int64:
    """Return a row of each kind of key: where its prefix ends in the bytes, least and most signs behind it."""
    ends = np.cumsum([len(prefix) for prefix, _, _ in _KEYS])
    return np.array([[end, least, most] for end, (_, least, most) in zip(ends, _KEYS, strict=True)], np.int64)
