"""Well-known text, against a writer of WKB."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.renderers.wkt import to_text
from replicator.errors import DecodeError
from replicator.model import types
from tests.unit.decode.renderers.column import render

NAMES = ["", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION"]
number = st.floats(allow_nan=False, allow_infinity=False)
point = st.tuples(st.just(1), st.tuples(number, number))
line = st.tuples(st.just(2), st.lists(st.tuples(number, number), min_size=2, max_size=4))
polygon = st.tuples(st.just(3), st.lists(line.map(lambda made: made[1]), min_size=1, max_size=3))
simple = st.one_of(point, line, polygon)
multi = st.one_of(
    st.tuples(st.just(4), st.lists(point, min_size=1, max_size=3)),
    st.tuples(st.just(5), st.lists(line, min_size=1, max_size=3)),
    st.tuples(st.just(6), st.lists(polygon, min_size=1, max_size=3)),
)
geometry = st.recursive(simple | multi, lambda inner: st.tuples(st.just(7), st.lists(inner, max_size=3)), max_leaves=5)


def wkb(made: tuple[int, Any]) -> bytes:
    kind, parts = made
    body = struct.pack("<dd", *parts) if kind == 1 else struct.pack("<I", len(parts))
    if kind == 2:
        body += b"".join(struct.pack("<dd", *each) for each in parts)
    elif kind == 3:
        body += b"".join(wkb((2, ring))[5:] for ring in parts)
    elif kind > 3:
        body += b"".join(map(wkb, parts))
    return struct.pack("<BI", 1, kind) + body


def stored(made: tuple[int, Any], srid: int = 0) -> bytes:
    return struct.pack("<I", srid) + wkb(made)


def nested(text: str, kind: int) -> Any:
    """The numbers of a text, in lists as deep as its parentheses."""
    tokens = re.findall(r"[(),]|EMPTY|[A-Z]+|[-0-9.]+", text)
    assert "".join(tokens) == text.replace(" ", "")
    assert tokens[0] == NAMES[kind]
    return tokens[1:]


def expected(made: tuple[int, Any]) -> list[str]:
    kind, parts = made
    if kind == 1:
        return ["(", *map(plain, parts), ")"]
    if not parts:
        return ["EMPTY"]
    found = ["("]
    for each in parts:
        if kind == 2:
            found += map(plain, each)
        elif kind == 3:
            found += expected((2, each))
        else:
            found += ([NAMES[each[0]]] if kind == 7 else []) + expected(each)
        found.append(",")
    return [*found[:-1], ")"]


def plain(value: float) -> str:
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


@given(geometry, st.sampled_from([0, 4326]))
def test_every_kind(made: tuple[int, Any], srid: int) -> None:
    text = to_text(stored(made, srid))
    assert nested(text, made[0]) == expected(made)


@given(number)
def test_numbers_read_back(value: float) -> None:
    first = to_text(stored((1, (value, 0.0))))[len("POINT (") : -len(" 0)")]
    assert "e" not in first
    assert float(first) == value
    assert math.copysign(1, float(first)) == math.copysign(1, value)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        ((1, (-1.5, 1e10)), "POINT (-1.5 10000000000)"),
        ((3, [[(0, 0), (1, 0), (1, 1), (0, 0)], [(2, 2), (4, 2), (2, 2)]]),
         "POLYGON ((0 0, 1 0, 1 1, 0 0), (2 2, 4 2, 2 2))"),
        ((4, [(1, (1, 1)), (1, (2, 2))]), "MULTIPOINT ((1 1), (2 2))"),
        ((6, [(3, [[(0, 0), (1, 0), (0, 0)]])]), "MULTIPOLYGON (((0 0, 1 0, 0 0)))"),
        ((7, [(1, (1, 1)), (2, [(0, 0), (1, 1)])]), "GEOMETRYCOLLECTION (POINT (1 1), LINESTRING (0 0, 1 1))"),
        ((7, []), "GEOMETRYCOLLECTION EMPTY"),
    ],
)  # fmt: skip
def test_spaced_as_jts_does(made: tuple[int, Any], text: str) -> None:
    assert to_text(stored(made)) == text
    assert render("wkt", stored(made), types.GEOMETRY) == f'"{text}"'.encode()


@given(geometry, st.data())
def test_damage(made: tuple[int, Any], data: st.DataObject) -> None:
    raw = stored(made)
    end = data.draw(st.integers(0, len(raw) - 1))
    with pytest.raises(DecodeError, match="E2302"):
        to_text(raw[:end])
    with pytest.raises(DecodeError, match="E2302"):
        to_text(raw + b"\0")


@given(st.binary(max_size=60))
def test_any_bytes(raw: bytes) -> None:
    try:
        to_text(bytes(4) + raw)
    except DecodeError:
        return


def test_circles_and_depth_end() -> None:
    deep = struct.pack("<I", 0) + struct.pack("<BII", 1, 7, 1) * 500 + struct.pack("<BII", 1, 7, 0)
    with pytest.raises(DecodeError, match="E2302"):
        to_text(deep)
