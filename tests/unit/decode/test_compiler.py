"""Generated row functions against the plainest possible reading of the same rows."""

import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.decode.binlog import event_types
from replicator.decode.binlog.column_presence import packed
from replicator.decode.plan.compiler import compile_rows
from replicator.decode.renderers.contract import Rendering
from replicator.decode.transactions.transaction_state import TransactionState
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.batch import Record
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.plan import RecordPlan, TablePlan, Text, Value, Var, Variable
from replicator.model.table import Column, Table
from tests.support.present import present
from tests.unit.decode.binlog_writer import hexadecimal, plan

KINDS = [
    (types.TINY, 0),
    (types.SHORT, 0),
    (types.INT24, 0),
    (types.LONG, 0),
    (types.LONGLONG, 0),
    (types.FLOAT, 4),
    (types.DOUBLE, 8),
    (types.YEAR, 0),
    (types.DATE, 0),
    (types.TIME2, 3),
    (types.TIMESTAMP2, 0),
    (types.DATETIME2, 6),
    (types.NEWDECIMAL, 10 << 8 | 2),
    (types.NEWDECIMAL, 65 << 8 | 30),
    (types.BIT, 1 << 8 | 1),
    (types.ENUM, 1),
    (types.ENUM, 2),
    (types.SET, 3),
    (types.VARCHAR, 20),
    (types.VARCHAR, 300),
    (types.STRING, 20),
    (types.STRING, 1000),
    (types.BLOB, 1),
    (types.BLOB, 2),
    (types.BLOB, 3),
    (types.BLOB, 4),
    (types.JSON, 4),
    (types.GEOMETRY, 4),
]


@st.composite
def tables(draw):
    kinds = draw(st.lists(st.tuples(st.sampled_from(KINDS), st.booleans()), min_size=1, max_size=20))
    columns = tuple(
        Column(index, f"c{index}", kind, meta, nullable) for index, ((kind, meta), nullable) in enumerate(kinds)
    )
    key = draw(st.lists(st.integers(0, len(columns) - 1), unique=True, max_size=2))
    return Table("shop", "t", columns, tuple(key))


@st.composite
def rows(draw, table):
    """One row: bytes or None per column."""
    values = []
    for column in table.columns:
        size = fixed_size(column)
        value = st.binary(max_size=12) if size is None else st.binary(min_size=size, max_size=size)
        values.append(draw(st.none() | value if column.nullable else value))
    return values


