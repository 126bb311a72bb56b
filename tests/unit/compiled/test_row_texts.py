"""Rows of statements: the compiled code and its twin write the same bytes, of rows of servers and of damaged ones."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator import compiled
from replicator.model import types
from replicator.mysql.row_images.decimals import pack
from replicator.mysql.table_shape import BINARY, ColumnShape
from replicator.sink.mysql.conflicts import key_literals
from replicator.sink.mysql.image_values import Layout
from replicator.sink.mysql.sql import literals, load_data, row_texts
from replicator.sink.mysql.sql.key_texts import keys_of
from replicator.sink.mysql.sql.row_texts import Form, RowTexts, Twin
from tests.support.json_documents import documents

pytestmark = pytest.mark.skipif(not compiled.available(), reason=f"not compiled: {compiled.why_not()}")


def column(kind: int, meta: int = 0, **more: object) -> ColumnShape:
    return ColumnShape("c", kind, meta, nullable=True, expression="", **{"charset": "utf8mb4", **more})  # type: ignore[arg-type]


def raw(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


def numbers(form: str, size: int) -> st.SearchStrategy[bytes]:
    few = st.sampled_from([0.0, -0.0, 1e15, 1e16, 123456.789, 1e-4, 1e-5, 5e-324, 1e22, -2.5, 1e100, 0.1])
    exact = (few | st.floats(allow_nan=False)).map(lambda value: struct.pack("<d", value))
    return exact if form == "<d" else st.floats(width=32, allow_nan=False).map(lambda value: struct.pack("<f", value))


def decimals(precision: int, scale: int) -> st.SearchStrategy[bytes]:
    most = 10 ** (precision - scale) - 1
    return st.decimals(-most, most, places=scale).map(
        lambda value: pack(f"{value:.{scale}f}".encode(), precision, scale)
    )


hours: st.SearchStrategy[bytes] = st.integers(-838, 838).map(
    lambda hour: ((0x800000 + (hour << 12)) << 24).to_bytes(6, "big")
)

COLUMNS: Sequence[tuple[ColumnShape, int, st.SearchStrategy[bytes]]] = [
    (column(types.TINY), 1, raw(1)),
    (column(types.SHORT, unsigned=True), 2, raw(2)),
    (column(types.INT24), 3, raw(3)),
    (column(types.LONGLONG), 8, raw(8)),
    (column(types.LONGLONG, unsigned=True), 8, raw(8)),
    (column(types.ENUM, 2), 2, raw(2) | st.just(b"\0\0")),
    (column(types.SET, 8), 8, raw(8)),
    (column(types.BIT, 1 << 8 | 4), 2, raw(2)),
    (column(types.YEAR), 1, raw(1)),
    (column(types.FLOAT, 4), 4, numbers("<f", 4) | raw(4)),
    (column(types.DOUBLE, 8), 8, numbers("<d", 8) | raw(8)),
    (column(types.NEWDECIMAL, 65 << 8 | 30), 30, decimals(65, 30) | raw(30)),
    (column(types.NEWDECIMAL, 9 << 8 | 9), 4, decimals(9, 9) | raw(4)),
    (column(types.NEWDECIMAL, 10 << 8), 5, decimals(10, 0) | raw(5)),
    (column(types.NEWDECIMAL, 20 << 8 | 11), 9, decimals(20, 11) | raw(9)),
    (column(types.DATE), 3, raw(3) | st.just(bytes(3))),
    (column(types.DATETIME2), 5, raw(5)),
    (column(types.DATETIME2, 6), 8, raw(8) | st.just(bytes.fromhex("99b2c20000000001"))),
    (column(types.TIMESTAMP2, 3), 6, raw(6) | st.just(bytes(6))),
    (column(types.TIMESTAMP2), 4, raw(4)),
    (column(types.TIME2, 2), 4, raw(4)),
    (column(types.TIME2, 6), 6, raw(6) | hours),
    (column(types.VARCHAR, 99), -1, st.binary(max_size=40)),
    (column(types.STRING, 8, collation=BINARY), -1, st.binary(max_size=8)),
    (column(types.BLOB, 2, collation=BINARY), -2, st.lists(st.sampled_from(b"\\\t\nN"), max_size=20).map(bytes)),
    (column(types.JSON, 4), -4, documents | st.binary(max_size=9)),
]  # fmt: skip
WRITTEN = tuple(range(len(COLUMNS)))
SHAPES = tuple(each[0] for each in COLUMNS)
LAYOUT = Layout(tuple(each[1] for each in COLUMNS), ())

rows = st.lists(st.tuples(*(st.none() | each[2] for each in COLUMNS)), min_size=1, max_size=4)


def image(row: Sequence[bytes | None]) -> bytes:
    nulls = sum(1 << index for index, value in enumerate(row) if value is None)
    parts = [nulls.to_bytes((len(row) + 7) // 8, "little")]
    for (_, size, _), value in zip(COLUMNS, row, strict=True):
        if value is not None:
            parts.append(value if size > 0 else len(value).to_bytes(-size, "little") + value)
    return b"".join(parts)


def both(shapes: Sequence[ColumnShape], layout: Layout, form: str) -> tuple[RowTexts, RowTexts]:
    """The compiled one, and the twin."""
    members = row_texts.enum_columns(shapes, range(len(shapes)))
    write, code, notation = {
        "insert": (literals.literal_of, literals.code_of, literals.VALUES),
        "load data": (load_data.write_of, load_data.code_of, load_data.LINES),
    }[form]
    fields = [row_texts.Field(index, write(shape), code(shape)) for index, shape in enumerate(shapes)]
    made = row_texts.row_texts(layout, fields, members, notation)
    assert not isinstance(made, Twin)
    return made, Twin(layout, fields, members, notation)


def told(texts: RowTexts, images: bytes, most_rows: int, most: int) -> list[object]:
    found: list[object] = []
    try:
        found += row_texts.pieces(texts, images, most_rows, most)
    except (ValueError, IndexError, OverflowError, struct.error):
        found.append("refused")
    return found


@pytest.mark.parametrize("form", ["insert", "load data"])
@given(rows, st.sampled_from([-1, 1, 2]), st.sampled_from([1, 500, 1 << 20]))
def test_the_same_bytes(form: str, given_: list[tuple[bytes | None, ...]], most_rows: int, most: int) -> None:
    made, twin = both(SHAPES, LAYOUT, form)
    images = b"".join(map(image, given_))
    assert told(made, images, most_rows, most) == told(twin, images, most_rows, most)


@pytest.mark.parametrize("form", ["insert", "load data"])
@pytest.mark.parametrize("index", WRITTEN)
@given(st.data())
def test_each_type(form: str, index: int, data: st.DataObject) -> None:
    """Alone, so that a value without a text hides no other one."""
    shape, size, values = COLUMNS[index]
    made, twin = both([shape], Layout((size,), ()), form)
    value = data.draw(values)
    raw_image = b"\0" + (value if size > 0 else len(value).to_bytes(-size, "little") + value)
    assert told(made, raw_image * 2, -1, 1 << 20) == told(twin, raw_image * 2, -1, 1 << 20)


@given(st.binary(max_size=300), rows, st.integers(0, 400))
def test_damaged_images(other: bytes, given_: list[tuple[bytes | None, ...]], cut: int) -> None:
    made, twin = both(SHAPES, LAYOUT, "insert")
    for images in (other, b"".join(map(image, given_))[: -1 - cut]):
        assert told(made, images, -1, 1 << 20) == told(twin, images, -1, 1 << 20)


@given(rows, st.integers(0, 400), st.booleans())
def test_halves_of_updates(given_: list[tuple[bytes | None, ...]], cut: int, whole: bool) -> None:
    made, twin = both(SHAPES, LAYOUT, "insert")
    befores, afters = list(map(image, given_)), list(map(image, reversed(given_)))
    images = b"".join(b"".join(pair) for pair in zip(befores, afters, strict=True))
    if whole:
        assert made.halves(images) == (b"".join(befores), b"".join(afters)) == twin.halves(images)
        return
    found = []
    for each in (made, twin):
        try:
            found.append(each.halves(images[: -1 - cut]))
        except ValueError as error:
            found.append((b"", str(error).encode()))
    assert found[0] == found[1]


KEYS = [index for index, shape in enumerate(SHAPES) if key_literals.usable(shape)]


@given(rows, st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True))
def test_keys(given_: list[tuple[bytes | None, ...]], key: list[int]) -> None:
    """As the literals of conflicts have them, for which each is made by itself."""
    shapes = [ColumnShape(**{**msgspec.structs.asdict(shape), "collation_name": "utf8mb4_bin"}) for shape in SHAPES]
    names = [b"`c%d`" % index for index in range(len(shapes))]
    keys = keys_of(LAYOUT, shapes, names, key)
    row = given_[0]

    def term() -> bytes:
        parts = []
        for index in key:
            value = row[index]
            text = b"NULL" if value is None else key_literals.literal(shapes[index], value).encode()
            parts.append(text if len(key) == 1 else b"%s=%s" % (names[index], text) if value is not None else b"NULL")
        return b" AND ".join(parts)

    try:
        wanted = term()
    except (ValueError, IndexError, OverflowError):
        assert told(keys.texts, image(row), -1, 1 << 20) == ["refused"]
        return
    assert keys.texts.piece(image(row), 0, -1, 1 << 20)[0] == wanted == keys.term(row)
    (found,) = keys.conditions(image(row) * 2, -1, 1 << 20)
    single = b"%s IN (%s,%s)" % (names[key[0]], wanted, wanted)
    assert found == (single if len(key) == 1 else b"(%s) OR (%s)" % (wanted, wanted), 2)


def test_tables_that_there_are_not() -> None:
    form = tuple(Form(b"", b"", b"", b"", b""))
    module = compiled.module("row_texts")
    for sizes, steps, fields in (
        ((4,), [], []),
        ((4,), [(1, 1, 0, 0, b"", b"")], [bytes]),
        ((4,), [(1, 0, 0, 0, b"", b"")], []),
    ):
        with pytest.raises(ValueError, match="no such"):
            module.RowTexts(sizes, steps, fields, [], form)
