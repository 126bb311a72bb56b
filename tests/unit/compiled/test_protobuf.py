"""Canal's protobuf: compiled programs write the bytes that the Python encoder makes of JSON."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.config.transforms import Transforms
from replicator.decode.binlog.column_presence import Operation
from replicator.decode.native.avro import Unfit
from replicator.decode.native.protobuf import items
from replicator.decode.native.row_programs import native_rows
from replicator.decode.renderers import rendering
from replicator.encode.topics import Topics
from replicator.model import types
from replicator.model.batch import Record
from replicator.model.condition import Filter, IsNull, Of, kind_of
from replicator.model.encoding import CanalEntries
from replicator.model.plan import Text, Value
from replicator.model.table import Column, Table
from replicator.transform.chain import Chain
from replicator.transform.column_remap import ungrouped
from tests.unit.compiled import both as pair
from tests.unit.compiled.test_avro import ID, KINDS, NAME, arena, program, twin_of
from tests.unit.compiled.test_rows import OPERATIONS, drawn, events, run, tables

_OPTIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries({}, optional={"gtidon": st.just(True)})


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_any_values(data: st.DataObject) -> None:
    table = data.draw(tables())
    operation = data.draw(st.sampled_from(OPERATIONS))
    plan = pair.format_of("protobuf", **data.draw(_OPTIONS)).plan(table, "topic")
    if kind_of(table.columns[0]) is not None and data.draw(st.integers(0, 5)) == 0:
        plan = msgspec.structs.replace(ungrouped(plan), filter=Filter(IsNull(Of(0))))
    raw = data.draw(events(table, operation))
    if data.draw(st.integers(0, 9)) == 0:
        raw = raw[: data.draw(st.integers(0, len(raw)))]
    partial = data.draw(st.booleans())
    expected: list[Record] = []
    records = arena()
    twin = run(twin_of(plan, table, operation, partial), raw, expected.append)
    if plan.filter is not None and isinstance(twin[0], type):
        return  # it also renders the row as it was before it moved in; no server writes such values
    assert run(native_rows(plan, table, operation, rendering, partial), raw, records) == twin
    if not isinstance(twin[0], type):
        assert list(records[:]) == expected


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(str(part) for part in kind.values()))
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_any_update_of_one_column(kind: dict[str, Any], data: st.DataObject) -> None:
    """That a column is said to have changed when its text has."""
    column = Column(0, "c", nullable=data.draw(st.booleans()), **kind)
    table = Table("shop", "t", (column,), ())
    plan = pair.format_of("protobuf").plan(table, "topic")

    def value() -> bytes:
        return b"\x01" if column.nullable and data.draw(st.booleans()) else b"\0" + drawn(data.draw, column)

    raw = b"\x01\xff\xff" + b"".join(value() for _ in range(2 * data.draw(st.integers(1, 3))))
    expected: list[Record] = []
    records = arena()
    twin = run(twin_of(plan, table, "update"), raw, expected.append)
    assert run(native_rows(plan, table, "update", rendering, False), raw, records) == twin
    if not isinstance(twin[0], type):
        assert list(records[:]) == expected


SHOP = Table("shop", "t", (ID, NAME, Column(2, "n", types.TINY, unsigned=True)), (0,))
OLD = b"\0" + (7).to_bytes(4, "little") + b"\x05caf\xc3\xa9" + b"\x7f"
NEW = b"\0" + (7).to_bytes(4, "little") + b'\x04"a\n\x01' + b"\x80"
NULLS = b"\x06" + (8).to_bytes(4, "little")


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("grouped", [True, False])
def test_rows_are_written_without_the_python_path(operation: Operation, grouped: bool) -> None:
    plan = pair.format_of("protobuf").plan(SHOP, "topic")
    plan = plan if grouped else ungrouped(plan)
    images = 2 if operation == "update" else 1
    raw = b"\x03" + b"\x07" * images + b"".join([OLD, NEW, NULLS, OLD, OLD, OLD, NEW, NULLS] * 40)
    expected, records = list[Record](), arena()
    twin = run(twin_of(plan, SHOP, operation), raw, expected.append)
    assert twin[0] == 5 + 320 // images
    assert run(program(plan, SHOP, operation), raw, records) == twin
    assert list(records[:]) == expected
    assert len(expected) == (1 if grouped else 320 // images)


def test_masks_and_names() -> None:
    """What transforms do to a plan is written in the same way; two texts that are masked alike have not changed."""
    config = Transforms.model_validate(
        {
            "rename": [{"tables": ["shop.t"], "columns": {"name": "title"}}],
            "mask": [
                {"tables": ["shop.t"], "columns": ["name"], "keep_last": 0},
                {"tables": ["shop.t"], "columns": ["n"], "fixed": "secret"},
            ],
        }
    )
    planner = Chain(config).planner(pair.format_of("protobuf").plan, Topics("{task}.{database}.{table}", "t"))
    plan = planner(SHOP)
    assert plan is not None
    raw = b"\x03\x07\x07" + OLD + NEW + OLD + NULLS
    expected, records = list[Record](), arena()
    twin = run(twin_of(plan, SHOP, "update"), raw, expected.append)
    assert run(program(plan, SHOP, "update"), raw, records) == twin
    assert list(records[:]) == expected and b"secret" in (expected[0][2] or b"")


def test_what_is_no_row_event_is_left_to_python() -> None:
    plan = pair.format_of("protobuf").plan(SHOP, "topic")
    entries = plan.encode
    assert isinstance(entries, CanalEntries)
    value = Value(0, "after", "canal")
    head = Text('{"type":1,"file":"b","pos":4,"server_id":1,"ms":0,"executed":null,"gtid":null,"rows":[')
    for rows in ((Text("[null,["), value, Text("]]]}")), (Text("7"),), (Text("]}"),)):
        with pytest.raises(Unfit):
            items((head, *rows), entries)


@pytest.mark.parametrize("path", pair.recordings(), ids=lambda path: path.name.partition(".")[0])
def test_recorded_binlogs(path: Any) -> None:
    raw = pair.read(path)
    for framing, stream in (("file", raw), ("packet", pair.as_packets(raw))):
        pieces = pair.cut(stream, 30_011)
        twin, ours = pair.both("protobuf", pair.flavor(path), framing, pieces)  # type: ignore[arg-type]
        assert ours == twin
