"""Values as the renderers write them come back as they were in the row image."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.topics.texts import encoder
from replicator.decode.topics.values import Notation, packer, sent_type
from replicator.decode.values.charsets import decode
from replicator.model import types
from replicator.model.collations import COLLATIONS
from replicator.mysql.row_images.row_image import RowImages
from replicator.mysql.table_shape import ColumnShape


def shape(kind: int, meta: int = 0, **more: Any) -> ColumnShape:
    return ColumnShape("c", kind, meta, nullable=True, expression="c", **more)


def image(column: ColumnShape, notation: Notation, text: str) -> bytes:
    """The value in an image, without the null bitmap."""
    packet = b"\0\0" + packer(column, notation)(text.encode())
    return RowImages([column], [sent_type(column)], mariadb=False).image(packet)[1:]


@pytest.mark.parametrize(
    ("kind", "unsigned", "low", "high"),
    [
        (types.TINY, False, -128, 127), (types.TINY, True, 0, 255), (types.SHORT, False, -32768, 32767),
        (types.INT24, False, -8388608, 8388607), (types.INT24, True, 0, 16777215), (types.LONG, True, 0, 4294967295),
        (types.LONGLONG, False, -(1 << 63), (1 << 63) - 1), (types.LONGLONG, True, 0, (1 << 64) - 1),
    ],
)  # fmt: skip
def test_integers(kind: int, unsigned: bool, low: int, high: int) -> None:
    column = shape(kind, unsigned=unsigned)
    size = {types.TINY: 1, types.SHORT: 2, types.INT24: 3, types.LONG: 4, types.LONGLONG: 8}[kind]
    for value in (low, high, 0, 1):
        assert image(column, "int", str(value)) == value.to_bytes(size, "little", signed=value < 0)
    for value in (low - 1, high + 1):
        with pytest.raises(ValueError, match="range"):
            image(column, "int", str(value))


def test_unsigned_as_java_writes_it() -> None:
    column = shape(types.LONGLONG, unsigned=True)
    assert image(column, "int_java", "-1") == b"\xff" * 8
    assert image(column, "unsigned_base64", '"AP//////////"') == b"\xff" * 8


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-99999, max_value=99999))
def test_decimals(value: Any) -> None:
    column = shape(types.NEWDECIMAL, 8 << 8 | 3)
    text = f"{value:f}"
    unscaled = int(value.scaleb(3))
    raw = unscaled.to_bytes(8, "big", signed=True)
    import base64

    found = {
        image(column, "decimal_text", f'"{text}"'),
        image(column, "decimal_number", text),
        image(column, "decimal_base64", json.dumps(base64.b64encode(raw).decode())),
    }
    assert len(found) == 1


@pytest.mark.parametrize("text", ["123456", "0.0001", "1e9", '"x"', ".", "", "-"])
def test_decimals_that_do_not_fit(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        image(shape(types.NEWDECIMAL, 8 << 8 | 3), "decimal_number", text)


def test_exponents() -> None:
    column = shape(types.NEWDECIMAL, 20 << 8 | 10)
    assert image(column, "decimal_number", "1.5E-9") == image(column, "decimal_number", "0.0000000015")
    assert image(column, "decimal_number", "-12E2") == image(column, "decimal_number", "-1200")


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_singles(value: float) -> None:
    raw = struct.pack("<f", value)
    column = shape(types.FLOAT, 4)
    from replicator.decode.values import java_floats

    assert image(column, "float", java_floats.single(value)) == raw


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles(value: float) -> None:
    from replicator.decode.values import java_floats

    assert image(shape(types.DOUBLE, 8), "float", java_floats.double(value)) == struct.pack("<d", value)


@pytest.mark.parametrize(
    ("column", "notation", "text"),
    [
        (shape(types.DATETIME2, 0), "datetime_ms", "1700000000123"),
        (shape(types.DATETIME2, 3), "datetime_us", "1700000000123456"),
        (shape(types.DATETIME2, 6), "datetime_text", '"2024-13-01 00:00:00"'),
        (shape(types.DATETIME2, 6), "datetime_us", "999999999999999999"),
        (shape(types.TIME2, 0), "time_us", "1"),
        (shape(types.TIME2, 0), "time_us", str(839 * 3600 * 1_000_000)),
        (shape(types.DATE), "date_text", '"2024-1-1"'),
        (shape(types.TIMESTAMP2, 0), "timestamp_text", '"1969-12-31T23:59:59Z"'),
        (shape(types.TIMESTAMP2, 0), "timestamp_text", '"2024-02-30T00:00:00Z"'),
        (shape(types.YEAR), "year", "1900"),
        (shape(types.BIT, 3), "bit_int", "8"),
        (shape(types.VARCHAR, 40, collation=255, charset="utf8mb4"), "text", '"12345678901"'),
        (shape(types.VARCHAR, 4, collation=8, charset="latin1"), "text", '"Ж"'),
        (shape(types.VARCHAR, 12, collation=33, charset="utf8mb3"), "text", '"😀"'),
        (shape(types.VARCHAR, 4, collation=63), "base64", '"AAAAAAA="'),
        (shape(types.VARCHAR, 4, collation=63), "base64", '"not base64"'),
        (shape(types.ENUM, 1, texts=("a",)), "enum", '"b"'),
        (shape(types.SET, 1, texts=("a", "b")), "set", '"a,c"'),
        (shape(types.JSON, 4), "json", "{"),
        (shape(types.LONG), "int", '"1"'),
        (shape(types.LONG), "int", "1.5"),
        (shape(types.GEOMETRY, 4), "geometry", '{"srid":1}'),
        (shape(types.VECTOR, 4, dimensions=1), "vector", "[1,2]"),
    ],
)
def test_values_that_do_not_fit(column: ColumnShape, notation: Notation, text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        image(column, notation, text)


SINGLE = [name for name in COLLATIONS if name not in ("binary", "hp8")]


@pytest.mark.parametrize("name", SINGLE)
def test_character_sets(name: str) -> None:
    """Of every text that a column of this character set can have: its bytes, or a refusal."""
    collation = int(COLLATIONS[name].split()[0].split("-")[0])
    refused = taken = 0
    for code in [*range(0x20, 0x250), *range(0x370, 0x500), 0x20AC, *range(0x3041, 0x3100), *range(0x4E00, 0x4E80)]:
        text = chr(code)
        try:
            raw = encoder(collation)(text)
        except ValueError:
            refused += 1
            continue
        taken += 1
        assert decode(collation, raw) == text
    assert taken > 60


@given(st.text(max_size=20))
def test_utf8(text: str) -> None:
    assert encoder(255)(text).decode() == text


def test_enum_error_value() -> None:
    assert image(shape(types.ENUM, 1, texts=("a",)), "enum", '""') == b"\0"
    assert image(shape(types.ENUM, 1, texts=("", "a")), "enum", '""') == b"\1"
