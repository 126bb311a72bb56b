"""Values of row images -> the texts that SQL literals of numbers and times are made of: digits and separators."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

_GROUP: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes of a group of 0 to 9 decimal digits."""
_EPOCH: Final = datetime(1970, 1, 1)


def date(value: bytes) -> str:
    number = int.from_bytes(value, "little")
    return f"{number >> 9:04}-{number >> 5 & 15:02}-{number & 31:02}"


def date_time(value: bytes) -> str:
    packed = int.from_bytes(value[:5], "big") - 0x8000000000
    day, clock = packed >> 17, packed & 0x1FFFF
    months, day = day >> 5, day & 31
    return (
        f"{months // 13:04}-{months % 13:02}-{day:02} "
        f"{clock >> 12:02}:{clock >> 6 & 63:02}:{clock & 63:02}.{_micro(value[5:]):06}"
    )


def timestamp(value: bytes) -> str:
    """In UTC."""
    seconds, micro = int.from_bytes(value[:4], "big"), _micro(value[4:])
    if not seconds and not micro:
        return "0000-00-00 00:00:00"
    return (_EPOCH + timedelta(seconds=seconds, microseconds=micro)).isoformat(" ", "microseconds")


def time(value: bytes) -> str:
    size = len(value) - 3
    number = int.from_bytes(value, "big") - (0x800000 << 8 * size)
    sign, number = ("-", -number) if number < 0 else ("", number)
    clock, fraction = number >> 8 * size, number & ((1 << 8 * size) - 1)
    micro = fraction * int(10 ** (6 - 2 * size)) if size else 0
    return f"{sign}{clock >> 12:02}:{clock >> 6 & 63:02}:{clock & 63:02}.{micro:06}"


def decimal(value: bytes, precision: int, scale: int) -> str:
    negative = not value[0] & 0x80
    raw = bytes((value[0] ^ 0x80,)) + value[1:]
    if negative:
        raw = bytes(byte ^ 0xFF for byte in raw)
    whole, at = "", 0
    groups = [(precision - scale) % 9, *[9] * ((precision - scale) // 9)]
    for digits in groups:
        size = _GROUP[digits]
        whole += str(int.from_bytes(raw[at : at + size], "big")).rjust(digits, "0") if digits else ""
        at += size
    part = ""
    for digits in [*[9] * (scale // 9), scale % 9]:
        size = _GROUP[digits]
        part += str(int.from_bytes(raw[at : at + size], "big")).rjust(digits, "0") if digits else ""
        at += size
    return f"{'-' * negative}{whole or '0'}{'.' + part if part else ''}"


def _micro(fraction: bytes) -> int:
    return int.from_bytes(fraction, "big") * int(10 ** (6 - 2 * len(fraction)))
