"""Binary JSON as MySQL writes it, from the description at the head of sql-common/json_binary.h."""

from __future__ import annotations

import struct
from typing import Any

SMALL, LARGE = 2, 4


class Opaque:
    def __init__(self, kind: int, raw: bytes) -> None:
        self.kind = kind
        self.raw = raw


class Huge(int):
    """An integer written with eight bytes whatever its size; negative ones signed."""


def write(value: Any, *, large: bool = False) -> bytes:
    kind, body = _value(value, LARGE if large else SMALL)
    return bytes([kind]) + body


def _length(count: int) -> bytes:
    out = b""
    while True:
        count, low = count >> 7, count & 0x7F
        out += bytes([low | (0x80 if count else 0)])
        if not count:
            return out


def _integer(value: int) -> tuple[int, bytes]:
    if not isinstance(value, Huge):
        for kind, form in ((5, "<h"), (6, "<H"), (7, "<i"), (8, "<I")):
            try:
                return kind, struct.pack(form, value)
            except struct.error:
                continue
    return (9, struct.pack("<q", value)) if value < 2**63 else (10, struct.pack("<Q", value))


def _value(value: Any, width: int) -> tuple[int, bytes]:
    if value is None or isinstance(value, bool):
        return 4, bytes([{None: 0, True: 1, False: 2}[value]])
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return 11, struct.pack("<d", value)
    if isinstance(value, str):
        raw = value.encode()
        return 12, _length(len(raw)) + raw
    if isinstance(value, Opaque):
        return 15, bytes([value.kind]) + _length(len(value.raw)) + value.raw
    if isinstance(value, dict):
        return (0 if width == SMALL else 1), _container(list(value.values()), list(value), width)
    return (2 if width == SMALL else 3), _container(list(value), None, width)


def _container(values: list[Any], keys: list[str] | None, width: int) -> bytes:
    form = "<H" if width == SMALL else "<I"
    key_entries = len(keys or ()) * (width + 2)
    place = 2 * width + key_entries + len(values) * (1 + width)
    entries, tail = b"", b""
    for key in keys or ():
        raw = key.encode()
        entries += struct.pack(form, place + len(tail)) + struct.pack("<H", len(raw))
        tail += raw
    for value in values:
        kind, body = _value(value, width)
        inline = kind in ((4, 5, 6) if width == SMALL else (4, 5, 6, 7, 8))
        if inline:
            entries += bytes([kind]) + body.ljust(width, b"\0")
        else:
            entries += bytes([kind]) + struct.pack(form, place + len(tail))
            tail += body
    size = 2 * width + len(entries) + len(tail)
    return struct.pack(form, len(values)) + struct.pack(form, size) + entries + tail
