"""Every notation of every type: what the compiled writer gives is what the twin's renderer gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from replicator import compiled
from replicator.config.task import StdoutSink
from replicator.decode.native import writers
from replicator.decode.native.row_programs import native_rows
from replicator.decode.plan.compiler import compile_rows
from replicator.decode.renderers import FALLIBLE, RENDERERS, rendering
from replicator.encode import formats
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.batch import Record
from replicator.model.plan import Each, Member, Members, RecordPlan, TablePlan, Text, Value
from replicator.model.table import Column, Table
from tests.unit.compiled.both import FORMATS
from tests.unit.compiled.test_rows import column_kinds, drawn, parts, run

KINDS = column_kinds()
NAMES = sorted(
    [*RENDERERS, *(f"{name}:{text}" for name in FALLIBLE for text in ("17", '"2000-01-01Z"'))],
    key=lambda name: (name.partition(":")[0], name),
)
_long: dict[str, Any] = {"type": types.BLOB, "meta": 2, "collation": 255}
PYTHON = (writers.BY_PYTHON, writers.REMEMBERED)


def accepted(name: str) -> list[dict[str, Any]]:
    _, accepts = RENDERERS[name.partition(":")[0]]
    return [kind for kind in KINDS if kind["type"] in accepts]


def raw_row(column: Column, raw: bytes | None) -> bytes:
    """A row event's body of one row of the one column."""
    return b"\x01\x01" + (b"\x01" if raw is None else b"\x00" + raw)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_value_in_any_notation(name: str, data: st.DataObject) -> None:
    kinds = accepted(name)
    if not kinds:
        pytest.skip("no column of such a type here")
    column = Column(0, "c", nullable=data.draw(st.booleans()), **data.draw(st.sampled_from(kinds)))
    table = Table("shop", "t", (column,), ())
    plan = TablePlan("t", (RecordPlan(None, (Value(0, "after", name),)),), (), ())
    row = raw_row(column, drawn(data.draw, column))
    expected: list[Record] = []
    arena = compiled.module("arena").Arena()
    try:
        made = compile_rows(plan, table, "insert", rendering, False)
    except DecodeError:
        return  # a notation that this column can't have: nothing runs
    twin = run(made, row, expected.append)
    assert run(native_rows(plan, table, "insert", rendering, False), row, arena) == twin
    if not isinstance(twin[0], type):
        assert list(arena[:]) == expected


@pytest.mark.parametrize("name", [name for name in NAMES if _long in accepted(name)])
@settings(max_examples=30, deadline=None)
@given(raw=st.lists(parts, max_size=400).map(b"".join))
@example(raw=b"\x01" * 3000)
@example(raw="😀".encode() * 1000)
@example(raw="€".encode() * 1000 + b"\x80")
def test_long_texts(name: str, raw: bytes) -> None:
    """They become many times as long, or stay as they are."""
    table = Table("shop", "t", (Column(0, "c", **_long),), ())
    plan = TablePlan("t", (RecordPlan(None, (Value(0, "after", name),)),), (), ())
    row = raw_row(table.columns[0], len(raw).to_bytes(2, "little") + raw)
    expected: list[Record] = []
    arena = compiled.module("arena").Arena()
    twin = run(compile_rows(plan, table, "insert", rendering, False), row, expected.append)
    assert run(native_rows(plan, table, "insert", rendering, False), row, arena) == twin
    if not isinstance(twin[0], type):
        assert list(arena[:]) == expected


