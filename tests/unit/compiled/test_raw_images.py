"""Row images for database targets: what the programs write is what the generated Python functions write, and what is
copied is the image that was there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator import compiled
from replicator.decode.binlog.column_presence import IMAGES, Operation, usual_header
from replicator.decode.native.row_programs import native_rows
from replicator.decode.plan.compiler import compile_rows
from replicator.decode.renderers import rendering
from replicator.encode.row_images import RowImages
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.batch import Record
from replicator.model.plan import Image, RawImage, RawText, RecordPlan, TablePlan, Text
from replicator.model.table import Column, Table
from replicator.model.target_table import TargetTables
from tests.unit.compiled.test_rows import OPERATIONS, events, run, tables

_MASKS = ('mask:fixed:x"é😀', "mask:fixed:", "constant:null", "constant:12")


@st.composite
def raw_images(draw: Any, table: Table, image: Image, *, sized: bool = False) -> RawImage:
    """Some columns in any order, of which some have other values."""
    columns = tuple(
        draw(st.lists(st.sampled_from([column.index for column in table.columns]), min_size=1, max_size=12))
    )
    places = draw(st.sets(st.integers(0, len(columns) - 1), max_size=3))
    texts = tuple(
        RawText(place, draw(st.sampled_from(_MASKS) | st.none()), draw(st.integers(1, 4))) for place in sorted(places)
    )
    return RawImage(columns, image, sized, texts)


@st.composite
def plans(draw: Any, table: Table) -> TablePlan:
    """Either the format's, or one of some columns."""
    if draw(st.booleans()):
        return RowImages(TargetTables()).plan(table, "shop.t")
    before, after = draw(raw_images(table, "before", sized=True)), draw(raw_images(table, "after"))
    update = RecordPlan((Text("k"), before), (Text("U"), before, after))
    return TablePlan("t", (RecordPlan(None, (after,)),), (update,), (RecordPlan((before,), (Text("D"), before)),))


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_any_values(data: st.DataObject) -> None:
    table = data.draw(tables())
    operation = data.draw(st.sampled_from(OPERATIONS))
    plan = data.draw(plans(table))
    raw = data.draw(events(table, operation))
    if data.draw(st.integers(0, 4)) == 0:
        raw = raw[: data.draw(st.integers(0, len(raw)))]
    partial = data.draw(st.booleans())
    expected: list[Record] = []
    arena = compiled.module("arena").Arena()
    twin = run(compile_rows(plan, table, operation, rendering, partial), raw, expected.append)
    ours = run(native_rows(plan, table, operation, rendering, partial), raw, arena)
    assert ours == twin
    if not isinstance(twin[0], type):
        assert list(arena[:]) == expected


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("rows", [compile_rows, native_rows])
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_whole_images_are_copied(rows: Any, operation: Operation, data: st.DataObject) -> None:
    """One behind the other they are the body of the event."""
    table = data.draw(tables())
    header = usual_header(table, operation)
    raw = data.draw(events(table, operation).filter(lambda raw: raw.startswith(header)))
    plan = RowImages(TargetTables()).plan(table, "shop.t")
    found: list[Record] | Any = [] if rows is compile_rows else compiled.module("arena").Arena()
    run(rows(plan, table, operation, rendering, False), raw, found.append if rows is compile_rows else found)
    assert b"".join(images(record) for record in found[:]) == raw[len(header) :]


def images(record: Record) -> bytes:
    """Of a record, without what is around them; the lengths are checked."""
    value = record[2] or b""
    assert record[1] is None and record[0].startswith("shop.t#")
    if value[:1] != b"U":
        return value[1:]
    before = int.from_bytes(value[1:5], "little")
    assert 5 + before < len(value)
    return value[5:]


NAMED = Table(
    "shop",
    "t",
    (
        Column(0, "id", types.LONG, nullable=False),
        Column(1, "name", types.VARCHAR, 80, collation=255),
        Column(2, "note", types.BLOB, 2, collation=255),
    ),
    (0,),
)
ROW = b"\x00" + b"\x01\0\0\0" + b"\x03abc" + b"\x02\x00xy"


