"""Renderers of geometry and vectors."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from replicator.decode.renderers.contract import Rendering
from replicator.decode.renderers.quoting import base64
from replicator.decode.values import java_floats
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.table import Column, Table

_POINT: Final = 1
_POINT_WKB: Final = struct.Struct("<BIdd")


def geometry(column: Column, table: Table) -> Rendering:
    """{"wkb","srid"}, in columns of type POINT {"x","y","wkb","srid"}; `srid` is null for 0.

    The value is four bytes of SRID and then WKB, as both servers store it; axes stay in storage order.
    """
    if column.geometry == _POINT:
        return Rendering("bytes", "point(v)", {"point": _point}, hint=8)
    return Rendering("bytes", "shape(v)", {"shape": _shape}, hint=8)


def _shape(raw: bytes) -> str:
    return "{" + _wkb(raw) + "}"


def _point(raw: bytes) -> str:
    try:
        order, kind, x, y = _POINT_WKB.unpack_from(raw, 4)
    except struct.error as error:
        raise DecodeError("E2302", "a POINT is truncated", found=raw.hex()) from error
    if (order, kind) != (1, _POINT):
        raise DecodeError("E2302", "a POINT column contains another type", found=f"byte order {order}, type {kind}")
    return f'{{"x":{java_floats.double(x)},"y":{java_floats.double(y)},{_wkb(raw)}}}'


def _wkb(raw: bytes) -> str:
    if len(raw) < 9:
        raise DecodeError("E2302", "a geometry is truncated", found=raw.hex())
    srid = int.from_bytes(raw[:4], "little")
    return f'"wkb":{base64(raw[4:])},"srid":{srid or "null"}'


def vector(column: Column, table: Table) -> Rendering:
    """MySQL's VECTOR as an array of 32-bit numbers."""
    return Rendering("bytes", "vector(v)", {"vector": vector_text}, hint=5)


def vector_text(raw: bytes) -> str:
    """JSON array of its numbers. Raises DecodeError E2302 for half a number."""
    if len(raw) % 4:
        raise DecodeError("E2302", "a VECTOR is truncated", found=f"{len(raw)} bytes", wanted="a multiple of 4")
    return "[" + ",".join(map(java_floats.single, struct.unpack(f"<{len(raw) // 4}f", raw))) + "]"


RENDERERS: Final[dict[str, tuple[Callable[[Column, Table], Rendering], frozenset[int]]]] = {
    "geometry": (geometry, frozenset({types.GEOMETRY})),
    "vector": (vector, frozenset({types.VECTOR})),
}