def image(table, row):
    nulls = sum(1 << index for index, value in enumerate(row) if value is None)
    spare = (1 << (-len(row) % 8)) - 1 << len(row)  # as the servers do
    out = [(nulls | spare).to_bytes((len(row) + 7) // 8, "little")]
    for column, value in zip(table.columns, row, strict=True):
        if value is not None:
            size = fixed_size(column)
            out.append((b"" if size is not None else len(value).to_bytes(prefix_size(column), "little")) + value)
    return b"".join(out)


def header(table, images):
    return packed(len(table.columns)) + b"\xff" * ((len(table.columns) + 7) // 8 * images)


def run(function, table, images, body, *, padding=b"", row=0):
    raw = header(table, images) + body
    context = TransactionState()
    context.position = b"here"
    out: list[Record] = []
    data = b"xx" + raw + padding
    result = function(data, data.decode("latin-1"), 2, 2 + len(raw), row, out.append, context)
    return out, result


def listed(row, columns):
    return b"[" + b",".join(b"null" if row[c] is None else b'"%s"' % row[c].hex().encode() for c in columns) + b"]"


@given(st.data())
def test_inserts_and_deletes(data):
    table = data.draw(tables())
    written = data.draw(st.lists(rows(table), min_size=1, max_size=4))
    every, keys = range(len(table.columns)), table.primary_key
    made = plan(table, renderer=data.draw(st.sampled_from(["hex", "hex2"])))
    body = b"".join(image(table, row) for row in written)
    keyed = [listed(row, keys) if keys else None for row in written]
    inserted = [
        ("shop.t", k, listed(r, every), b"here", i + 5, ()) for i, (k, r) in enumerate(zip(keyed, written, strict=True))
    ]
    out, (after, size) = run(compile_rows(made, table, "insert", hexadecimal), table, 1, body, padding=b"yy", row=5)
    assert out == inserted
    assert after == 5 + len(written)
    assert size == sum(len(record[1] or b"") + len(record[2]) for record in inserted)
    out, _ = run(compile_rows(made, table, "delete", hexadecimal), table, 1, body, row=5)
    assert out == [each for record in inserted for each in (record, (*record[:2], None, *record[3:]))]


@given(st.data())
def test_updates_and_changed_keys(data):
    table = data.draw(tables())
    pairs = data.draw(st.lists(st.tuples(rows(table), rows(table), st.booleans()), min_size=1, max_size=3))
    every, keys = range(len(table.columns)), table.primary_key
    body = b""
    wanted: list[Record] = []
    for number, (before, after, same) in enumerate(pairs):
        if same:
            after = [before[c.index] if c.index in keys else v for c, v in zip(table.columns, after, strict=True)]
        body += image(table, before) + image(table, after)
        old, new = (listed(before, keys), listed(after, keys)) if keys else (None, None)
        if old != new:
            wanted.append(("shop.t", old, None, b"here", number, (("moved", present(new)),)))
            wanted.append(("shop.t", new, listed(after, every), b"here", number, ()))
        else:
            value = b"u" + listed(before, every) + listed(after, every) + b"#%d" % number
            wanted.append(("shop.t", new, value, b"here", number, ()))
    out, _ = run(compile_rows(plan(table), table, "update", hexadecimal), table, 2, body)
    assert out == wanted


@given(st.data())
def test_some_columns_in_any_order_with_two_renderers(data):
    table = data.draw(tables())
    row = data.draw(rows(table))
    chosen = data.draw(st.lists(st.integers(0, len(table.columns) - 1), max_size=6))
    steps = [Value(c, "after", r, null=n) for c in chosen for r, n in (("hex", "null"), ("hex2", "?"))]
    made = TablePlan("x", (RecordPlan(None, (Text("<"), *steps, Text(">"))),), (), ())
    out, _ = run(compile_rows(made, table, "insert", hexadecimal), table, 1, image(table, row))
    texts = ("null?" if row[c] is None else f'"{row[c].hex()}"' * 2 for c in chosen)
    assert out[0][2] == f"<{''.join(texts)}>".encode()


@given(st.data())
def test_truncated_and_changed_rows_are_damage_and_nothing_else(data):
    table = data.draw(tables())
    body = bytearray(b"".join(image(table, row) for row in data.draw(st.lists(rows(table), min_size=1, max_size=3))))
    function = compile_rows(plan(table), table, "insert", hexadecimal)
    for _ in range(data.draw(st.integers(0, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    try:
        out, (after, _) = run(function, table, 1, bytes(body[:cut]), padding=data.draw(st.binary(max_size=9)))
    except (DecodeError, struct.error, IndexError, ValueError):
        return
    assert len(out) == after


def test_every_truncation_of_a_row_is_found():
    columns = (
        Column(0, "a", types.LONG, nullable=False),
        Column(1, "b", types.VARCHAR, 300),
        Column(2, "c", types.BLOB, 3),
    )
    table = Table("shop", "t", columns)
    body = image(table, [b"1234", b"hello", b"bye"])
    function = compile_rows(plan(table), table, "insert", hexadecimal)
    for cut in range(1, len(body)):
        for padding in (b"", bytes(100)):
            with pytest.raises((DecodeError, struct.error, IndexError)):
                run(function, table, 1, body[:cut], padding=padding)


def test_null_in_a_not_null_column_is_damage():
    for nullable in (False, True):
        columns = (Column(0, "a", types.LONG, nullable=False), Column(1, "b", types.LONG, nullable=nullable))
        table = Table("shop", "t", columns)
        with pytest.raises(DecodeError, match="NOT NULL"):
            run(compile_rows(plan(table), table, "insert", hexadecimal), table, 1, b"\x01" + bytes(4))


@pytest.mark.parametrize("count", [1, 8, 9, 300])
def test_absent_columns(count):
    table = Table("shop", "t", tuple(Column(index, f"c{index}", types.TINY) for index in range(count)))
    function = compile_rows(plan(table), table, "insert", hexadecimal)
    bitmap = bytearray(header(table, 1))
    bitmap[-1] &= ~(1 << (count - 1) % 8)
    data = bytes(bitmap) + bytes((count + 7) // 8 + count - 1)
    with pytest.raises(DecodeError, match=rf"E2304 .*shop\.t.*no 'c{count - 1}'"):
        function(data, data.decode("latin-1"), 0, len(data), 0, list[Record]().append, TransactionState())


def test_spare_bits_of_the_columns_bitmap_do_not_matter():
    table = Table("shop", "t", (Column(0, "a", types.TINY),))
    data = b"\x01\x01\x00\x07"
    out: list[Record] = []
    compile_rows(plan(table), table, "insert", hexadecimal)(data, "\1\1\0\7", 0, 4, 0, out.append, TransactionState())
    assert out[0][2] == b'["07"]'


def test_another_number_of_columns_is_damage():
    table = Table("shop", "t", (Column(0, "a", types.TINY),))
    function = compile_rows(plan(table), table, "insert", hexadecimal)
    with pytest.raises(DecodeError, match="E2302"):
        function(b"\x02\xff\0\0\0", "\x02\xff\0\0\0", 0, 5, 0, list[Record]().append, TransactionState())


def test_renderers_are_evaluated_once_per_row():
    calls = []

    def counting(name, column, table):
        def seen(value):
            calls.append(value)
            return "1"

        return Rendering("<4s", "seen(v)", {"seen": seen})

    table = Table("shop", "t", (Column(0, "a", types.LONG, nullable=False),), (0,))
    value = (Value(0, "after", "r"), Value(0, "after", "r"))
    made = TablePlan("x", (RecordPlan(value, value), RecordPlan((Value(0, "after", "r"),), None)), (), ())
    run(compile_rows(made, table, "insert", counting), table, 1, image(table, [b"abcd"]) * 2)
    assert calls == [b"abcd", b"abcd"]


def test_names_of_renderers_do_not_collide():
    def each(name, column, table):
        index = column.index
        return Rendering("<4s", 'f"{same(v)}0"', {"same": lambda value: str(index)})

    table = Table("shop", "t", tuple(Column(index, f"c{index}", types.LONG) for index in range(3)))
    made = TablePlan("x", (RecordPlan(None, tuple(Value(index, "after", "r") for index in range(3))),), (), ())
    out, _ = run(compile_rows(made, table, "insert", each), table, 1, image(table, [b"abcd"] * 3))
    assert out[0][2] == b"001020"


def test_variables():
    context = TransactionState()
    context.ts_us, context.now_ns, context.pos, context.server_id, context.thread = (
        1_234_567,
        9_876_543_210,
        4711,
        7,
        12,
    )
    context.gtid_json, context.file_json = '"u:1"', '"binlog.000001"'
    names: list[Variable] = [
        "ts_ms",
        "ts_us",
        "ts_ns",
        "now_ms",
        "now_us",
        "now_ns",
        "gtid",
        "file",
        "pos",
        "row",
        "server_id",
        "thread",
    ]
    value = tuple(step for name in names for step in (Text(f" {name}="), Var(name)))
    table = Table("shop", "t", (Column(0, "a", types.TINY, nullable=False),))
    function = compile_rows(TablePlan("x", (RecordPlan(None, value),), (), ()), table, "insert", hexadecimal)
    out: list[Record] = []
    data = header(table, 1) + b"\0\1\0\1"
    function(data, data.decode("latin-1"), 0, len(data), 40, out.append, context)
    text = (
        " ts_ms=1234 ts_us=1234567 ts_ns=1234567000 now_ms=9876 now_us=9876543 now_ns=9876543210 "
        'gtid="u:1" file="binlog.000001" pos=4711 row={} server_id=7 thread=12'
    )
    assert [present(record[2]).decode() for record in out] == [text.format(0), text.format(1)]
    assert [record[4] for record in out] == [40, 41]


def test_literals_are_written_as_utf8():
    made = TablePlan(
        "x", (RecordPlan((Text("ключ{v}\\'\""),), (Text("é"), Value(0, "after", "hex", null="∅"))),), (), ()
    )
    table = Table("shop", "t", (Column(0, "a", types.TINY),))
    out, _ = run(compile_rows(made, table, "insert", hexadecimal), table, 1, b"\xff")
    assert out[0][1:3] == ("ключ{v}\\'\"".encode(), "é∅".encode())


def test_binary_formats():
    """Keys and values go through the plan's function, and their size is that behind it."""
    table = Table("shop", "t", (Column(0, "a", types.TINY),))
    made = TablePlan("x", (RecordPlan(None, (Value(0, "after", "hex"),)),), (), ())
    made = msgspec.structs.replace(made, encode=lambda key, value: (b"k", value * 2))
    out, (row, size) = run(compile_rows(made, table, "insert", hexadecimal), table, 1, b"\0\x07\0\x08", row=5)
    assert [(record[1], record[2], record[4]) for record in out] == [(b"k", b'"07""07"', 5), (b"k", b'"08""08"', 6)]
    assert (row, size) == (7, 18)


def test_a_plan_for_an_image_that_is_not_there():
    table = Table("shop", "t", (Column(0, "a", types.TINY),))
    made = TablePlan("x", (RecordPlan(None, (Value(0, "before", "hex"),)),), (), ())
    with pytest.raises(ValueError, match="before"):
        compile_rows(made, table, "insert", hexadecimal)


def test_a_cut_of_the_wrong_size():
    table = Table("shop", "t", (Column(0, "a", types.TINY),))
    with pytest.raises(ValueError, match="cuts '<i'"):
        compile_rows(plan(table, renderer="int"), table, "insert", hexadecimal)


def test_a_type_that_is_not_known():
    table = Table("shop", "t", (Column(0, "a", 77),))
    with pytest.raises(DecodeError, match="E2301"):
        compile_rows(plan(table), table, "insert", hexadecimal)


def test_event_names():
    assert event_types.name(event_types.GTID_TAGGED) == "GTID_TAGGED_EVENT"
    assert event_types.name(event_types.MARIADB_GTID_LIST) == "GTID_LIST_EVENT"
    assert event_types.name(99) == "event type 99"
