"""What points out of a text: links, e-mail addresses, IP addresses, phone numbers, keys. Counted and located by shape.

- link: `http://`, `https://` or `www.` up to whitespace or one of < > " | { }, trailing punctuation left off.
- email: a local part of letters, digits and . _ % + - , @, a domain with a dot whose last label
  is two letters or more.
- ip: four decimal numbers up to 255 between dots; or an IPv6 address of eight groups, or with `::` after a first group
  of three or four hexadecimal digits. No digit, letter, dot or hyphen may touch it (`8.8.8.8123`, a version `1.2.3.4.5`
  and an OID are none), but for a dot that ends a sentence.
- phone: + and 8 to 15 digits, groups separated by one of space . - ( ); or three, three and four digits with . - or a
  space between (the first three perhaps in parentheses). Bare runs of digits are none.
- key: what is published with a fixed prefix (AWS, GitHub, Google, OpenAI, Slack) and a private key's PEM header.

These are shapes, not proofs: an address may belong to nobody. What lies inside a link is part of the link alone.
"""

import numpy as np
import pyarrow as pa

from curation.text.compiled import Int64, UInt8, compiled
from curation.text.mark_signs import (
    DIGIT,
    HEX,
    KEY_SIGN,
    LETTER,
    LINK_END,
    LOCAL,
    TRIGGER,
    classes_of_bytes,
    key_bytes,
    key_shapes,
)

LINK, EMAIL, IP, PHONE, KEY = range(5)
KINDS = ("link", "email", "ip", "phone", "key")
LINK_BYTES = 5  # column behind the counts of the kinds
_TRAILING = tuple(b".,;:!?)]'*_")


def count(data: UInt8, offsets: Int64) -> Int64:
    """Return, of n texts, one row a text: how often each of KINDS occurs, and the bytes of its links."""
    counts = np.zeros((len(offsets) - 1, len(KINDS) + 1), np.int64)
    if len(counts):
        _count(data, offsets, classes_of_bytes(), key_bytes(), key_shapes(), counts)
    return counts


def find(text: str) -> pa.Table:
    """Return the marks of one text: kind, and start and end as half-open UTF-8 byte offsets."""
    data = np.frombuffer(text.encode() or b"\0", np.uint8)
    rows = list(_located(data, len(text.encode())))
    kinds = pa.array([KINDS[kind] for kind, _, _ in rows], pa.string())
    return pa.table({"kind": kinds, "start": [row[1] for row in rows], "end": [row[2] for row in rows]})


def _located(data: UInt8, end: int) -> list[tuple[int, int, int]]:
    found, at = [], 0
    while at < end:
        kind, first, behind = _next(data, 0, at, end, classes_of_bytes(), key_bytes(), key_shapes())
        if kind >= 0:
            found.append((kind, first, behind))
        at = behind
    return found


@compiled
def _count(data: UInt8, offsets: Int64, classes: UInt8, keys: UInt8, shapes: Int64, counts: Int64) -> None:
    for row in range(len(offsets) - 1):
        start = at = offsets[row]
        end = offsets[row + 1]
        while at < end:
            kind, first, at = _next(data, start, at, end, classes, keys, shapes)
            if kind >= 0:
                counts[row, kind] += 1
                if kind == LINK:
                    counts[row, LINK_BYTES] += at - first


@compiled
def _next(
    data: UInt8, start: int, at: int, end: int, classes: UInt8, keys: UInt8, shapes: Int64
) -> tuple[int, int, int]:
    """Return the next mark at or behind a byte: kind (-1: there is none), first byte, byte behind."""
    floor = at  # an address's local part reaches back, though not into the mark before
    while at < end:
        byte = data[at]
        if not classes[byte] & TRIGGER:
            at += 1
            continue
        if byte == 64:
            first, behind = _email(data, floor, at, end, classes)
            if behind > first:
                return EMAIL, first, behind
        elif at == start or not classes[data[at - 1]] & (LETTER | DIGIT):
            if byte == 104 or byte == 119 or byte == 72 or byte == 87:
                behind = _link(data, at, end, classes)
                if behind > at:
                    return LINK, at, behind
            behind = _key(data, at, end, classes, keys, shapes)
            if behind > at:
                return KEY, at, behind
            behind = _ip(data, start, at, end, classes)
            if behind > at:
                return IP, at, behind
            if byte == 43 or byte == 40 or classes[byte] & DIGIT:
                behind = _phone(data, start, at, end, classes)
                if behind > at:
                    return PHONE, at, behind
        at += 1
    return -1, end, end


@compiled
def _email(data: UInt8, floor: int, sign: int, end: int, classes: UInt8) -> tuple[int, int]:
    first = sign
    while first > floor and sign - first < 64 and classes[data[first - 1]] & LOCAL:
        first -= 1
    while first < sign and not classes[data[first]] & (LETTER | DIGIT):
        first += 1
    at, dot, behind = sign + 1, -1, sign
    while at < end and at - sign < 255 and (classes[data[at]] & (LETTER | DIGIT) or data[at] == 45 or data[at] == 46):
        if data[at] == 46:
            if data[at - 1] == 46 or at == sign + 1:
                break
            dot = at
        elif dot > 0 and classes[data[at]] & LETTER and at - dot >= 2:
            behind = at + 1
        at += 1
    if first == sign or behind == sign:
        return sign, sign
    return first, behind


@compiled
def _link(data: UInt8, at: int, end: int, classes: UInt8) -> int:
    first = _after(data, at, end)
    if first == at:
        return at
    behind = first
    while behind < end and not classes[data[behind]] & LINK_END:
        behind += 1
    while behind > first and _is_trailing(data[behind - 1]):
        behind -= 1
    return behind if behind > first else at


