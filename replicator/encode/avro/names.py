"""Adjusts names to Avro's rules: `schema.name.adjustment.mode` and `field.name.adjustment.mode`."""

from __future__ import annotations

import re
from typing import Final

from replicator.config.avro import Adjustment

_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_FULL: Final = re.compile(rf"{_FIELD.pattern}(\.{_FIELD.pattern})*", re.ASCII)


def fits(name: str, *, dots: bool = False) -> bool:
    """`dots`: as the full name of a record, with its namespace."""
    return bool((_FULL if dots else _FIELD).fullmatch(name))


def adjusted(name: str, mode: Adjustment, *, dots: bool = False) -> str:
    """What Avro does not take becomes `_`; or `_u` and its number in hexadecimal as Debezium writes it: then `_`, too,
    so that no two names become one.

    A digit at the beginning stays behind its `_`. Characters are UTF-16 units, as in Java. Full names are adjusted part
    by part: Debezium lets `shop.123.Key` pass, which registries refuse.
    """
    if mode == "none":
        return name
    if dots:
        return ".".join(adjusted(part, mode) or "_" for part in name.split("."))
    data = name.encode("utf-16-be", "surrogatepass")
    units = [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
    escapes = mode == "avro_unicode"
    parts = []
    for place, unit in enumerate(units):
        char = chr(unit)
        letter = (char.isascii() and char.isalpha()) or (char == "_" and not escapes)
        digit = char.isascii() and char.isdigit()
        if letter or (place and digit):
            parts.append(char)
        elif escapes:
            parts.append(f"_u{'00' if unit < 0x100 else ''}{unit:x}")
        else:
            parts.append(f"_{char}" if digit else "_")
    return "".join(parts)
