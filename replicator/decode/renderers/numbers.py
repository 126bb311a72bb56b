"""Renderers of numbers, bits and years."""

from __future__ import annotations

import struct
from binascii import b2a_base64
from collections.abc import Callable
from functools import cache
from typing import Final

from replicator.decode.renderers.cache import Cache
from replicator.decode.renderers.contract import Rendering
from replicator.decode.renderers.quoting import base64
from replicator.decode.values import java_floats
from replicator.decode.values.decimals import reader
from replicator.model import types
from replicator.model.table import Column, Table

_CUTS: Final = {types.SHORT: ("<h", "<H"), types.LONG: ("<i", "<I"), types.LONGLONG: ("<q", "<Q")}
_BYTES: Final = (tuple(str(v - 256 if v > 127 else v) for v in range(256)), tuple(str(v) for v in range(256)))


def integer(column: Column, table: Table) -> Rendering:
    """Every integer type as its value."""
    if column.type == types.TINY:
        names = {"tinyu": _BYTES[1]} if column.unsigned else {"tinys": _BYTES[0]}
        return Rendering("B", f"{next(iter(names))}[v]", names, hint=4)
    if column.type == types.INT24:
        signed = "" if column.unsigned else ", signed=True"
        return Rendering("<3s", f"f\"{{from_bytes(v, 'little'{signed})}}\"", {"from_bytes": int.from_bytes}, hint=3)
    return Rendering(_CUTS[column.type][column.unsigned], 'f"{v}"', hint=3)


def integer_java(column: Column, table: Table) -> Rendering:
    """As `integer`, but BIGINT UNSIGNED as Java's signed long: 2^63 and above turn negative."""
    if column.type == types.LONGLONG:
        return Rendering("<q", 'f"{v}"', hint=3)
    return integer(column, table)


def year(column: Column, table: Table) -> Rendering:
    """YEAR as a number; 0000 is 0."""
    return Rendering("B", "years[v]", {"years": _YEARS}, hint=4)


_YEARS: Final = ("0", *(str(1900 + v) for v in range(1, 256)))


def bit(column: Column, table: Table) -> Rendering:
    """BIT(1) as true or false, BIT(n) as Base64 of its bytes, lowest first."""
    size = (column.meta >> 8) + bool(column.meta & 0xFF)
    if column.meta == 1:
        return Rendering("B", '("true" if v else "false")', hint=5)
    return Rendering(f">{size}s", "base64(v[::-1])", {"base64": base64})


def decimal(column: Column, table: Table) -> Rendering:
    """Base64 of the unscaled value, big-endian two's complement in as few bytes as hold it."""
    precision, scale = column.meta >> 8, column.meta & 0xFF
    name = f"decimal_{precision}_{scale}"
    size, texts = _decimals(precision, scale)
    return Rendering(f">{size}s", f"{name}[v]", {name: texts})


@cache
def _decimals(precision: int, scale: int) -> tuple[int, Cache[bytes]]:
    size, read = reader(precision, scale)
    return size, Cache(lambda raw: _unscaled(read(raw)))


def _unscaled(value: int) -> str:
    size = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return '"' + b2a_base64(value.to_bytes(size, "big", signed=True), newline=False).decode("ascii") + '"'


def floating(column: Column, table: Table) -> Rendering:
    """FLOAT and DOUBLE as Java's text."""
    if column.type == types.FLOAT:
        return Rendering("<4s", "float32[v]", {"float32": _FLOATS}, hint=4)
    return Rendering("<d", "(repr(v) if 0.001 <= v < 1e7 else float64(v))", {"float64": java_floats.double}, hint=4)


def _single(raw: bytes) -> str:
    return java_floats.single(struct.unpack("<f", raw)[0])


_FLOATS: Final[Cache[bytes]] = Cache(_single)

RENDERERS: Final[dict[str, tuple[Callable[[Column, Table], Rendering], frozenset[int]]]] = {
    "int": (integer, types.INTEGERS),
    "int_java": (integer_java, types.INTEGERS),
    "year": (year, frozenset({types.YEAR})),
    "bit": (bit, frozenset({types.BIT})),
    "decimal_base64": (decimal, frozenset({types.NEWDECIMAL})),
    "float_java": (floating, frozenset({types.FLOAT, types.DOUBLE})),
}
