from __future__ import annotations

import base64
import json
import struct

import pytest

from replicator.errors import DecodeError
from replicator.model import types
from tests.unit.decode.renderers.column import render


def point(x: float, y: float, srid: int = 0) -> bytes:
    return struct.pack("<IBIdd", srid, 1, 1, x, y)


def test_a_point_column_has_coordinates() -> None:
    text = render("geometry", point(1, 2), types.GEOMETRY, geometry=1)
    assert text == b'{"x":1.0,"y":2.0,"wkb":"AQEAAAAAAAAAAADwPwAAAAAAAABA","srid":null}'


def test_the_srid_is_kept_and_the_axes_stay_as_stored() -> None:
    text = render("geometry", point(13.4, 52.5, 4326), types.GEOMETRY, geometry=1)
    assert text == b'{"x":13.4,"y":52.5,"wkb":"AQEAAADNzMzMzMwqQAAAAAAAQEpA","srid":4326}'


def test_a_point_in_a_geometry_column_has_none() -> None:
    text = render("geometry", point(-1.5, 1e10), types.GEOMETRY, geometry=0)
    assert text == b'{"wkb":"AQEAAAAAAAAAAAD4vwAAACBfoAJC","srid":null}'


def test_shapes_are_their_wkb() -> None:
    wkb = struct.pack("<BII", 1, 7, 0)
    value = json.loads(render("geometry", b"\0\0\0\0" + wkb, types.GEOMETRY, geometry=7))
    assert (base64.b64decode(value["wkb"]), value["srid"]) == (wkb, None)


@pytest.mark.parametrize("raw", [b"", point(1, 2)[:-1], struct.pack("<IBI", 0, 1, 2) + bytes(16)])
def test_damaged_points_stop(raw: bytes) -> None:
    with pytest.raises(DecodeError, match="E2302"):
        render("geometry", raw, types.GEOMETRY, geometry=1)


def test_vectors_are_arrays_of_floats() -> None:
    assert render("vector", struct.pack("<3f", 1, -2.5, 3e10), types.VECTOR) == b"[1.0,-2.5,3.0E10]"
    assert render("vector", b"", types.VECTOR) == b"[]"
    with pytest.raises(DecodeError, match=r"E2302.*VECTOR"):
        render("vector", b"\0\0\0", types.VECTOR)
