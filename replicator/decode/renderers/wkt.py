"""Geometry as well-known text, spaced as JTS spaces it: `POLYGON ((0 0, 1 0, 1 1, 0 0))`.

The value is four bytes of SRID, which the text does not have, and then WKB; axes stay in storage order. Numbers have no
exponent, and no more digits than read back as the same number.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from replicator.decode.renderers.contract import Rendering
from replicator.errors import DecodeError
from replicator.model.table import Column, Table

_SRID: Final = 4
_POINT: Final = struct.Struct("<dd")
_UINT32: Final = struct.Struct("<I")
_MAX_DEPTH: Final = 100

_Body = Callable[[bytes, int, int], tuple[str, int]]


def geometry(column: Column, table: Table) -> Rendering:
    """A JSON string. The text has letters, digits and punctuation only, so nothing is escaped."""
    return Rendering("bytes", "f'\"{wkt(v)}\"'", {"wkt": to_text}, hint=45)


def to_text(raw: bytes) -> str:
    """Raises DecodeError E2302 where `raw` is no geometry."""
    try:
        text, end = _tagged(raw, _SRID, 0)
        if end != len(raw):
            raise ValueError(end)
    except (struct.error, IndexError, ValueError, KeyError, OverflowError) as error:
        raise DecodeError("E2302", "a geometry is damaged", found=raw[:64].hex()) from error
    return text


def _tagged(raw: bytes, at: int, depth: int) -> tuple[str, int]:
    """(text of the WKB geometry that begins at `at`, offset behind it)."""
    name, body = _KINDS[_kind(raw, at)]
    text, at = body(raw, at + 5, depth)
    return f"{name} {text}", at


def _kind(raw: bytes, at: int) -> int:
    if raw[at] != 1:
        raise ValueError("byte order")  # the servers store little-endian only
    return int(_UINT32.unpack_from(raw, at + 1)[0])


def _coordinates(raw: bytes, at: int) -> tuple[str, int]:
    x, y = _POINT.unpack_from(raw, at)
    return f"{_number(x)} {_number(y)}", at + 16


def _number(value: float) -> str:
    text = repr(value)
    if "e" in text:
        return format(Decimal(text), "f")
    return text.removesuffix(".0")


def _point(raw: bytes, at: int, depth: int) -> tuple[str, int]:
    text, at = _coordinates(raw, at)
    return f"({text})", at


def _list(item: _Body) -> _Body:
    """A count and so many items in parentheses."""

    def body(raw: bytes, at: int, depth: int) -> tuple[str, int]:
        (count,) = _UINT32.unpack_from(raw, at)
        at += 4
        if count > len(raw) or depth > _MAX_DEPTH:
            raise ValueError(count)
        items = []
        for _ in range(count):
            text, at = item(raw, at, depth + 1)
            items.append(text)
        return f"({', '.join(items)})" if items else "EMPTY", at

    return body


def _inner(kind: int) -> _Body:
    """An item of a MULTI geometry: its tag is in the bytes and not in the text."""

    def body(raw: bytes, at: int, depth: int) -> tuple[str, int]:
        if _kind(raw, at) != kind:
            raise ValueError(kind)
        return _KINDS[kind][1](raw, at + 5, depth)

    return body


_LINE: Final = _list(lambda raw, at, depth: _coordinates(raw, at))

_KINDS: Final[dict[int, tuple[str, _Body]]] = {
    1: ("POINT", _point),
    2: ("LINESTRING", _LINE),
    3: ("POLYGON", _list(_LINE)),
    4: ("MULTIPOINT", _list(_inner(1))),
    5: ("MULTILINESTRING", _list(_inner(2))),
    6: ("MULTIPOLYGON", _list(_inner(3))),
    7: ("GEOMETRYCOLLECTION", _list(_tagged)),
}
