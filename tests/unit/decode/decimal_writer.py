"""DECIMAL as the servers write it, from the layout in MySQL's strings/decimal.cc, digit by digit."""

from __future__ import annotations

_BYTES = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4]


def write_decimal(unscaled: int, precision: int, scale: int) -> bytes:
    digits = str(abs(unscaled)).rjust(precision, "0")
    whole, fraction = digits[: precision - scale], digits[precision - scale :]
    out = b""
    head = len(whole) % 9
    for group in [whole[:head], *(whole[i : i + 9] for i in range(head, len(whole), 9))]:
        out += int(group or "0").to_bytes(_BYTES[len(group)], "big")
    for start in range(0, len(fraction), 9):
        group = fraction[start : start + 9]
        out += int(group).to_bytes(_BYTES[len(group)], "big")
    if unscaled < 0:
        out = bytes(255 - byte for byte in out)
    return bytes([out[0] ^ 0x80]) + out[1:]