def written(rows: Any, image: RawImage, body: bytes = ROW) -> bytes:
    plan = TablePlan("t", (RecordPlan(None, (image,)),), (), ())
    found: Any = [] if rows is compile_rows else compiled.module("arena").Arena()
    raw = usual_header(NAMED, "insert") + body
    done = run(rows(plan, NAMED, "insert", rendering), raw, found.append if rows is compile_rows else found)
    assert done[0] == 6, done
    return found[:][0][2]


@pytest.mark.parametrize("rows", [compile_rows, native_rows])
def test_some_columns_in_another_order(rows: Any) -> None:
    assert written(rows, RawImage((2, 0), "after")) == b"\xfc\x02\x00xy\x01\0\0\0"
    assert written(rows, RawImage((1,), "after", True)) == b"\x05\0\0\0\xfe\x03abc"
    null = b"\x02\x01\0\0\0\x02\x00xy"
    assert written(rows, RawImage((1, 2), "after"), null) == b"\xfd\x02\x00xy"
    assert written(rows, RawImage((0, 1, 2), "after"), null) == null, "the bits behind it as the server has them"


@pytest.mark.parametrize("rows", [compile_rows, native_rows])
def test_other_values(rows: Any) -> None:
    texts = (RawText(1, "mask:last:1:text", 1), RawText(2, None))
    assert written(rows, RawImage((0, 1, 2), "after", texts=texts)) == b"\xfc\x01\0\0\0\x03**c"
    fixed = (RawText(0, "mask:fixed:\u00e9\n", 2),)
    assert written(rows, RawImage((1,), "after", texts=fixed)) == b"\xfe\x03\x00\xc3\xa9\n"
    null = b"\x02\x01\0\0\0\x02\x00xy"
    assert written(rows, RawImage((1,), "after", texts=fixed), null) == b"\xff"


@pytest.mark.parametrize("rows", [compile_rows, native_rows])
def test_a_value_that_is_too_long_for_its_length_is_refused(rows: Any) -> None:
    plan = TablePlan(
        "t", (RecordPlan(None, (RawImage((1,), "after", texts=(RawText(0, f"mask:fixed:{'x' * 256}", 1),)),)),), (), ()
    )
    found: Any = [] if rows is compile_rows else compiled.module("arena").Arena()
    done = run(
        rows(plan, NAMED, "insert", rendering),
        usual_header(NAMED, "insert") + ROW,
        found.append if rows is compile_rows else found,
    )
    assert done[0] is DecodeError and "256 bytes" in done[1]


@pytest.mark.parametrize("rows", [compile_rows, native_rows])
def test_text_that_is_not_utf8_is_not_kept_in_part(rows: Any) -> None:
    latin = Table("shop", "t", (Column(0, "c", types.VARCHAR, 80, collation=8),))
    image = RawImage((0,), "after", texts=(RawText(0, "mask:last:1:text", 1),))
    plan = TablePlan("t", (RecordPlan(None, (image,)),), (), ())
    with pytest.raises(DecodeError, match=r"E2310.*latin1"):
        rows(plan, latin, "insert", rendering)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_images_without_columns_are_refused_alike(operation: Operation) -> None:
    """Also where they are accepted: a target is given whole rows."""
    plan = RowImages(TargetTables()).plan(NAMED, "shop.t")
    raw = b"\x03" + b"\xfd" * len(IMAGES[operation]) + b"\x00\x01\0\0\0\x01\x00x" * len(IMAGES[operation])
    told = []
    for rows in (compile_rows, native_rows):
        found: Any = [] if rows is compile_rows else compiled.module("arena").Arena()
        told.append(
            run(rows(plan, NAMED, operation, rendering, True), raw, found.append if rows is compile_rows else found)
        )
    assert told[0] == told[1]
    assert told[0][0] is DecodeError and "E2304" in told[0][1] and "'name'" in told[0][1]
