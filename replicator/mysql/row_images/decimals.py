"""DECIMAL as text -> as the binlog has it (`decimal2bin` in MySQL's strings/decimal.cc)."""

from __future__ import annotations

from typing import Final

_BYTES: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes that a group of 0 to 9 digits takes."""


def pack(text: bytes, precision: int, scale: int) -> bytes:
    """`-12.30` as decimal.cc packs it: groups of nine digits from the point outwards; negative ones inverted."""
    negative = text.startswith(b"-")
    whole, _, fraction = text.lstrip(b"-").partition(b".")
    digits = whole[-(precision - scale) :] if precision > scale else b""
    digits = digits.rjust(precision - scale, b"0")
    fraction = fraction.ljust(scale, b"0")
    head = (precision - scale) % 9
    out = bytearray()
    for group in (digits[:head], *(digits[i : i + 9] for i in range(head, len(digits), 9))):
        out += int(group or b"0").to_bytes(_BYTES[len(group)], "big")
    for start in range(0, scale, 9):
        group = fraction[start : start + 9]
        out += int(group).to_bytes(_BYTES[len(group)], "big")
    if negative and any(out):
        out = bytearray(255 - byte for byte in out)
    out[0] ^= 0x80
    return bytes(out)
