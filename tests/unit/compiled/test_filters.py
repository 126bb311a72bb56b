"""Any filter over any bytes in any columns: programs choose the rows that the generated functions choose."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator import compiled
from replicator.config.task import StdoutSink
from replicator.decode.binlog import column_presence
from replicator.decode.native.filters import FilterPlanner
from replicator.decode.native.row_programs import native_rows
from replicator.decode.plan.compiler import compile_rows
from replicator.decode.renderers import rendering
from replicator.decode.renderers.comparables import comparable
from replicator.encode import formats
from replicator.model import types
from replicator.model.batch import Record
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.condition import (
    And,
    Compare,
    Comparison,
    Condition,
    During,
    Filter,
    IsNull,
    Like,
    Not,
    Of,
    OneOf,
    Or,
    kind_of,
)
from replicator.model.table import Column, Table
from tests.unit.compiled.test_rows import OPERATIONS, column_kinds, drawn, events, run, tables

KINDS = [kind for kind in column_kinds() if kind_of(Column(0, "c", **kind)) is not None]
SIGNS: list[Comparison] = ["=", "<>", "<", "<=", ">", ">="]
_numbers = (
    st.integers(-300, 300)
    | st.integers(-(1 << 65), 1 << 65)
    | st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9)
)
_moments = st.datetimes().map(lambda moment: int(moment.strftime(f"{moment.year:04d}%m%d%H%M%S%f")))
CONSTANTS: dict[str, st.SearchStrategy[Any]] = {
    "number": _numbers,
    "text": st.text(max_size=5) | st.sampled_from(["a", "bé", '"', "x,y", "é€😀", ""]),
    "bytes": st.binary(max_size=5),
    "datetime": _moments | st.just(0),
    "timestamp": st.integers(0, 1 << 53),
    "time": st.integers(-(1 << 42), 1 << 42),
}


def constant(draw: Callable[[Any], Any], column: Column, table: Table) -> Any:
    """Sometimes one that the column may well hold."""
    kind = kind_of(column)
    assert kind is not None
    if draw(st.booleans()):
        return draw(CONSTANTS[kind])
    found = comparable(column, table)
    raw = drawn(draw, column)[0 if fixed_size(column) is not None else prefix_size(column) :]
    try:
        value = raw if found.cut == "bytes" or found.cut.endswith("s") else struct.unpack(found.cut, raw)[0]
        value = value if found.read is None else found.read(value)
    except Exception:
        return draw(CONSTANTS[kind])
    if isinstance(value, float):
        return Decimal(value) if math.isfinite(value) else 0
    if kind == "datetime":  # of raw bytes it may be no moment, which no literal is
        return draw(_moments)
    return value


@st.composite
def conditions(draw: Callable[[Any], Any], table: Table, images: list[str], depth: int = 0) -> Condition:
    kind = draw(st.sampled_from(["leaf"] * 5 + (["and", "or", "not"] if depth < 3 else [])))
    if kind in ("and", "or"):
        parts = tuple(draw(conditions(table, images, depth + 1)) for _ in range(draw(st.integers(2, 3))))
        return And(parts) if kind == "and" else Or(parts)
    if kind == "not":
        return Not(draw(conditions(table, images, depth + 1)))
    column = draw(st.sampled_from(table.columns))
    of = Of(column.index, draw(st.sampled_from(images)))
    leaf = draw(st.sampled_from(["compare", "compare", "list", "like", "null", "columns", "during"]))
    others = [each for each in table.columns if kind_of(each) == kind_of(column)]
    if leaf == "during" and images != ["row"]:
        return During(tuple(draw(st.sets(st.sampled_from(OPERATIONS), min_size=1))))
    if leaf == "null" or kind_of(column) is None:
        return IsNull(of)
    if leaf == "columns":
        return Compare(
            of, draw(st.sampled_from(SIGNS)), Of(draw(st.sampled_from(others)).index, draw(st.sampled_from(images)))
        )
    if leaf == "like" and kind_of(column) == "text":
        return Like(of, "".join(draw(st.lists(st.sampled_from(["a", "%", "%", "_", "\\", "é", "b"]), max_size=5))))
    if leaf == "list":
        return OneOf(of, tuple(constant(draw, column, table) for _ in range(draw(st.integers(1, 4)))))
    return Compare(of, draw(st.sampled_from(SIGNS)), constant(draw, column, table))


@pytest.mark.parametrize("form", ["debezium", "maxwell"])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_filter(form: str, data: st.DataObject) -> None:
    table = data.draw(tables())
    operation = data.draw(st.sampled_from(OPERATIONS))
    rows = data.draw(st.booleans())
    condition = data.draw(conditions(table, ["row"] if rows else ["row", "before", "after"]))
    plan = formats[form]("t", StdoutSink(type="stdout", format=form), "mysql").plan(table, "topic")
    plan = msgspec.structs.replace(plan, filter=Filter(condition, rows=rows))
    raw = data.draw(events(table, operation))
    partial = data.draw(st.booleans())
    expected: list[Record] = []
    arena = compiled.module("arena").Arena()
    outcomes = []
    for make, append in ((compile_rows, expected.append), (native_rows, arena)):
        try:
            made = make(plan, table, operation, rendering, partial)
        except Exception as error:
            outcomes.append((type(error), str(error)))
        else:
            outcomes.append(run(made, raw, append))
    assert outcomes[1] == outcomes[0]
    if not isinstance(outcomes[0][0], type):
        assert list(arena[:]) == expected


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(str(part) for part in kind.values()))
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_comparison(kind: dict[str, Any], data: st.DataObject) -> None:
    """One column, many rows, one test: that the compiled code decides as Python does."""
    column = Column(0, "c", nullable=False, **kind)
    table = Table("shop", "t", (column,), ())
    values = [constant(data.draw, column, table) for _ in range(data.draw(st.integers(1, 3)))]
    sign = data.draw(st.sampled_from([None, *SIGNS]))
    condition: Condition = OneOf(Of(0), tuple(values)) if sign is None else Compare(Of(0), sign, values[0])
    condition = Not(condition) if data.draw(st.booleans()) else condition
    plan = formats["debezium"]("t", StdoutSink(type="stdout", format="debezium"), "mysql").plan(table, "topic")
    plan = msgspec.structs.replace(plan, filter=Filter(condition))
    raw = b"\x01\xff" + b"".join(b"\0" + drawn(data.draw, column) for _ in range(8))
    expected: list[Record] = []
    arena = compiled.module("arena").Arena()
    twin = run(compile_rows(plan, table, "insert", rendering, False), raw, expected.append)
    assert run(native_rows(plan, table, "insert", rendering, False), raw, arena) == twin
    if not isinstance(twin[0], type):
        assert list(arena[:]) == expected


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_two_columns(data: st.DataObject) -> None:
    """Of one kind, either of which may be NULL, also where it was none in the row before."""
    kind = data.draw(st.sampled_from(KINDS))
    likes = [each for each in KINDS if kind_of(Column(0, "c", **each)) == kind_of(Column(0, "c", **kind))]
    columns = (Column(0, "a", **kind), Column(1, "b", **data.draw(st.sampled_from([kind, *likes]))))
    table = Table("shop", "t", columns, ())
    condition: Condition = Compare(Of(0), data.draw(st.sampled_from(SIGNS)), Of(1))
    condition = Not(condition) if data.draw(st.booleans()) else condition
    plan = formats["debezium"]("t", StdoutSink(type="stdout", format="debezium"), "mysql").plan(table, "topic")
    plan = msgspec.structs.replace(plan, filter=Filter(condition))
    raw = b"\x02\xff"
    for _ in range(8):
        nulls = data.draw(st.sampled_from([0, 0, 1, 2, 3]))
        found = [drawn(data.draw, column) for column in columns]
        raw += bytes((nulls,)) + b"".join(value for place, value in enumerate(found) if not nulls >> place & 1)
    expected: list[Record] = []
    arena = compiled.module("arena").Arena()
    twin = run(compile_rows(plan, table, "insert", rendering, False), raw, expected.append)
    assert run(native_rows(plan, table, "insert", rendering, False), raw, arena) == twin
    if not isinstance(twin[0], type):
        assert list(arena[:]) == expected


@pytest.mark.parametrize("wanted", [True, False])
def test_no_member_has_the_number(wanted: bool) -> None:
    """Both refuse the row; neither skips it."""
    column = Column(0, "c", nullable=False, **next(kind for kind in KINDS if kind["type"] == types.ENUM))
    table = Table("shop", "t", (column,), ())
    equal: Condition = Compare(Of(0), "=", "a")
    plan = formats["debezium"]("t", StdoutSink(type="stdout", format="debezium"), "mysql").plan(table, "topic")
    plan = msgspec.structs.replace(plan, filter=Filter(equal if wanted else Not(equal)))
    for number in range(256):
        raw = b"\x01\xff\0" + bytes((number,))
        records: list[Record] = []
        twin = run(compile_rows(plan, table, "insert", rendering, False), raw, records.append)
        ours = run(native_rows(plan, table, "insert", rendering, False), raw, compiled.module("arena").Arena())
        assert ours == twin
        assert isinstance(twin[0], type) == (number > len(column.members))


def test_what_the_compiled_code_can_decide() -> None:
    """Without Python for each row, whatever is left out here."""
    everything = {f"{column['type']}-{column.get('meta', 0)}": Column(0, "c", **column) for column in KINDS}
    python = set()
    for column in everything.values():
        table = Table("shop", "t", (column,), ())
        presence = column_presence.every_column(table, "insert")
        chosen = Filter(IsNull(Of(0)))
        planner = FilterPlanner(table, "insert", presence, chosen, lambda image, index: index)
        if not planner.program().native:
            python.add(types.NAMES[column.type])
    assert python == {"DATETIME", "TIME", "TIMESTAMP", "SET", "NEWDECIMAL"}


@pytest.mark.parametrize("month", range(16))
def test_months_that_no_server_writes(month: int) -> None:
    """Compared as the digits that they have: a 14th month of 2020 is before 2021."""
    column = Column(0, "c", types.DATE, nullable=False)
    table = Table("shop", "t", (column,), ())
    plan = formats["debezium"]("t", StdoutSink(type="stdout", format="debezium"), "mysql").plan(table, "topic")
    plan = msgspec.structs.replace(plan, filter=Filter(Compare(Of(0), "<", 2021_01_01_000000_000000)))
    raw = b"\x01\xff\0" + (2020 << 9 | month << 5 | 5).to_bytes(3, "little")
    arena = compiled.module("arena").Arena()
    run(native_rows(plan, table, "insert", rendering, False), raw, arena)
    assert len(arena) == 1


@pytest.mark.parametrize("hundredths", [0, 99, 100, 104, 105, 150, 255])
def test_fractions_that_no_server_writes(hundredths: int) -> None:
    """Of a second, in one byte: more than 99 are in the next second."""
    column = Column(0, "c", types.DATETIME2, meta=2, nullable=False)
    table = Table("shop", "t", (column,), ())
    plan = formats["debezium"]("t", StdoutSink(type="stdout", format="debezium"), "mysql").plan(table, "topic")
    plan = msgspec.structs.replace(plan, filter=Filter(Compare(Of(0), "<", 2020_01_01_000001_460000)))
    packed = (1 << 39) + ((2020 * 13 + 1) << 22 | 1 << 17)
    raw = b"\x01\xff\0" + packed.to_bytes(5, "big") + bytes((hundredths,))
    arena = compiled.module("arena").Arena()
    run(native_rows(plan, table, "insert", rendering, False), raw, arena)
    assert len(arena) == (1 if hundredths < 146 else 0)
