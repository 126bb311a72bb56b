"""Any bytes in any column: what the programs write is what the generated Python functions write."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator import compiled
from replicator.config.task import StdoutSink
from replicator.decode.binlog.column_presence import IMAGES, Operation, packed
from replicator.decode.native.row_programs import native_rows
from replicator.decode.plan.compiler import compile_rows
from replicator.decode.renderers import rendering
from replicator.decode.renderers.contract import Rendering
from replicator.decode.transactions.transaction_state import TransactionState
from replicator.encode import formats
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.batch import Record
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.table import Column, Table
from tests.unit.compiled.both import FORMATS
from tests.unit.decode.json_writer import write as document

OPERATIONS: tuple[Operation, ...] = ("insert", "update", "delete")
_DECIMALS = [(10, 2), (18, 0), (9, 9), (38, 10), (65, 30), (1, 0), (37, 37), (20, 4), (18, 4)]
_UTF8, _LATIN1, _BINARY = 255, 8, 63


def column_kinds() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for kind in sorted(types.INTEGERS):
        found += [{"type": kind}, {"type": kind, "unsigned": True}]
    found += [{"type": types.NEWDECIMAL, "meta": precision << 8 | scale} for precision, scale in _DECIMALS]
    for kind in (types.DATETIME2, types.TIMESTAMP2, types.TIME2):
        found += [{"type": kind, "meta": digits} for digits in range(7)]
    found += [{"type": types.FLOAT, "meta": 4}, {"type": types.DOUBLE, "meta": 8}]
    found += [{"type": types.DATE}, {"type": types.YEAR}, {"type": types.BIT, "meta": 1}]
    found += [{"type": types.BIT, "meta": meta} for meta in (2 << 8 | 3, 1 << 8, 8 << 8)]
    found += [{"type": kind} for kind in (types.DATETIME, types.TIME, types.TIMESTAMP)]
    found += [{"type": types.VARCHAR, "meta": 80, "collation": number} for number in (_UTF8, _LATIN1, _BINARY)]
    found += [{"type": types.STRING, "meta": 20, "collation": number} for number in (_UTF8, _BINARY)]
    found += [{"type": types.BLOB, "meta": size, "collation": _UTF8} for size in (1, 2, 3, 4)]
    found += [{"type": types.BLOB, "meta": 2, "collation": _BINARY}]
    found += [{"type": types.JSON, "meta": 4}]
    found += [{"type": types.ENUM, "meta": 1, "collation": _UTF8, "members": ("a", "bé", '"')}]
    found += [{"type": types.SET, "meta": 1, "collation": _UTF8, "members": ("x", "y", "z😀")}]
    return found


@st.composite
def tables(draw: Callable[[Any], Any]) -> Table:
    kinds = draw(st.lists(st.sampled_from(column_kinds()), min_size=1, max_size=11))
    columns = tuple(
        Column(index, f"c{index}", nullable=draw(st.booleans()), **kind) for index, kind in enumerate(kinds)
    )
    keys = draw(st.sampled_from([(), (0,), (len(columns) - 1,)]))
    return Table("shop", "t", columns, keys)


_numbers = (
    st.floats(allow_nan=True)
    | st.sampled_from([0.0, -0.0, 0.1, 1e7, 1e-3, 123.456, 5e-324, 2.0**70, 0.3, 2.0**-10, 1e15, 999999999999999.0])
    | st.integers(-(10**17), 10**17).flatmap(lambda n: st.integers(0, 12).map(lambda places: n / 10**places))
    | st.integers(-1074, 1023).map(lambda power: 2.0**power)
)
_short = st.integers(-(10**7), 10**7).flatmap(lambda n: st.integers(-3, 9).map(lambda places: n / 10**places))
parts = st.sampled_from(
    ["plain", "a", '"', "\\", "\n", "\x01", "\x1f", "\x7f", "\x85", "\xa0", "\b", "\f", "é", "€", "😀", "\uffff"]
).map(str.encode)
_texts = (
    st.text(max_size=30).map(str.encode)
    | st.binary(max_size=30)
    | st.lists(parts, max_size=40).map(b"".join)
    | st.builds(lambda parts, wrong: b"".join(parts) + wrong, st.lists(parts, max_size=20), st.binary(max_size=3))
)


def drawn(draw: Callable[[Any], Any], column: Column) -> bytes:
    """As it stands in a row: behind a length where the type has one."""
    size = fixed_size(column)
    if column.type == types.DOUBLE:
        return struct.pack("<d", draw(_numbers))
    if column.type == types.FLOAT:
        return draw((st.floats(width=32) | _short).map(lambda number: struct.pack("<f", number)))
    if size is not None:
        edges = st.sampled_from([bytes(size), b"\xff" * size, b"\x80" + bytes(size - 1)]) if size else st.just(b"")
        return draw(edges | st.binary(min_size=size, max_size=size))
    raw = draw(_documents if column.type == types.JSON else _texts)
    return len(raw).to_bytes(prefix_size(column), "little") + raw


_real = st.floats(allow_nan=False, allow_infinity=False)
_documents = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | _real | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
).map(document) | st.binary(max_size=20)  # fmt: skip


@st.composite
def events(draw: Callable[[Any], Any], table: Table, operation: Operation) -> bytes:
    """What a rows event has behind its post-header, some columns left out now and then."""
    everything = [column.index for column in table.columns]
    some = st.lists(st.sampled_from(everything), unique=True, min_size=1)
    images = [draw(st.just(everything) | some) if draw(st.booleans()) else everything for _ in IMAGES[operation]]
    raw = _header(table, images, spare=draw(st.booleans()))
    for _ in range(draw(st.integers(1, 3))):
        before: dict[int, bytes] = {}
        for present in images:
            bits, body = 0, b""
            for place, index in enumerate(sorted(present)):
                column = table.columns[index]
                if column.nullable and draw(st.integers(0, 3)) == 0:
                    bits |= 1 << place
                    continue
                same = index in before and draw(st.booleans())
                value = before[index] if same else drawn(draw, column)
                before[index] = value
                body += value
            raw += bits.to_bytes((len(present) + 7) // 8, "little") + body
    return raw


def _header(table: Table, images: list[list[int]], *, spare: bool) -> bytes:
    """`spare`: the bits that belong to no column are set."""
    size = (len(table.columns) + 7) // 8
    left = (1 << 8 * size) - (1 << len(table.columns)) if spare else 0
    bits = [sum(1 << index for index in present) | left for present in images]
    return packed(len(table.columns)) + b"".join(each.to_bytes(size, "little") for each in bits)


def _context() -> TransactionState:
    context = TransactionState()
    context.ts_us, context.now_ns, context.event_s = 1_700_000_000_123_456, 1_700_000_001_000_000_007, 1_700_000_000
    context.gtid_json, context.file_json, context.pos = '"0-1-2"', '"b.000001"', 4711
    context.position, context.server_id, context.thread = b"0-1-2", 7, 12
    return context


def run(rows: Any, raw: bytes, append: Any) -> Any:
    try:
        return rows(raw, raw.decode("latin-1"), 0, len(raw), 5, append, _context())
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_values(form: str, data: st.DataObject) -> None:
    table = data.draw(tables())
    operation = data.draw(st.sampled_from(OPERATIONS))
    plan = formats[form]("t", StdoutSink(type="stdout", format=form), "mysql").plan(table, "topic")
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


DAMAGED = [(types.DOUBLE, 251), (types.FLOAT, 8), (types.ENUM, 3), (types.DATETIME2, 7), (types.BIT, 9 << 8)]
DAMAGED += [(types.NEWDECIMAL, 200 << 8 | 4), (types.BLOB, 5)]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("kind", "meta"), DAMAGED, ids=[types.NAMES[kind] for kind, _ in DAMAGED])
def test_metadata_that_cannot_be_is_refused_alike(form: str, kind: int, meta: int) -> None:
    """Before a row is looked at, so that what stands in its header does not matter."""
    made = formats[form]("t", StdoutSink(type="stdout", format=form), "mysql")
    table = Table("shop", "t", (Column(0, "c", kind, meta, members=("a", "b")),))
    plan = made.plan(table, "topic")
    for partial in (False, True):
        errors = []
        for rows in (compile_rows, native_rows):
            with pytest.raises(DecodeError) as caught:
                rows(plan, table, "insert", rendering, partial)
            errors.append(caught.value.to_dict())
        assert errors[0] == errors[1]
        assert errors[0]["code"] == "E2302" and "column 'c'" in errors[0]["what"]


def test_a_renderer_that_cuts_something_else_is_refused_alike() -> None:
    table = Table("shop", "t", (Column(0, "c", types.DOUBLE, 8),))
    plan = formats["debezium"]("t", StdoutSink(type="stdout", format="debezium"), "mysql").plan(table, "topic")
    for rows in (compile_rows, native_rows):
        with pytest.raises(ValueError, match="cuts '<f' out of column type 5 with 8 bytes"):
            rows(plan, table, "insert", lambda name, column, table: Rendering("<f", "repr(v)"), True)
