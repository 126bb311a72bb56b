"""What a rule for Debezium holds for: (their text, our text) of one value -> whether that is the difference."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable


def columns(table: str, names: str) -> frozenset[str]:
    return frozenset(f"{table}.{name}" for name in names.split())


def single(text: str) -> bytes:
    return struct.pack("<f", float(text))


def exact(*pairs: dict[str, str]) -> Callable[[str, str], bool]:
    return lambda theirs, ours: any(some.get(theirs) == ours for some in pairs)


def as_long(theirs: str, ours: str) -> bool:
    """Base64 of a number that theirs is in 64 bits."""
    return int.from_bytes(base64.b64decode(json.loads(ours)), "big") == int(theirs) % (1 << 64)


def as_single(theirs: str, ours: str) -> bool:
    value = float(ours)
    if abs(value) > 3.5e38:
        return theirs == '"Infinity"'
    return theirs != ours and single(theirs) == single(ours)


def same_single(theirs: str, ours: str) -> bool:
    """The same 32-bit number, ours in no more digits."""
    return single(theirs) == single(ours) and len(ours) <= len(theirs)


def six_digits(theirs: str, ours: str) -> bool:
    """Theirs is what the server prints of a FLOAT."""
    return float(f"{float(ours):.6g}") == float(theirs)


def four_decimals(theirs: str, ours: str) -> bool:
    """Theirs is what the server prints of a DOUBLE(M,4)."""
    return round(float(ours), 4) == float(theirs)


def same_document(theirs: str, ours: str) -> bool:
    """Theirs is the server's text, with blanks and exponents."""
    return bool(json.loads(json.loads(theirs)) == json.loads(json.loads(ours)))


def zeros_cut(theirs: str, ours: str) -> bool:
    """Of a fraction of seconds."""
    return theirs[:-2].ljust(len(ours) - 2, "0") + 'Z"' == ours


def bytes_of_text(theirs: str, ours: str) -> bool:
    text, mine = json.loads(theirs), json.loads(ours)
    return mine in (base64.b64encode(text.encode()).decode(), text.encode().hex())


def only_theirs(*texts: str) -> Callable[[str, str], bool]:
    return lambda theirs, ours: not ours and any(text in theirs for text in texts)


def only_ours(*texts: str) -> Callable[[str, str], bool]:
    return lambda theirs, ours: not theirs and any(text in ours for text in texts)


def c1_controls(theirs: str, ours: str) -> bool:
    mine = json.loads(ours)
    return json.loads(theirs) == "".join("\ufffd" if char in "\x81\x8d\x8f\x90\x9d" else char for char in mine)
