"""Avro records: compiled programs write the bytes that the Python encoder makes of JSON."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from replicator import compiled
from replicator.config.transforms import Transforms
from replicator.decode.binlog import column_presence, event_types
from replicator.decode.binlog.column_presence import Operation, packed
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.avro import Unfit, items
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.decode.native.programs import Assembler
from replicator.decode.native.row_programs import native_rows
from replicator.decode.plan.compiler import Rows, compile_rows
from replicator.decode.plan.lowering import Lowering
from replicator.decode.renderers import rendering
from replicator.encode.avro.registry import Registry
from replicator.encode.topics import Topics
from replicator.errors import RegistryUnavailable
from replicator.model import types
from replicator.model.batch import Record
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.condition import Filter, IsNull, Of, kind_of
from replicator.model.encoding import AvroRecords
from replicator.model.plan import Member, Members, TablePlan, Text, Value
from replicator.model.position import Position
from replicator.model.table import Column, Declared, Table
from replicator.transform.chain import Chain
from tests.unit.compiled import both as pair
from tests.unit.compiled.test_rows import OPERATIONS, column_kinds, drawn, events, run
from tests.unit.decode.binlog_writer import Log

POINT = struct.pack("<IBI2d", 4326, 1, 1, 1.5, -2.25)
KINDS = [*column_kinds(), {"type": types.GEOMETRY, "meta": 4}, {"type": types.GEOMETRY, "meta": 4, "geometry": 1}]
KINDS += [{"type": types.VECTOR, "meta": 4, "dimensions": 2}]
_checked = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def ids(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], int]:
    """A registry: (subject, schema) -> id."""
    book: dict[tuple[str, str], int] = {}
    monkeypatch.setattr(Registry, "id", lambda self, *key: book.setdefault(key, 70_000 + len(book)))
    return book


def twin_of(plan: TablePlan, table: Table, operation: Operation = "insert", partial: bool = False) -> Rows:
    return compile_rows(plan, table, operation, rendering, partial)


def program(plan: TablePlan, table: Table, operation: Operation = "insert") -> Rows:
    """One that fails where it would let Python decode the event."""
    made = Assembler(plan, table, operation, rendering, column_presence.every_column(table, operation))
    spec = made.spec(column_presence.usual_header(table, operation))

    def twin() -> Rows:
        raise AssertionError("the event is left to Python")

    found: Rows = compiled.module("program").Program(spec, twin, made.prepare(), None)
    return found


def arena() -> Any:
    return compiled.module("arena").Arena()


# Any values

_DEFAULTS = ["1", "0", "-7", "1.50", "abc", "", "2021-03-04", "2021-03-04 05:06:07.5", "12:13:14", "b'1'", "x'0aff'"]
_OPTIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "time_precision_mode": st.sampled_from(["microseconds", "nanoseconds", "connect", "isostring"]),
        "decimal_handling_mode": st.sampled_from(["string", "double"]),
        "binary_handling_mode": st.sampled_from(["base64", "base64-url-safe", "hex"]),
        "bigint_unsigned_handling_mode": st.just("precise"),
        "provide_transaction_metadata": st.just(True),
        "include_query": st.just(True),
        "tombstones_on_delete": st.just(False),
        "replace_null_with_default": st.just(False),
        "enable_time_adjuster": st.just(False),
        "skipped_operations": st.just(["d"]),
        "unwrap": st.fixed_dictionaries(
            {
                "delete_tombstone_handling_mode": st.sampled_from(["tombstone", "rewrite", "rewrite-with-tombstone"]),
                "add_fields": st.lists(
                    st.sampled_from(["op", "ts_ms", "source.ts_us", "source.gtid", "source.row", "source.table"]),
                    unique=True,
                ),
            }
        ),
    },
)


@st.composite
def tables(draw: Callable[[Any], Any]) -> Table:
    columns = []
    for index, kind in enumerate(draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=11))):
        default = draw(st.none() | st.none() | st.sampled_from(_DEFAULTS))
        declared = None if default is None else Declared("ANY", has_default=True, default=default)
        if draw(st.integers(0, 9)) == 0 and kind["type"] == types.TINY:
            declared = Declared("BOOL")
        nullable = draw(st.booleans())
        columns.append(Column(index, f"c{index}", nullable=nullable, declared=declared, **kind))
    keys = draw(st.sampled_from([(), (0,), (len(columns) - 1,), tuple(range(len(columns)))]))
    return Table("shop", "t", tuple(columns), keys, mariadb=draw(st.booleans()))


def planned(data: st.DataObject, table: Table) -> TablePlan:
    try:
        made = pair.format_of("avro", **data.draw(_OPTIONS))
    except ValidationError:
        reject()  # options that make no sense together
    plan: TablePlan = made.plan(table, "t.shop.t")
    return plan


@settings(_checked, max_examples=200)
@given(data=st.data())
def test_any_values(ids: dict[tuple[str, str], int], data: st.DataObject) -> None:
    table = data.draw(tables())
    operation = data.draw(st.sampled_from(OPERATIONS))
    plan = planned(data, table)
    if kind_of(table.columns[0]) is not None and data.draw(st.integers(0, 5)) == 0:
        plan = msgspec.structs.replace(plan, filter=Filter(IsNull(Of(0))))
    raw = data.draw(events(table, operation))
    if data.draw(st.integers(0, 9)) == 0:
        raw = raw[: data.draw(st.integers(0, len(raw)))]
    partial = data.draw(st.booleans())
    expected: list[Record] = []
    records = arena()
    twin = run(twin_of(plan, table, operation, partial), raw, expected.append)  # it registers what it writes
    if plan.filter is not None and isinstance(twin[0], type):
        return  # it also renders the row as it was before it moved in; no server writes such values
    assert run(native_rows(plan, table, operation, rendering, partial), raw, records) == twin
    if not isinstance(twin[0], type):
        assert list(records[:]) == expected


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(str(part) for part in kind.values()))
@settings(_checked, max_examples=15)
@given(data=st.data())
def test_any_value_of_one_column(ids: dict[tuple[str, str], int], kind: dict[str, Any], data: st.DataObject) -> None:
    column = Column(0, "c", nullable=data.draw(st.booleans()), **kind)
    table = Table("shop", "t", (column,), ())
    plan = planned(data, table)
    for _ in range(4):
        null = column.nullable and data.draw(st.booleans())
        raw = b"\x01\xff" + (b"\x01" if null else b"\0" + drawn(data.draw, column))
        expected: list[Record] = []
        records = arena()
        twin = run(twin_of(plan, table), raw, expected.append)
        assert run(native_rows(plan, table, "insert", rendering, False), raw, records) == twin
        if not isinstance(twin[0], type):
            assert list(records[:]) == expected


# What runs compiled


def _usual(kind: dict[str, Any]) -> bytes:
    """A value that every column of the kind can have, behind its length."""
    column = Column(0, "c", **kind)
    if column.type in (types.GEOMETRY, types.VECTOR):
        raw = POINT if column.type == types.GEOMETRY else struct.pack("<2f", 0.5, -1.25)
        return len(raw).to_bytes(4, "little") + raw
    return _USUAL.get(column.type, lambda column: b"")(column) or _fixed(column)


def _fixed(column: Column) -> bytes:
    size = fixed_size(column)
    assert size is not None
    return b"\x80" + bytes(size - 2) + b"\x01" if size > 1 else b"\x01"


def _text(column: Column) -> bytes:
    return b"\x03".ljust(prefix_size(column), b"\0") + b'a"b'


_USUAL: dict[int, Callable[[Column], bytes]] = {
    types.VARCHAR: _text,
    types.STRING: _text,
    types.BLOB: _text,
    types.JSON: lambda column: b"\x02\0\0\0" + b"\x04\x01",
    types.DOUBLE: lambda column: struct.pack("<d", 0.1),
    types.FLOAT: lambda column: struct.pack("<f", 0.1),
    types.DATE: lambda column: (2024 << 9 | 2 << 5 | 29).to_bytes(3, "little"),
    types.DATETIME2: lambda column: (
        (1 << 39 | (2024 * 13 + 2) << 22 | 29 << 17).to_bytes(5, "big") + bytes((column.meta + 1) // 2)
    ),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_type_is_written_without_the_python_path(ids: dict[tuple[str, str], int], operation: Operation) -> None:
    """All columns of all types in one table, twice: as they are, and NULL."""
    kinds = [kind for kind in KINDS if kind["type"] not in (types.DATETIME, types.TIME, types.TIMESTAMP)]
    columns = tuple(Column(index, f"c{index}", nullable=bool(index), **kind) for index, kind in enumerate(kinds))
    table = Table("shop", "t", columns, (0,))
    plan = pair.format_of("avro", provide_transaction_metadata=True).plan(table, "t.shop.t")
    size = (len(columns) + 7) // 8
    values = [_usual(kind) for kind in kinds]
    full = bytes(size) + b"".join(values)
    nulls = ((1 << len(columns)) - 2).to_bytes(size, "little") + values[0]
    images = [full, nulls] * (2 if operation == "update" else 1)
    raw = packed(len(columns)) + b"\xff" * size * (2 if operation == "update" else 1) + b"".join(images)
    expected: list[Record] = []
    twin = run(twin_of(plan, table, operation), raw, expected.append)
    assert twin[0] == 5 + 2, twin
    records = arena()
    assert run(program(plan, table, operation), raw, records) == twin
    assert list(records[:]) == expected


ID = Column(0, "id", types.LONG, nullable=False)
NAME = Column(1, "name", types.VARCHAR, 200, collation=255)
SHOP = Table("shop", "t", (ID, NAME), (0,))
ROW = b"\x02\xff" + b"\0" + (7).to_bytes(4, "little") + b"\x05caf\xc3\xa9"


def test_the_schema_is_registered_by_python_with_the_first_record(ids: dict[tuple[str, str], int]) -> None:
    plan = pair.format_of("avro").plan(SHOP, "t.shop.t")
    rows = native_rows(plan, SHOP, "insert", rendering, False)
    assert not ids
    first, second, expected = arena(), arena(), list[Record]()
    run(rows, ROW, first)
    assert sorted(subject for subject, _ in ids) == ["t.shop.t-key", "t.shop.t-value"]
    unregistered = pair.format_of("avro").plan(SHOP, "t.shop.t")
    assert run(program(unregistered, SHOP), ROW, arena()) == (AssertionError, "the event is left to Python")
    assert run(program(plan, SHOP), ROW, second)[0] == 6
    run(twin_of(plan, SHOP), ROW, expected.append)
    assert list(first[:]) == list(second[:]) == expected


def test_a_registry_that_does_not_answer_stops_the_row_and_is_asked_again(
    ids: dict[tuple[str, str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = pair.format_of("avro").plan(SHOP, "t.shop.t")
    rows = native_rows(plan, SHOP, "insert", rendering, False)
    answers = Registry.id

    def down(self: Registry, subject: str, schema: str) -> int:
        raise RegistryUnavailable("E3301", "the schema registry does not answer", found="nothing")

    monkeypatch.setattr(Registry, "id", down)
    records = arena()
    assert run(rows, ROW, records)[0] is RegistryUnavailable
    assert len(records) == 0
    monkeypatch.setattr(Registry, "id", answers)
    assert run(rows, ROW, records)[0] == 6
    assert len(records) == 1


def test_equal_plans_share_a_program(ids: dict[tuple[str, str], int]) -> None:
    """As after a reconnect: nothing is compiled again."""
    form = pair.format_of("avro")
    one, other = (form.plan(SHOP, "t.shop.t") for _ in range(2))
    assert native_rows(one, SHOP, "insert", rendering, False) is native_rows(other, SHOP, "insert", rendering, False)


# What is left to Python


def test_what_has_no_place_in_the_schema_is_left_to_python(ids: dict[tuple[str, str], int]) -> None:
    plan = pair.format_of("avro").plan(SHOP, "t.shop.t")
    assert isinstance(plan.encode, AvroRecords)
    key = plan.encode.key
    assert key is not None
    value = Value(0, "after", "int_java")
    head = Text('{"id":')
    assert items((head, value, Text("}")), key)
    for template in (
        (Text('{"other":'), value, Text("}")),
        (head, value, Text(',"other":'), value, Text("}")),
        (head, value, Text(',"id":'), value, Text("}")),
        (head, Text("7")),
        (Text('{"id":"'), value, Text('"}')),
    ):
        with pytest.raises(Unfit):
            items(template, key)
    with pytest.raises(msgspec.ValidationError):
        items((head, Text('"seven"}')), key)
    members = Members((Member("id", value),), nulls=False)
    spread = msgspec.structs.replace(plan.insert[0], key=(members,))
    nullable = Table("shop", "t", (msgspec.structs.replace(ID, nullable=True), NAME), ())
    lowering = Lowering(plan, nullable, "insert", column_presence.every_column(nullable, "insert"))
    (lines,) = lowering.records([spread])
    assert lines.key is not None
    with pytest.raises(Unfit):
        items(lines.key, key)
    records, expected = arena(), list[Record]()
    changed = msgspec.structs.replace(plan, insert=(spread,))
    twin = run(twin_of(changed, nullable), ROW, expected.append)
    assert run(native_rows(changed, nullable, "insert", rendering, False), ROW, records) == twin
    assert list(records[:]) == expected and len(expected) == 1


def test_numbers_are_not_cut(ids: dict[tuple[str, str], int]) -> None:
    """A value that its schema's type does not hold is an error of the twin's, as E2307."""
    wide = Table("shop", "t", (Column(0, "id", types.LONGLONG, nullable=False),), (0,))
    narrow = pair.format_of("avro").plan(Table("shop", "t", (ID,), (0,)), "t.shop.t")
    for number, fits in ((1 << 31, False), ((1 << 31) - 1, True), (-(1 << 31), True), (-(1 << 31) - 1, False)):
        raw = b"\x01\xff\0" + number.to_bytes(8, "little", signed=True)
        expected, records = list[Record](), arena()
        twin = run(twin_of(narrow, wide), raw, expected.append)
        assert (not isinstance(twin[0], type)) == fits
        assert run(native_rows(narrow, wide, "insert", rendering, False), raw, records) == twin
        if fits:
            assert list(records[:]) == expected


def test_masks_and_names(ids: dict[tuple[str, str], int]) -> None:
    """What transforms do to a plan is written in the same way."""
    config = Transforms.model_validate(
        {
            "columns": [{"tables": ["shop.t"], "exclude": ["secret"]}],
            "rename": [{"tables": ["shop.t"], "columns": {"name": "title"}}],
            "mask": [{"tables": ["shop.t"], "columns": ["name"], "keep_last": 1}],
        }
    )
    table = Table("shop", "t", (ID, NAME, msgspec.structs.replace(NAME, index=2, name="secret")), (0,))
    planner = Chain(config).planner(pair.format_of("avro").plan, Topics("{task}.{database}.{table}", "t"))
    plan = planner(table)
    assert plan is not None
    raw = b"\x03\xff" + (b"\0" + bytes(4) + b"\x03abc\x02de" + b"\x02" + bytes(4) + b"\x01x") * 2
    expected, records = list[Record](), arena()
    twin = run(twin_of(plan, table), raw, expected.append)
    assert run(program(plan, table), raw, records) == twin
    assert list(records[:]) == expected and b"**c" in (expected[0][2] or b"")


# Whole streams


@pytest.mark.parametrize("path", pair.recordings(), ids=lambda path: path.name.partition(".")[0])
def test_recorded_binlogs(ids: dict[tuple[str, str], int], path: Any) -> None:
    raw = pair.read(path)
    for framing, stream in (("file", raw), ("packet", pair.as_packets(raw))):
        pieces = pair.cut(stream, 30_011)
        twin, ours = pair.both("avro", pair.flavor(path), framing, pieces)  # type: ignore[arg-type]
        assert ours == twin


def _log(tables: Sequence[Table], sizes: Sequence[int]) -> bytes:
    """Transactions of one row each: the table as it is then."""
    log = Log()
    number = 0
    for table_id, (table, count) in enumerate(zip(tables, sizes, strict=True), 1):
        columns = len(table.columns)
        for _ in range(count):
            number += 1
            row = b"".join((number + place).to_bytes(4, "little") for place in range(columns))
            log.gtid(number).query("BEGIN").map(table, table_id)
            log.rows(event_types.WRITE_ROWS, columns, b"\0" + row, table_id).xid()
    return log.raw


def test_a_changed_table_gets_its_new_id_at_the_right_row(ids: dict[tuple[str, str], int]) -> None:
    wider = Table("shop", "t", (ID, Column(1, "more", types.LONG, nullable=False)), (0,))
    raw = _log([Table("shop", "t", (ID,), (0,)), wider, Table("shop", "t", (ID,), (0,))], [5, 6, 7])
    found = []
    for kind in (BinlogDecoder, CompiledDecoder):
        decoder = pair.decoder(kind, "avro", "mysql", "file", Position("binlog.000001", 4))
        records = [record for batch in decoder.feed(raw) for record in batch.records]
        found.append([(record[1] or b"", record[2] or b"") for record in records])
    assert found[0] == found[1]
    numbers = [struct.unpack(">I", value[1:5])[0] for _, value in found[1]]
    old, new = numbers[0], numbers[5]
    assert old != new
    assert numbers == [old] * 5 + [new] * 6 + [old] * 7
    assert len({key[:5] for key, _ in found[1]}) == 1, "the key's schema has not changed"