_dates = st.tuples(st.integers(0, 0x7FFF), st.integers(0, 15), st.integers(0, 31))


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("date_", "datetime_"))])
@settings(max_examples=40, deadline=None)
@given(
    parts=_dates,
    clock=st.integers(0, (1 << 17) - 1),
    fraction=st.binary(min_size=3, max_size=3),
    digits=st.integers(0, 6),
    nullable=st.booleans(),
)
@example(parts=(1677, 9, 21), clock=0, fraction=b"\0\0\0", digits=6, nullable=False)
@example(parts=(2262, 4, 11), clock=23 << 12 | 47 << 6 | 16, fraction=b"\x0d\x09\x87", digits=6, nullable=False)
@example(parts=(9999, 12, 31), clock=31 << 12, fraction=b"\xff\xff\xff", digits=6, nullable=True)
@example(parts=(69, 2, 29), clock=0, fraction=b"\0\0\0", digits=0, nullable=True)
@example(parts=(96, 2, 29), clock=0, fraction=b"\0\0\0", digits=3, nullable=True)
def test_days_of_all_centuries(
    name: str, parts: tuple[int, int, int], clock: int, fraction: bytes, digits: int, nullable: bool
) -> None:
    year, month, day = parts
    kind: dict[str, Any]
    if name.startswith("datetime"):
        packed = 1 << 39 | (year % 10000 * 13 + month % 13) << 22 | day << 17 | clock
        kind = {"type": types.DATETIME2, "meta": digits}
        raw = packed.to_bytes(5, "big") + fraction[: (digits + 1) // 2]
    else:
        kind = {"type": types.DATE}
        raw = (year << 9 | month << 5 | day).to_bytes(3, "little")
    _both(name, Column(0, "c", nullable=nullable, **kind), raw)


@pytest.mark.parametrize("name", ["timestamp_iso", "temporal", "temporal_or_null"])
@pytest.mark.parametrize("fraction", [b"\0\0\0", b"\0\0\1", b"\x0f\x42\x3f"])
@pytest.mark.parametrize("seconds", [0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1])
def test_timestamps_at_both_ends(name: str, seconds: int, fraction: bytes) -> None:
    for digits in (0, 2, 6):
        raw = seconds.to_bytes(4, "big") + fraction[: digits // 2]
        for nullable in (True, False):
            _both(name, Column(0, "c", types.TIMESTAMP2, digits, nullable), raw)


def _both(name: str, column: Column, raw: bytes) -> None:
    table = Table("shop", "t", (column,), ())
    plan = TablePlan("t", (RecordPlan(None, (Value(0, "after", name),)),), (), ())
    expected: list[Record] = []
    arena = compiled.module("arena").Arena()
    row = raw_row(column, raw)
    twin = run(compile_rows(plan, table, "insert", rendering, False), row, expected.append)
    assert run(native_rows(plan, table, "insert", rendering, False), row, arena) == twin
    if not isinstance(twin[0], type):
        assert list(arena[:]) == expected


# What a task meets that has no options: which types are still written by Python, each time or once per value.

REMEMBERED = {types.YEAR, types.ENUM, types.SET, types.TIMESTAMP, types.TIME, types.DATETIME}
"""Few values, or types of tables made before the servers had fractions of a second."""
RARE = {types.GEOMETRY, types.VECTOR}


@pytest.mark.parametrize("form", FORMATS)
def test_a_task_without_options_meets_compiled_writers(form: str) -> None:
    made = formats[form]("t", StdoutSink(type="stdout", format=form), "mysql")
    by_python = set()
    for kind in KINDS:
        if kind.get("collation") not in (None, 63, 255, 8):
            continue
        table = Table("shop", "t", (Column(0, "c", nullable=True, **kind),), (0,))
        for step in _values(made.plan(table, "t")):
            column = table.columns[step.column]
            writer = writers.writer(step.renderer, column, rendering(step.renderer, column, table))
            if writer.name in PYTHON:
                by_python.add(column.type)
    assert by_python <= REMEMBERED | RARE


def _values(part: Any) -> list[Value]:
    found: list[Value] = []
    if isinstance(part, TablePlan):
        return [value for records in (part.insert, part.update, part.delete) for value in _values(records)]
    if isinstance(part, Value):
        return [part]
    if isinstance(part, tuple):
        return [value for each in part for value in _values(each)]
    if isinstance(part, RecordPlan):
        return _values(part.key or ()) + _values(part.value or ())
    if isinstance(part, Members):
        return _values(part.members)
    if isinstance(part, Member):
        return [part.value]
    if isinstance(part, Each):
        return _values(part.template)
    assert isinstance(part, Text) or not hasattr(part, "members")
    return found