@compiled
def _after(data: UInt8, at: int, end: int) -> int:
    """Return the byte behind `http://`, `https://` or `www.` in any case, or `at`."""
    if end - at > 4 and data[at] | 32 == 119:
        www = data[at + 1] | 32 == 119 and data[at + 2] | 32 == 119 and data[at + 3] == 46
        return at + 4 if www else at
    if end - at < 8 or data[at] | 32 != 104 or data[at + 1] | 32 != 116 or data[at + 2] | 32 != 116:
        return at
    if data[at + 3] | 32 != 112:
        return at
    colon = at + 4 + (data[at + 4] | 32 == 115)
    if colon + 2 < end and data[colon] == 58 and data[colon + 1] == 47 and data[colon + 2] == 47:
        return int(colon + 3)
    return at


@compiled
def _is_trailing(byte: int) -> bool:
    for sign in _TRAILING:  # noqa: SIM110 - any() over a generator does not compile
        if byte == sign:
            return True
    return False


@compiled
def _key(data: UInt8, at: int, end: int, classes: UInt8, keys: UInt8, shapes: Int64) -> int:
    prefix_at = 0
    for kind in range(len(shapes)):
        prefix_end, least, most = shapes[kind]
        length = prefix_end - prefix_at
        alike = 0
        while alike < length and at + alike < end and data[at + alike] == keys[prefix_at + alike]:
            alike += 1
        prefix_at = prefix_end
        if alike == length:
            behind = at + length
            while behind < end and behind - at - length <= most and classes[data[behind]] & KEY_SIGN:
                behind += 1
            if least <= behind - at - length <= most:
                return int(behind)
    return at


@compiled
def _ip(data: UInt8, start: int, at: int, end: int, classes: UInt8) -> int:
    if not classes[data[at]] & HEX or (at > start and (data[at - 1] == 46 or data[at - 1] == 58 or data[at - 1] == 45)):
        return at
    behind = _ipv4(data, at, end, classes)
    behind = _ipv6(data, at, end, classes) if behind == at else behind
    if behind < end:
        touched = classes[data[behind]] & (LETTER | DIGIT) or data[behind] == 45
        dotted = data[behind] == 46 and behind + 1 < end and classes[data[behind + 1]] & (LETTER | DIGIT)
        if touched or dotted:
            return at
    return behind


@compiled
def _ipv4(data: UInt8, at: int, end: int, classes: UInt8) -> int:
    behind = at
    for part in range(4):
        if part:
            if behind >= end or data[behind] != 46:
                return at
            behind += 1
        number, first = 0, behind
        while behind < end and behind - first < 4 and classes[data[behind]] & DIGIT:
            number = number * 10 + int(data[behind]) - 48
            behind += 1
        if not 1 <= behind - first <= 3 or number > 255:
            return at
    return behind


@compiled
def _ipv6(data: UInt8, at: int, end: int, classes: UInt8) -> int:
    groups, short, first_length, behind = 0, False, 0, at
    while groups < 8:
        first = behind
        while behind < end and behind - first < 5 and classes[data[behind]] & HEX:
            behind += 1
        if behind - first > 4:
            return at
        if behind == first:
            break
        groups += 1
        first_length = behind - first if groups == 1 else first_length
        if groups == 8 or behind + 1 >= end or data[behind] != 58:
            break
        if data[behind + 1] == 58:
            if short:
                return at
            short = True
            behind += 1
        elif not classes[data[behind + 1]] & HEX:
            break
        behind += 1
    if behind < end and data[behind] == 58 and behind + 1 < end and classes[data[behind + 1]] & HEX:
        return at
    return behind if groups == 8 or (short and first_length >= 3) else at


@compiled
def _phone(data: UInt8, start: int, at: int, end: int, classes: UInt8) -> int:
    if at > start and (data[at - 1] == 46 or data[at - 1] == 45 or data[at - 1] == 43 or data[at - 1] == 95):
        return at
    if data[at] == 43:
        return _international(data, at, end, classes)
    return _national(data, at, end, classes)


@compiled
def _international(data: UInt8, at: int, end: int, classes: UInt8) -> int:
    digits, last, behind = 0, at, at + 1
    separators = 0
    while behind < end and digits <= 15:
        if classes[data[behind]] & DIGIT:
            digits += 1
            last, separators = behind + 1, 0
        elif data[behind] == 32 or data[behind] == 45 or data[behind] == 46 or data[behind] == 40 or data[behind] == 41:
            separators += 1
            if separators > 2 or not digits:
                break
        else:
            break
        behind += 1
    touched = last < end and classes[data[last]] & LETTER
    return last if 8 <= digits <= 15 and not touched else at


@compiled
def _national(data: UInt8, at: int, end: int, classes: UInt8) -> int:
    opened = data[at] == 40
    behind = at + opened
    for group in range(3):
        length = 4 if group == 2 else 3
        if behind + length > end:
            return at
        for place in range(length):
            if not classes[data[behind + place]] & DIGIT:
                return at
        behind += length
        if group == 0 and opened:
            if behind + 1 >= end or data[behind] != 41:
                return at
            behind += 1 + (data[behind + 1] == 32)
        elif group < 2:
            if behind >= end or not (data[behind] == 45 or data[behind] == 46 or data[behind] == 32):
                return at
            behind += 1
    touched = behind < end and (classes[data[behind]] & (LETTER | DIGIT) or data[behind] == 45)
    return at if touched else behind
